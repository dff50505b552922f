"""The largest or smallest eigenvalues of large symmetric matrices, by iteration."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorlike._library_name import LIBRARY
from tensorlike.operations.linalg.matmul import check_products
from tensorlike.tensor import dtypes
from tensorlike.tensor.backends import backend_of
from tensorlike.tensor.backends.scipy_modules import scipy_module
from tensorlike.tensor.creation.sampling import randn
from tensorlike.tensor.declarations.declare import composite, derivatives, internal
from tensorlike.tensor.declarations.runtime import dtype_name
from tensorlike.tensor.types import Array, Namespace, Tensor

from ..shared import as_number, require_tensor
from .checks import flat_matrices, on_host
from .decompositions import cholesky
from .solving import solve_triangular
from .spectral import eigh

# With fewer rows for each eigenpair the iteration does not work, and computing all eigenvalues is faster.
_DENSE = 5


def _pairs(
    A: Array, B: Array | None, X: Array, K: Array | None, count: int, niter: int, tol: float, largest: bool
) -> tuple[Any, Any]:
    """Return `count` eigenvalues and eigenvectors of one matrix, the outermost first."""
    size, block = X.shape
    if size < _DENSE * max(block, count):
        values, vectors = scipy_module("linalg").eigh(A, B)
        chosen = slice(None, None, -1) if largest else slice(None)
        return values[chosen][:count], vectors[:, chosen][:, :count]
    iterate = scipy_module("sparse.linalg").lobpcg
    # PyTorch's tolerance is relative to the matrix, SciPy's is not.
    scale = float(np.linalg.norm(A @ X) / max(np.linalg.norm(X), np.finfo(np.float64).tiny))
    with warnings.catch_warnings():
        # SciPy warns when it stops early; PyTorch does not.
        warnings.simplefilter("ignore", UserWarning)
        values, vectors = iterate(A, X, B, K, tol=tol * max(scale, 1e-300), maxiter=niter, largest=largest)
    order = np.argsort(values)[:: -1 if largest else 1][:count]
    return values[order], vectors[:, order]


def _each(array: Array | None, count: int) -> Any:
    """Return the matrices of a batch in double precision, one for each of `count`; None stays None."""
    if array is None:
        return [None] * count
    host = flat_matrices(on_host(array)).astype(np.float64)
    return np.broadcast_to(host, (count, *host.shape[1:]))


@internal(outputs=("eigenvalues", "eigenvectors"))
def outer_eigenpairs(
    xp: Namespace, A: Array, B: Array | None, X: Array, iK: Array | None, count: int, niter: int, tol: float,
    largest: bool,
) -> tuple[Array, Array]:  # fmt: skip
    """Return the `count` largest or smallest eigenvalues of A x = e B x, and their vectors as columns."""
    batch, size = A.shape[:-2], A.shape[-1]
    matrices = flat_matrices(on_host(A)).astype(np.float64)
    sides, starts, conditioners = (_each(value, len(matrices)) for value in (B, X, iK))
    values, vectors = np.empty((len(matrices), count)), np.empty((len(matrices), size, count))
    for index, matrix in enumerate(matrices):
        # A block may start with fewer columns, but no start may be zero.
        values[index], vectors[index] = _pairs(
            matrix, sides[index], starts[index], conditioners[index], count, niter, tol, largest
        )
    found = values.reshape((*batch, count)).astype(A.dtype), vectors.reshape((*batch, size, count)).astype(A.dtype)
    if xp is np:
        return found
    backend = backend_of(A)
    where = backend.device_of(A)
    return backend.from_host(found[0], where), backend.from_host(found[1], where)


def _gradient(grads: list[Tensor], A: Tensor, B: Tensor | None, values: Tensor, vectors: Tensor, largest: bool) -> Any:
    """Return the gradient of A. It depends on all eigenpairs, also those not returned."""
    if B is None:
        others, basis = eigh(A)
    else:
        factor = cholesky(B)
        reduced = solve_triangular(factor, solve_triangular(factor, A, upper=False).mT, upper=False)
        others, basis = eigh((reduced + reduced.mT) / 2)
        basis = solve_triangular(factor.mT, basis, upper=True)
    size, count = vectors.shape[-2:]
    distances = values.unsqueeze(-2) - others.unsqueeze(-1)
    own = distances.detach().new_zeros((size, count), dtype=_boolean())
    columns = range(count)
    own._tl_data[[size - 1 - c if largest else c for c in columns], columns] = True
    inverses = distances.masked_fill(own, 1).reciprocal().masked_fill(own, 0)
    across = basis @ (inverses * (basis.mT @ grads[1]))
    return (vectors * grads[0].unsqueeze(-2) + across) @ vectors.mT


def _boolean() -> Any:
    return dtypes.bool


def _no_gradient() -> Any:
    raise ValueError("lobpcg.backward does not support B that requires grad: detach() it")


derivatives(
    outer_eigenpairs,
    A=lambda grads, A, B, eigenvalues, eigenvectors, largest: _gradient(
        grads, A, B, eigenvalues, eigenvectors, largest
    ),
    B=lambda grads: _no_gradient(),
)


def _check(A: Tensor, B: Tensor | None) -> None:
    if A.ndim < 2:
        raise IndexError(f"lobpcg(): A must have at least 2 dimensions, but its shape is {list(A.shape)}")
    for argument, matrix in (("A", A), ("B", B)):
        if matrix is None:
            continue
        if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2]:
            raise AssertionError(f"lobpcg(): {argument} must be square, got shape {list(matrix.shape)}")
        dtype = matrix._tl_data.dtype
        if dtype.kind != "f" or dtype.itemsize < 4:
            # PyTorch looks up its precision in a table, which lacks float16.
            error = KeyError if str(dtype) == "float16" else RuntimeError
            raise error(
                f"lobpcg(): {argument} must have dtype float32 or float64, not {dtype_name(dtype)}; convert it first, "
                f"e.g. with .to({LIBRARY}.float32)"
            )


@composite(random=None)
def lobpcg(
    A: Tensor, k: int | None = None, B: Tensor | None = None, X: Tensor | None = None, n: int | None = None,
    iK: Tensor | None = None, niter: int | None = None, tol: float | None = None, largest: bool | None = None,
    method: str | None = None, tracker: Callable[..., Any] | None = None, ortho_iparams: dict[str, int] | None = None,
    ortho_fparams: dict[str, float] | None = None, ortho_bparams: dict[str, bool] | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return the `k` largest eigenvalues, or smallest with `largest=False`, of A x = e B x, and vectors as columns.

    A is symmetric, of shape (..., m, m), B symmetric positive-definite or left out. By the locally optimal block
    preconditioned conjugate gradient method, which is for large matrices of which few eigenvalues are wanted. `X` of
    shape (..., m, n) is where it starts, random unless given; `iK` a preconditioner near the inverse of A. It stops
    after `niter` iterations (1000), or when all residuals are below `tol` (the root of the dtype's precision) relative
    to A. Raises ValueError when m < 3 k, RuntimeError for other dtypes than float32 and float64. The gradient of A
    needs all eigenvalues; B has none. Calls SciPy's function of that name; `method` and the `ortho_` parameters, which
    choose between variants in PyTorch, change nothing, and a `tracker` raises NotImplementedError.

    >>> tl.lobpcg(tl.diag(tl.arange(1.0, 21.0)), 2)[0].round()
    tensor([20., 19.])

    Same as PyTorch's function of that name, with random numbers of its own.
    """
    require_tensor("lobpcg", A, "A")
    _check(A, B)
    tol, niter = as_number(tol), as_number(niter)
    for argument, value in (("tol", tol), ("niter", niter)):
        if value is not None and not isinstance(value, (int, float)):
            raise TypeError(f"lobpcg(): argument '{argument}' must be a number, not {type(value).__name__}")
    if tracker is not None:
        raise NotImplementedError(
            "lobpcg(): a tracker cannot be called, because SciPy iterates without telling; leave tracker=None"
        )
    for value in (B, X, iK):
        if value is not None:
            check_products("lobpcg", A._tl_data, value._tl_data)
    size = A.shape[-1]
    count = (1 if X is None else X.shape[-1]) if k is None else k
    if count < 1:
        raise RuntimeError(f"lobpcg(): k must be positive, got {k}")
    if size < 3 * count:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={size}) is smaller than 3 x the number of "
            f"requested eigenpairs (={count})"
        )
    if X is None:
        X = randn(*A.shape[:-2], size, max(count, n or 0), dtype=A.dtype, device=A.device)
    elif X.shape[-2] != size:
        raise RuntimeError(f"lobpcg(): X must have as many rows as A, {size}, but its shape is {list(X.shape)}")
    count = min(count, X.shape[-1])
    dtype = A._tl_data.dtype
    found = outer_eigenpairs(
        A,
        B,
        X,
        iK,
        count,
        1000 if niter is None or niter < 0 else niter,
        float(np.finfo(dtype).eps) ** 0.5 if tol is None else tol,
        True if largest is None else largest,
    )
    return tuple(found)
