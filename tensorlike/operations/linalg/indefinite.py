"""LDL decompositions of symmetric and Hermitian matrices that need not be definite, and solutions from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorlike.operations.shared import no_derivative
from tensorlike.tensor.backends import backend_of, scipy_linalg
from tensorlike.tensor.declarations.declare import derivatives, primitive
from tensorlike.tensor.declarations.runtime import dtype_name
from tensorlike.tensor.types import Array, Namespace

from .checks import NAMESPACE, LinAlgError, batch_element, check_square, common_batch, flat_matrices, on_host


def _back(xp: Namespace, like: Array, *parts: Array) -> tuple[Array, ...]:
    """Convert NumPy arrays to arrays on the device of `like`."""
    if xp is np:
        return parts
    backend = backend_of(like)
    return tuple(backend.from_host(part, backend.device_of(like)) for part in parts)


def _factored(xp: Namespace, array: Array, hermitian: bool) -> Any:
    """Return the factors in one array, the exchanged rows as LAPACK counts them, and the first zero of D, or 0."""
    host = on_host(array)
    matrices = flat_matrices(host)
    factors = np.zeros(matrices.shape, matrices.dtype)
    pivots, info = np.zeros(matrices.shape[:2], np.int32), np.zeros(len(matrices), np.int32)
    if host.size:
        name = "hetrf" if hermitian and host.dtype.kind == "c" else "sytrf"
        (factor,) = scipy_linalg(host).get_lapack_funcs((name,), (host,))
        for index, matrix in enumerate(matrices):
            found, pivots[index], failed = factor(matrix, lower=1)
            factors[index] = np.tril(found)
            info[index] = max(failed, 0)
    batch = host.shape[:-2]
    return _back(xp, array, factors.reshape(host.shape), pivots.reshape((*batch, host.shape[-1])), info.reshape(batch))


def _check_info(function: str, shape: tuple[int, ...], info: Array) -> None:
    for index, place in enumerate(on_host(info).reshape(-1)):
        if place:
            raise LinAlgError(
                f"{function}: {batch_element(shape, index)}The diagonal element {place} of D is zero, and solving with "
                "the result would divide by zero. If you still want the factorization, call linalg.ldl_factor_ex(A)"
            )


@primitive(namespace=NAMESPACE, method=False, out=True, outputs=("LD", "pivots", "info"))
def ldl_factor_ex(
    xp: Namespace, input: Array, *, hermitian: bool = False, check_errors: bool = False
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Return the result of `linalg.ldl_factor`, and for each matrix the number of a zero on the diagonal of D, or 0.

    Raises `LinAlgError` for a zero only with `check_errors`.

    >>> tl.linalg.ldl_factor_ex(tl.zeros(2, 2)).info
    tensor(1, dtype=tensorlike.int32)
    """
    check_square("torch.linalg.ldl_factor_ex", input)
    factors, pivots, info = _factored(xp, input, hermitian)
    if check_errors:
        _check_info("torch.linalg.ldl_factor_ex", input.shape, info)
    return factors, pivots, info


derivatives(ldl_factor_ex, input=lambda grads: no_derivative("linalg.ldl_factor_ex"))


@primitive(namespace=NAMESPACE, method=False, out=True, outputs=("LD", "pivots"))
def ldl_factor(xp: Namespace, input: Array, *, hermitian: bool = False) -> tuple[Array, Array]:
    """Return the factors of A = L D L^T, by the pivoting of Bunch and Kaufman, in the compact form of LAPACK.

    A is symmetric, or with `hermitian` Hermitian, and then A = L D L^H; only the lower triangle is read. The unit lower
    triangular L and the D of blocks of size 1 and 2 share `LD`, of the shape (..., n, n) of A; `pivots` (..., n) are
    the row exchanges, negative for blocks of size 2. Raises `LinAlgError` for a zero on the diagonal of D.
    `linalg.ldl_solve` takes the result. There is no derivative.

    >>> tl.linalg.ldl_factor(tl.tensor([[4.0, 2.0], [2.0, 5.0]])).LD
    tensor([[4.0000, 0.0000],
            [0.5000, 4.0000]])
    """
    check_square("torch.linalg.ldl_factor_ex", input)
    factors, pivots, info = _factored(xp, input, hermitian)
    _check_info("torch.linalg.ldl_factor", input.shape, info)
    return factors, pivots


derivatives(ldl_factor, input=lambda grads: no_derivative("linalg.ldl_factor"))


