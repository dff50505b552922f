"""LU decompositions, and solutions from them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorlike.tensor.backends import backend_of, scipy_linalg
from tensorlike.tensor.declarations.declare import composite, derivatives, internal, primitive
from tensorlike.tensor.declarations.named_results import return_type
from tensorlike.tensor.declarations.runtime import dtype_name
from tensorlike.tensor.dtypes import as_numpy_dtype
from tensorlike.tensor.tensor import Tensor
from tensorlike.tensor.types import Array, Namespace

from ..shape.joining import cat
from ..shared import require_tensor
from .checks import (
    NAMESPACE,
    LinAlgError,
    batch_element,
    check_inexact,
    check_same_dtype,
    flat_matrices,
    into,
    into_each,
    on_host,
)
from .solving import solve_triangular

if TYPE_CHECKING:
    from tensorlike import return_types


# ------------------------------------------------------------------------------------------------------------ factoring


def _check(function: str, array: Array, pivot: bool) -> None:
    if array.ndim < 2:
        raise RuntimeError(
            f"{function}: Expected tensor with 2 or more dimensions. Got size: {list(array.shape)} instead"
        )
    check_inexact(function, array)
    if not pivot:
        raise RuntimeError(f"{function}: LU without pivoting is not implemented on the CPU: leave pivot=False out")


def _factored(xp: Namespace, array: Array) -> tuple[Any, Any, Any]:
    """Return both factors in one array, the exchanged rows, counted from 1, and the first pivot that is zero."""
    host = on_host(array)
    matrices = flat_matrices(host)
    count, size = len(matrices), min(host.shape[-2:])
    factors = np.empty(matrices.shape, matrices.dtype)
    pivots, info = np.empty((count, size), np.int32), np.zeros(count, np.int32)
    if host.size:
        (getrf,) = scipy_linalg(host).get_lapack_funcs(("getrf",), (host,))
        for index, matrix in enumerate(matrices):
            factors[index], swaps, failed = getrf(matrix)
            pivots[index] = swaps + 1
            info[index] = max(failed, 0)
    batch = host.shape[:-2]
    found = factors.reshape(host.shape), pivots.reshape((*batch, size)), info.reshape(batch)
    if xp is np:
        return found
    backend = backend_of(array)
    return tuple(backend.from_host(part, backend.device_of(array)) for part in found)


def _unpacked(LU: Tensor) -> tuple[Any, Any]:
    """Return the lower factor, with ones on its diagonal, and the upper one."""
    rows, columns = LU.shape[-2:]
    size = min(rows, columns)
    lower, upper = LU[..., :size].tril(-1), LU[..., :size, :].triu()
    ones = LU.new_zeros((rows, size))
    ones._tl_data[range(size), range(size)] = 1
    return lower + ones, upper


def _lu_gradient(grad: Tensor, LU: Tensor, pivots: Tensor) -> Tensor:
    """Return the gradient of a matrix from that of its two factors in one."""
    rows, columns = LU.shape[-2:]
    size = min(rows, columns)
    lower, upper = _unpacked(LU)
    permutation = permutation_of(pivots, rows, LU.dtype)
    square_l, square_u = lower[..., :size, :], upper[..., :size]
    grad_l, grad_u = grad[..., :size, :size].tril(-1), grad[..., :size, :size].triu()
    middle_l, middle_u = square_l.mH @ grad_l, grad_u @ square_u.mH
    if columns > size:
        beyond, grad_beyond = upper[..., size:], grad[..., size:]
        middle_l = middle_l - grad_beyond @ beyond.mH
        of_beyond = solve_triangular(square_l.mH, grad_beyond, upper=True, unitriangular=True)
    if rows > size:
        below, grad_below = lower[..., size:, :], grad[..., size:, :]
        middle_u = middle_u - below.mH @ grad_below
        of_below = solve_triangular(square_u.mH, grad_below, upper=False, left=False)
    middle = middle_l.tril(-1) + middle_u.triu()
    middle = solve_triangular(square_l.mH, middle, upper=True, unitriangular=True)
    result = solve_triangular(square_u.mH, middle, upper=False, left=False)
    if columns > size:
        result = cat((result, of_beyond), -1)
    if rows > size:
        result = cat((result, of_below), -2)
    return permutation @ result


@internal(differentiable=False)
def permutation_of(xp: Namespace, pivots: Array, rows: int, dtype: Any) -> Array:
    """Return the matrices that undo the exchanges of rows `pivots`, as LAPACK counts them."""

    swaps = on_host(pivots)
    flat = swaps.reshape(math.prod(swaps.shape[:-1]), swaps.shape[-1])
    order = np.tile(np.arange(rows), (len(flat), 1))
    matrices = np.arange(len(flat))
    for column in range(flat.shape[-1]):
        other = flat[:, column] - 1
        order[matrices, column], order[matrices, other] = order[matrices, other], order[matrices, column].copy()
    found = np.zeros((len(flat), rows, rows), as_numpy_dtype(dtype, "lu_unpack"))
    found[matrices[:, None], order, np.arange(rows)] = 1
    return xp.asarray(found.reshape((*swaps.shape[:-1], rows, rows)))


@primitive(namespace=NAMESPACE, method=False, out=True, outputs=("LU", "pivots", "info"))
def lu_factor_ex(
    xp: Namespace, A: Array, *, pivot: bool = True, check_errors: bool = False
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Return the result of `linalg.lu_factor`, and for each matrix the number of a pivot that is zero, or 0.

    Raises `LinAlgError` for a zero only with `check_errors`.

    >>> tl.linalg.lu_factor_ex(tl.zeros(2, 2)).info
    tensor(1, dtype=tensorlike.int32)
    """
    _check("torch.lu_factor", A, pivot)
    factors, pivots, info = _factored(xp, A)
    if check_errors:
        _check_info("torch.linalg.lu_factor_ex", A.shape, info)
    return factors, pivots, info


