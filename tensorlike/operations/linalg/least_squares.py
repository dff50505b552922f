"""Pseudoinverses and least squares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensorlike.tensor.declarations.declare import composite, derivatives, internal, primitive
from tensorlike.tensor.declarations.named_results import return_type
from tensorlike.tensor.declarations.runtime import broadcast_error, device_guard, dtype_name
from tensorlike.tensor.tensor import Tensor
from tensorlike.tensor.types import Array, Namespace, Number

from ..shared import as_number, require_tensor
from .checks import NAMESPACE, converging, into_each
from .norms import check_tolerances, tolerance

if TYPE_CHECKING:
    from tensorlike import return_types


# ------------------------------------------------------------------------------------------------------- pseudoinverses


def _pseudoinverse(
    xp: Namespace, A: Array, atol: Array | float | None, rtol: Array | float | None, hermitian: bool
) -> Array:
    if A.ndim < 2 or A.dtype.kind not in "fc" or A.dtype.itemsize < 4:
        raise RuntimeError(
            f"linalg.pinv({dtype_name(A.dtype)}{{{list(A.shape)}}}): expected a tensor with 2 or more dimensions of "
            "float, double, cfloat or cdouble types"
        )
    check_tolerances("linalg.pinv", atol, rtol)
    if hermitian and A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            f"linalg.pinv: A must be batches of square matrices if hermitian=True, but they are {A.shape[-2]} by "
            f"{A.shape[-1]} matrices"
        )
    if not A.size:
        return xp.zeros((*A.shape[:-2], A.shape[-1], A.shape[-2]), A.dtype)
    if hermitian:
        values, right = converging("linalg.pinv", xp.linalg.eigh, A)
        sizes, left = xp.abs(values), right
    else:
        left, values, right = converging("linalg.svd", xp.linalg.svd, A, full_matrices=False)
        sizes, right = values, xp.swapaxes(right, -1, -2).conj()
    kept = sizes > tolerance(xp, sizes, A.shape, atol, rtol)[..., None]
    inverses = xp.where(kept, 1 / xp.where(kept, values, values.dtype.type(1)), values.dtype.type(0))
    return xp.matmul(right * inverses[..., None, :], xp.swapaxes(left, -1, -2).conj())


@primitive(namespace=NAMESPACE, method=False, out="cast", dims="mn->nm")
def pinv(
    xp: Namespace, A: Array, *, atol: Array | Number | None = None, rtol: Array | Number | None = None,
    hermitian: bool = False,
) -> Array:  # fmt: skip
    """Return the Moore-Penrose pseudoinverse of a matrix, or of each of a batch.

    A has shape (..., m, n), the result (..., n, m). Singular values that are not above `atol` or `rtol` times the
    greatest count as zero, as in `linalg.matrix_rank`. For `hermitian` matrices, of which the lower triangle is read,
    eigenvalues are faster. The gradient is right where the rank does not change.

    >>> tl.linalg.pinv(tl.tensor([[2.0, 0.0], [0.0, 0.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.0000]])
    """
    return _pseudoinverse(xp, A, atol, rtol, hermitian)


def _pinv_gradient(grad: Tensor, A: Tensor, inverse: Tensor) -> Tensor:
    """Return the gradient of a matrix from that of its pseudoinverse, at constant rank (Golub and Pereyra, 1973)."""
    grad_h, inverse_h = grad.mH, inverse.mH
    if A.shape[-2] <= A.shape[-1]:
        k = grad_h @ inverse
        across = k @ inverse_h
        return -(inverse @ k).mH + across - (A @ inverse) @ across + (inverse_h @ inverse) @ (grad_h - k @ A)
    k = inverse @ grad_h
    across = inverse_h @ k
    return -(k @ inverse).mH + (grad_h - A @ k) @ inverse @ inverse_h + across - (across @ inverse) @ A


derivatives(pinv, A=lambda grad, A, result: _pinv_gradient(grad, A, result))


@composite(method=True)
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """Return the pseudoinverse of a matrix, as `linalg.pinv` does with `rcond` as its relative tolerance.

    >>> tl.pinverse(tl.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    return pinv(input, rtol=rcond)


# -------------------------------------------------------------------------------------------------------- least squares

_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


@internal(outputs=("solution", "rank", "singular_values"))
def least_squares(xp: Namespace, A: Array, B: Array, rcond: Any, full_rank: bool) -> tuple[Array, Array, Array]:
    """Return the least squares solution X of A X = B of minimal norm, the rank of A and its singular values."""
    left, values, right = converging("torch.linalg.lstsq", xp.linalg.svd, A, full_matrices=False)
    if full_rank:
        kept = values > 0
    else:
        bound = tolerance(xp, values, A.shape, None, rcond)
        kept = values > bound[..., None]
    inverses = xp.where(kept, 1 / xp.where(kept, values, values.dtype.type(1)), values.dtype.type(0))
    projected = xp.matmul(xp.swapaxes(left, -1, -2).conj(), B)
    solution = xp.matmul(xp.swapaxes(right, -1, -2).conj(), inverses[..., None] * projected)
    return solution, xp.sum(kept, axis=-1).astype(np.int64), values


derivatives(
    least_squares,
    A=lambda grads, A, B: _pinv_gradient(grads[0] @ B.mH, A, pinv(A)),
    B=lambda grads, A: pinv(A).mH @ grads[0],
)


def _check_lstsq(a: Array, b: Array, driver: str | None) -> bool:
    """Check the shapes of a system of equations; return whether the right-hand sides are vectors."""
    name = "torch.linalg.lstsq"
    if a.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if b.ndim < 1:
        raise RuntimeError(f"{name}: other must have at least 1 dimension.")
    if a.dtype != b.dtype:
        raise RuntimeError(
            f"{name}: Expected input and other to have the same dtype, but got input's dtype {dtype_name(a.dtype)} and "
            f"other's dtype {dtype_name(b.dtype)}"
        )
    if a.dtype.kind not in "fc" or a.dtype.itemsize < 4:
        raise RuntimeError(f"{name}: Expected a float, double, cfloat or cdouble input. Got {dtype_name(a.dtype)}")
    if driver is not None and driver not in _DRIVERS:
        raise RuntimeError(f"{name}: parameter `driver` should be one of ({', '.join(_DRIVERS)}), not {driver!r}")
    if not 0 <= a.ndim - b.ndim <= 1:
        raise RuntimeError(
            f"{name}: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1. Got "
            f"{a.ndim} and {b.ndim} dimensions"
        )
    vector = bool(b.ndim == 1 or (a.ndim - 1 == b.ndim and a.shape[:-1] == b.shape))
    if a.shape[-2] != (b.shape[-1] if vector else b.shape[-2]):
        size = "size(-1)" if vector else "size(-2)"
        raise RuntimeError(
            f"{name}: input.size(-2) should match other.{size}: the shapes are {list(a.shape)} and {list(b.shape)}"
        )
    return vector


@composite(namespace=NAMESPACE)
def lstsq(
    A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None,
    out: tuple[Tensor, ...] | None = None,
) -> return_types.linalg_lstsq:  # fmt: skip
    """Return the X that makes the norm of A X - B least, with the residuals, the rank of A and its singular values.

    A has shape (..., m, n), B (..., m, k), or one vector for each matrix. Singular values that are not above `rcond`
    times the greatest count as zero. `driver` is "gelsy" (the default), "gels" (A has full rank), "gelsd" or "gelss";
    all but "gelsy" also return the squared residuals, for matrices of full rank with more rows than columns; all but
    "gels" the rank; "gelsd" and "gelss" the singular values. Results that a driver does not compute are empty.

    >>> tl.linalg.lstsq(tl.tensor([[1.0], [1.0]]), tl.tensor([[1.0], [3.0]])).solution
    tensor([[2.0000]])
    """
    require_tensor("lstsq", A, "A")
    require_tensor("lstsq", B, "B", 2)
    vector = _check_lstsq(A._tl_data, B._tl_data, driver)
    driver = driver or "gelsy"
    columns = B.unsqueeze(-1) if vector else B
    try:
        batch = np.broadcast_shapes(A.shape[:-2], columns.shape[:-2])
    except ValueError as error:
        raise broadcast_error("lstsq", error, (A._tl_data[..., 0, 0], columns._tl_data[..., 0, 0])) from None
    A, columns = A.expand((*batch, *A.shape[-2:])), columns.expand((*batch, *columns.shape[-2:]))
    solution, rank, values = least_squares(A, columns, as_number(rcond), driver == "gels")
    # Empty, but with a history, as in PyTorch.
    residuals = solution.reshape((-1,))[:0].abs()
    rows, width = A.shape[-2:]
    with device_guard(rank._tl_data):
        if rows > width and driver != "gelsy" and (driver == "gels" or bool((rank._tl_data == width).all())):
            residuals = (A @ solution - columns).abs().square().sum(-2)
    if vector:
        solution = solution.squeeze(-1)
    found = return_type("linalg_lstsq", ("solution", "residuals", "rank", "singular_values"))(
        (
            solution,
            residuals,
            rank.new_empty((0,)) if driver == "gels" else rank,
            values if driver in ("gelsd", "gelss") else values.detach().new_empty((0,)),
        )
    )
    return into_each("lstsq", out, found, A, B, exact=False)  # type: ignore[no-any-return]