def _order(pivots: Array) -> Array:
    """Return the permutation of the rows after the exchanges."""
    order = np.arange(len(pivots))
    place = 0
    while place < len(pivots):
        block = 1 if pivots[place] > 0 else 2
        # In a block of size 2 the second row was exchanged.
        last, other = place + block - 1, abs(int(pivots[place])) - 1
        order[last], order[other] = order[other], order[last]
        place += block
    return order


def _divided(diagonal: Array, below: Array, first: Array, right: Array, hermitian: bool) -> Array:
    """Return D^-1 times `right`, for blocks of size 2 at the rows `first` and of size 1 elsewhere."""
    result = right / diagonal[:, None]
    second = first + 1
    one, two, off = diagonal[first, None], diagonal[second, None], below[first, None]
    above = off.conj() if hermitian else off
    determinant = one * two - off * above
    result[first] = (two * right[first] - above * right[second]) / determinant
    result[second] = (one * right[second] - off * right[first]) / determinant
    return result


def _solved(linalg: Any, factors: Array, pivots: Array, right: Array, hermitian: bool) -> Array:
    """Return the solution for one matrix."""
    (convert,) = linalg.get_lapack_funcs(("syconv",), (factors,))
    converted, below, _ = convert(factors, pivots, lower=1)
    starts = []
    place = 0
    while place < len(pivots):
        if pivots[place] < 0:
            starts.append(place)
        place += 1 if pivots[place] > 0 else 2
    order = _order(pivots)
    options = {"lower": True, "unit_diagonal": True, "check_finite": False}
    diagonal = np.diagonal(converted)
    half = linalg.solve_triangular(converted, right[order], **options)
    half = _divided(diagonal.real if hermitian else diagonal, below, np.array(starts, np.intp), half, hermitian)
    half = linalg.solve_triangular(converted, half, trans=2 if hermitian else 1, **options)
    result: Array = np.empty_like(half)
    result[order] = half
    return result


@primitive(namespace=NAMESPACE, method=False, out=True)
def ldl_solve(xp: Namespace, LD: Array, pivots: Array, B: Array, *, hermitian: bool = False) -> Array:
    """Return the solution X of A X = B from the result of `linalg.ldl_factor` for A, with the same `hermitian`.

    LD has shape (..., n, n), B (..., n, k); batches broadcast. Raises RuntimeError for shapes that do not fit and for
    pivots that are not integers. There is no derivative.

    >>> LD, pivots = tl.linalg.ldl_factor(tl.tensor([[0.0, 2.0], [2.0, 0.0]]))
    >>> tl.linalg.ldl_solve(LD, pivots, tl.tensor([[2.0], [4.0]]))
    tensor([[2.],
            [1.]])
    """
    name = "torch.linalg.ldl_solve"
    check_square(name, LD)
    if B.ndim < 2:
        raise IndexError(f"{name}: B must have at least 2 dimensions, but its shape is {list(B.shape)}")
    if LD.shape[-1] != B.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {LD.shape[-2]} by {LD.shape[-1]} but each b "
            f"matrix is {B.shape[-2]} by {B.shape[-1]}"
        )
    if LD.shape[:-1] != pivots.shape:
        raise RuntimeError(
            f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots.shape)} instead of {list(LD.shape[:-1])}"
        )
    if pivots.dtype.kind not in "iu":
        raise RuntimeError(f"{name}: Expected pivots to be integers. Got {dtype_name(pivots.dtype)}")
    if LD.dtype != B.dtype:
        raise RuntimeError(
            f"{name}: Expected b and A to have the same dtype, but found b of type {dtype_name(B.dtype)} and A of type "
            f"{dtype_name(LD.dtype)} instead."
        )
    batch = common_batch(name, LD, B)
    host, swaps, right = on_host(LD), on_host(pivots), on_host(B)
    matrices = flat_matrices(np.broadcast_to(host, (*batch, *host.shape[-2:])))
    rows = np.broadcast_to(swaps, (*batch, swaps.shape[-1])).reshape(matrices.shape[:2]).astype(np.int32)
    sides = flat_matrices(np.broadcast_to(right, (*batch, *right.shape[-2:])))
    result = np.empty(sides.shape, host.dtype)
    if result.size:
        linalg = scipy_linalg(host)
        conjugate = hermitian and host.dtype.kind == "c"
        for index in range(len(matrices)):
            result[index] = _solved(linalg, matrices[index], rows[index], sides[index], conjugate)
    (found,) = _back(xp, LD, result.reshape((*batch, *right.shape[-2:])))
    return found


derivatives(
    ldl_solve,
    LD=lambda grad: no_derivative("linalg.ldl_solve"),
    B=lambda grad: no_derivative("linalg.ldl_solve"),
)