def _check_info(function: str, shape: tuple[int, ...], info: Array) -> None:
    for index, place in enumerate(on_host(info).reshape(-1)):
        if place:
            raise LinAlgError(
                f"{function}: {batch_element(shape, index)}U[{place},{place}] is zero and using it on lu_solve would "
                "result in a division by zero. If you still want to perform the factorization, consider calling "
                "linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
            )


derivatives(lu_factor_ex, A=lambda grads, LU, pivots: _lu_gradient(grads[0], LU, pivots))


@primitive(namespace=NAMESPACE, method=False, out=True, outputs=("LU", "pivots"))
def lu_factor(xp: Namespace, A: Array, *, pivot: bool = True) -> tuple[Array, Array]:
    """Return the factors of A = P L U in one matrix, and the row exchanges, counted from 1.

    L without its diagonal of ones lies below U. A has shape (..., m, n), `pivots` (..., min(m, n)). Raises
    `LinAlgError` for a zero on the diagonal of U, and RuntimeError for `pivot=False`.

    >>> tl.linalg.lu_factor(tl.tensor([[0.0, 1.0], [2.0, 3.0]])).pivots
    tensor([2, 2], dtype=tensorlike.int32)
    """
    _check("torch.lu_factor", A, pivot)
    factors, pivots, info = _factored(xp, A)
    _check_info("torch.linalg.lu_factor", A.shape, info)
    return factors, pivots


derivatives(lu_factor, A=lambda grads, LU, pivots: _lu_gradient(grads[0], LU, pivots))


# `tl.lu` returns the packed factors.
@composite(namespace=NAMESPACE)
def lu(A: Tensor, *, pivot: bool = True, out: tuple[Tensor, ...] | None = None) -> return_types.linalg_lu:
    """Return a permutation P, a lower triangular L with ones on its diagonal and an upper triangular U with A = P L U.

    For A of shape (..., m, n) and k = min(m, n) they have shapes (..., m, m), (..., m, k) and (..., k, n). Raises
    RuntimeError for `pivot=False`. Composes `linalg.lu_factor_ex` and `lu_unpack`.

    >>> tl.linalg.lu(tl.tensor([[0.0, 1.0], [2.0, 3.0]])).U
    tensor([[2., 3.],
            [0., 1.]])
    """
    require_tensor("lu", A, "A")
    _check("linalg.lu", A._tl_data, pivot)
    factors, pivots, _ = lu_factor_ex(A)
    lower, upper = _unpacked(factors)
    found = return_type("linalg_lu", ("P", "L", "U"))((permutation_of(pivots, A.shape[-2], A.dtype), lower, upper))
    return into_each("lu", out, found, A)  # type: ignore[no-any-return]


# ---------------------------------------------------------------------------------------------------- using the factors


def _check_pivots(function: str, pivots: Array) -> None:
    if pivots.dtype != np.int32:
        raise RuntimeError(
            f"{function}: pivots should be a Tensor of scalar type torch.int32, not {dtype_name(pivots.dtype)}"
        )


@composite(namespace=NAMESPACE)
def lu_solve(
    LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False, out: Tensor | None = None
) -> Tensor:
    """Return the solution X of A X = B from the result of `linalg.lu_factor` for A.

    With `left=False` the equation is X A = B, and `adjoint` puts the adjoint of A in its place. LU has shape (..., n,
    n), B (..., n, k); batches broadcast. Composes two calls of `linalg.solve_triangular`.

    >>> LU, pivots = tl.linalg.lu_factor(tl.tensor([[0.0, 1.0], [2.0, 0.0]]))
    >>> tl.linalg.lu_solve(LU, pivots, tl.tensor([[3.0], [4.0]]))
    tensor([[2.],
            [3.]])
    """
    for index, (argument, value) in enumerate((("LU", LU), ("pivots", pivots), ("B", B))):
        require_tensor("lu_solve", value, argument, index + 1)
    check_same_dtype("linalg.lu_solve", LU._tl_data, B._tl_data, ("LU", "B"))
    _check_pivots("linalg.lu_solve", pivots._tl_data)
    if LU.ndim < 2 or LU.shape[-1] != LU.shape[-2]:
        raise RuntimeError(f"linalg.lu_solve: LU must be batches of square matrices, but the shape is {list(LU.shape)}")
    if B.ndim < 2 or B.shape[-2 if left else -1] != LU.shape[-1]:
        raise RuntimeError(
            f"linalg.lu_solve: Incompatible shapes of LU and B for the equation {'AX = B' if left else 'XA = B'}: "
            f"{list(LU.shape)} and {list(B.shape)}"
        )
    permutation = permutation_of(pivots, LU.shape[-1], LU.dtype)
    # X A = B is the same as A^H X^H = B^H.
    columns = B if left else B.mH
    if adjoint != (not left):
        half = solve_triangular(LU.mH, columns, upper=False)
        result = permutation @ solve_triangular(LU.mH, half, upper=True, unitriangular=True)
    else:
        half = solve_triangular(LU, permutation.mT @ columns, upper=False, unitriangular=True)
        result = solve_triangular(LU, half, upper=True)
    return into("lu_solve", out, result if left else result.mH, LU, B)


@composite(name="lu_solve", method=True)
def _lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the solution X of A X = b from the LU factorization of A, as `linalg.lu_solve` does.

    >>> tl.lu_solve(tl.tensor([[3.0], [4.0]]), *tl.lu(tl.tensor([[0.0, 1.0], [2.0, 0.0]])))
    tensor([[2.],
            [3.]])
    """
    return lu_solve(LU_data, LU_pivots, b, out=out)


@composite(name="lu", method=True)
def _lu(
    A: Tensor, pivot: bool = True, get_infos: bool = False, out: tuple[Tensor, ...] | None = None
) -> tuple[Tensor, ...]:
    """Return the LU factors and pivots of a matrix, and with `get_infos` the number of a zero pivot, or 0.

    Without `get_infos` a matrix with a zero pivot is no error either.

    >>> tl.lu(tl.zeros(2, 2), get_infos=True)[2]
    tensor(1, dtype=tensorlike.int32)

    Same as PyTorch's function of that name, without its warning to use `linalg.lu_factor` instead.
    """
    found = lu_factor_ex(A, pivot=pivot)
    if not get_infos:
        found = found[:2]
    return into_each("lu", out, found, A, exact=False)  # type: ignore[no-any-return]


@composite
def lu_unpack(
    LU_data: Tensor,
    LU_pivots: Tensor,
    unpack_data: bool = True,
    unpack_pivots: bool = True,
    *,
    out: tuple[Tensor, ...] | None = None,
) -> return_types.lu_unpack:
    """Return the matrices P, L and U from the result of `linalg.lu_factor`; those not unpacked are empty.

    >>> tl.lu_unpack(*tl.linalg.lu_factor(tl.tensor([[0.0, 1.0], [2.0, 3.0]]))).L
    tensor([[1., 0.],
            [0., 1.]])
    """
    require_tensor("lu_unpack", LU_data, "LU_data")
    require_tensor("lu_unpack", LU_pivots, "LU_pivots", 2)
    if unpack_pivots and LU_pivots._tl_data.dtype != np.int32:
        raise RuntimeError(
            "lu_unpack(): LU_pivots is expected to be a contiguous tensor of torch.int32 dtype, not "
            f"{dtype_name(LU_pivots._tl_data.dtype)}. Note: this function is intended to be used with the output "
            "produced by linalg.lu_factor"
        )
    if LU_data.ndim < 2:
        raise RuntimeError(
            f"lu_unpack(): LU_data should have at least 2 dimensions, the shape is {list(LU_data.shape)}"
        )
    empty = LU_data.detach().new_empty((0,))
    # Empty, but with a history, as in PyTorch.
    lower, upper = _unpacked(LU_data) if unpack_data else (LU_data.reshape((-1,))[:0], LU_data.reshape((-1,))[:0])
    permutation = permutation_of(LU_pivots, LU_data.shape[-2], LU_data.dtype) if unpack_pivots else empty
    found = return_type("lu_unpack", ("P", "L", "U"))((permutation, lower, upper))
    return into_each("lu_unpack", out, found, LU_data, LU_pivots)  # type: ignore[no-any-return]
