"""Inverses and solutions of systems of linear equations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorlike.dispatch.tracebacks import explained
from tensorlike.tensor.backends import scipy_linalg
from tensorlike.tensor.declarations.declare import composite, derivatives, internal, primitive
from tensorlike.tensor.declarations.named_results import return_type
from tensorlike.tensor.tensor import Tensor
from tensorlike.tensor.types import Array, Namespace

from ..shared import require_tensor
from .checks import (
    NAMESPACE,
    LinAlgError,
    batch_element,
    check_matrices,
    check_same_dtype,
    check_square,
    common_batch,
    flat_matrices,
    into,
    into_each,
    zero_pivots,
)

if TYPE_CHECKING:
    from tensorlike import return_types


# ------------------------------------------------------------------------------------------------------------- inverses


def singular(function: str, shape: tuple[int, ...], pivots: list[int]) -> None:
    """Raise the error about the first matrix with a pivot that is zero, if there is one."""
    for index, pivot in enumerate(pivots):
        if pivot:
            raise explained(
                LinAlgError, "singular-matrix",
                f"{function}: {batch_element(shape, index)}The diagonal element {pivot} is zero, the inversion could "
                "not be completed because the input matrix is singular.",
            )  # fmt: skip


def _inverse_of_some(xp: Namespace, array: Array) -> tuple[Any, list[int]]:
    """Return the inverses, filled with infinities where there is none, and the number of each zero pivot."""
    pivots = zero_pivots(array)
    matrices = flat_matrices(array)
    result = xp.empty_like(matrices)
    for index in range(len(matrices)):
        try:
            result[index] = xp.linalg.inv(matrices[index])
        except np.linalg.LinAlgError:
            finite = bool(xp.isfinite(matrices[index]).all())
            result[index] = np.inf if finite else np.nan
            pivots[index] = pivots[index] if finite else 0
    return result.reshape(array.shape), pivots


@primitive(namespace=NAMESPACE, method=False, out=True, dims="mm->mm")
def inv(xp: Namespace, A: Array) -> Array:
    """Return the inverse of a square matrix, or of each of a batch.

    Shape (..., n, n), of floating-point or complex numbers. Raises `LinAlgError` for a singular matrix and RuntimeError
    for matrices that are not square.

    >>> tl.linalg.inv(tl.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    check_square("linalg.inv", A)
    try:
        return xp.linalg.inv(A)  # type: ignore[no-any-return]
    except np.linalg.LinAlgError:
        result, pivots = _inverse_of_some(xp, A)
        singular("linalg.inv", A.shape, pivots)
        return result  # type: ignore[no-any-return]


derivatives(inv, A=lambda grad, result: -(result.mH @ (grad @ result.mH)))


@primitive(namespace=NAMESPACE, method=False, out=True, outputs=("inverse", "info"), dims="mm->mm,")
def inv_ex(xp: Namespace, A: Array, *, check_errors: bool = False) -> tuple[Array, Array]:
    """Return the inverse of each matrix, and for each an integer that is 0 when it exists.

    Otherwise `info` is the number, from 1 on, of a diagonal element that is zero in the decomposition, and the inverse
    is filled with infinities; with `check_errors` a singular matrix raises `LinAlgError`.

    >>> tl.linalg.inv_ex(tl.tensor([[1.0, 1.0], [1.0, 1.0]])).info
    tensor(2, dtype=tensorlike.int32)
    """
    check_square("linalg.inv", A)
    pivots: list[int] | None = None
    try:
        result = xp.linalg.inv(A)
    except np.linalg.LinAlgError:
        result, pivots = _inverse_of_some(xp, A)
        if check_errors:
            singular("linalg.inv_ex", A.shape, pivots)
    return result, _info(xp, A.shape[:-2], pivots)


def _info(xp: Namespace, shape: tuple[int, ...], pivots: list[int] | None) -> Array:
    if pivots is None:
        return xp.zeros(shape, np.int32)
    return xp.asarray(np.array(pivots, np.int32).reshape(shape))


derivatives(inv_ex, A=lambda grads, inverse: -(inverse.mH @ (grads[0] @ inverse.mH)))

# -------------------------------------------------------------------------------------------------------------- systems


@internal(outputs=("solution", "info"))
def solve_matrices(xp: Namespace, A: Array, B: Array, function: str, check_errors: bool) -> tuple[Array, Array]:
    """Return the matrices X with A X = B, and for each matrix A the number of a pivot that is zero, or 0."""
    batch = common_batch(function, A, B)
    # CuPy does not broadcast the batches.
    a = xp.broadcast_to(A, (*batch, *A.shape[-2:]))
    b = xp.broadcast_to(B, (*batch, *B.shape[-2:]))
    try:
        return xp.linalg.solve(a, b), xp.zeros(A.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        inverses, pivots = _inverse_of_some(xp, A)
        if check_errors:
            for index, pivot in enumerate(pivots):
                if pivot:
                    raise LinAlgError(
                        f"{function}: {batch_element(A.shape, index)}The solver failed because the input matrix is "
                        "singular."
                    ) from None
        return xp.matmul(inverses, b), _info(xp, A.shape[:-2], pivots)


derivatives(
    solve_matrices,
    A=lambda grads, A, solution: -(_solve_adjoint(A, grads[0]) @ solution.mH),
    B=lambda grads, A: _solve_adjoint(A, grads[0]),
)


def _solve_adjoint(A: Tensor, grad: Tensor) -> Any:
    return solve_matrices(A.mH, grad, "linalg.solve", False)[0]


def _is_vector(A: Array, B: Array) -> bool:
    """Return whether B holds one right-hand side for each matrix of A, rather than a matrix of them."""
    return B.ndim == 1 or (A.ndim - 1 == B.ndim and tuple(A.shape[:-1]) == tuple(B.shape))


def check_system(function: str, A: Array, B: Array, left: bool, vector: bool) -> None:
    check_square(function, A)
    columns = (B.shape[-1], 1) if vector else tuple(B.shape[-2:])
    if not vector and B.ndim < 2:
        raise RuntimeError(f"{function}: The input tensor B must have at least 2 dimensions.")
    if A.shape[-1] != columns[0 if left else 1]:
        raise RuntimeError(
            f"{function}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({A.shape[-2]}x{A.shape[-1]} and {columns[0]}x{columns[1]})"
        )


def _solved(name: str, A: Tensor, B: Tensor, left: bool, check_errors: bool) -> tuple[Any, Any]:
    require_tensor(name, A, "A")
    require_tensor(name, B, "B", 2)
    function = f"linalg.{name}"
    check_same_dtype(function, A._tl_data, B._tl_data)
    vector = _is_vector(A._tl_data, B._tl_data)
    check_system(function, A._tl_data, B._tl_data, left, vector)
    columns = B.unsqueeze(-1) if vector else B
    if left:
        result, info = solve_matrices(A, columns, f"torch.{function}", check_errors)
    else:
        result, info = solve_matrices(A.mT, columns.mT, f"torch.{function}", check_errors)
        result = result.mT
    return (result.squeeze(-1) if vector else result), info


@composite(namespace=NAMESPACE)
def solve(A: Tensor, B: Tensor, *, left: bool = True, out: Tensor | None = None) -> Tensor:
    """Return the solution X of A X = B, or of X A = B if `left` is False, for square matrices A.

    A has shape (..., n, n); B (..., n, k), or one vector for each matrix; batches broadcast. Raises `LinAlgError` for a
    singular matrix and RuntimeError for shapes or dtypes that do not fit.

    >>> tl.linalg.solve(tl.tensor([[2.0, 0.0], [0.0, 4.0]]), tl.tensor([2.0, 2.0]))
    tensor([1.0000, 0.5000])
    """
    return into("solve", out, _solved("solve", A, B, left, True)[0], A, B)


@composite(namespace=NAMESPACE)
def solve_ex(
    A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False, out: tuple[Tensor, ...] | None = None
) -> return_types.linalg_solve_ex:
    """Return the solution of `linalg.solve`, and for each matrix an integer that is 0 when there is one.

    Raises `LinAlgError` for a singular matrix only with `check_errors`.

    >>> tl.linalg.solve_ex(tl.zeros(2, 2), tl.ones(2)).info
    tensor(1, dtype=tensorlike.int32)
    """
    results = return_type("linalg_solve_ex", ("result", "info"))(_solved("solve_ex", A, B, left, check_errors))
    return into_each("solve_ex", out, results, A, B)  # type: ignore[no-any-return]


# --------------------------------------------------------------------------------------------------- triangular systems


def _substituted(xp: Namespace, a: Array, b: Array, lower: bool, unit: bool) -> Array:
    """Return the solutions by substitution, one row after the other for the whole batch at once."""
    size = a.shape[-1]
    result = b.copy()
    for row in range(size) if lower else reversed(range(size)):
        known = slice(0, row) if lower else slice(row + 1, size)
        part = b[..., row : row + 1, :] - xp.matmul(a[..., row : row + 1, known], result[..., known, :])
        result[..., row : row + 1, :] = part if unit else part / a[..., row : row + 1, row : row + 1]
    return result


def solve_triangles(xp: Namespace, a: Array, b: Array, batch: tuple[int, ...], lower: bool, unit: bool) -> Array:
    a = xp.broadcast_to(a, (*batch, *a.shape[-2:]))
    b = xp.broadcast_to(b, (*batch, *b.shape[-2:]))
    if not b.size or (math.prod(batch) > a.shape[-1]):
        return _substituted(xp, a, b, lower, unit)
    module = scipy_linalg(a)
    result: Array = xp.empty_like(b, order="C")
    pairs = zip(flat_matrices(a), flat_matrices(b), flat_matrices(result))
    if xp is np:
        # LAPACK's solver, which SciPy's function calls, refuses zeros on the diagonal; BLAS divides by them.
        (solver,) = module.get_blas_funcs(("trsm",), (a, b))
        for triangle, columns, found in pairs:
            found[...] = solver(1, triangle, columns, lower=lower, diag=unit)
    else:
        for triangle, columns, found in pairs:
            found[...] = module.solve_triangular(triangle, columns, lower=lower, unit_diagonal=unit)
    return result


@primitive(namespace=NAMESPACE, method=False, out=True)
def solve_triangular(
    xp: Namespace, A: Array, B: Array, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Array:  # fmt: skip
    """Return the solution X of A X = B, or of X A = B if `left` is False, for triangular matrices A.

    Only the triangle that `upper` names is read, and with `unitriangular` the diagonal is taken to be one. A has shape
    (..., n, n), B (..., n, k); batches broadcast. A zero on the diagonal gives infinities or NaN.

    >>> tl.linalg.solve_triangular(tl.tensor([[1.0, 1.0], [0.0, 2.0]]), tl.tensor([[3.0], [4.0]]), upper=True)
    tensor([[1.],
            [2.]])
    """
    function = "linalg.solve_triangular"
    check_square(function, A)
    check_matrices(function, B, "B")
    check_same_dtype(function, A, B)
    check_system(function, A, B, left, False)
    batch = common_batch(function, A, B)
    if not left:
        A, B = xp.swapaxes(A, -1, -2), xp.swapaxes(B, -1, -2)
    result = solve_triangles(xp, A, B, batch, bool(upper) != bool(left), bool(unitriangular))
    return result if left else xp.swapaxes(result, -1, -2)


def _triangular_gradients(
    grad: Tensor, A: Tensor, result: Tensor | None, upper: bool, left: bool, unitriangular: bool
) -> Tensor:
    """Return the gradient of the right-hand side, and from it that of the triangular matrix."""
    of_right: Tensor = solve_triangular(A.mH, grad, upper=not upper, left=left, unitriangular=unitriangular)
    if result is None:
        return of_right
    full = of_right @ result.mH if left else result.mH @ of_right
    # A diagonal of ones is not read.
    return -(full.triu(int(unitriangular)) if upper else full.tril(-int(unitriangular)))


derivatives(
    solve_triangular,
    A=lambda grad, A, result, upper, left, unitriangular: _triangular_gradients(
        grad, A, result, upper, left, unitriangular
    ),
    B=lambda grad, A, upper, left, unitriangular: _triangular_gradients(grad, A, None, upper, left, unitriangular),
)


@composite(method=True)
def triangular_solve(
    b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False, *,
    out: tuple[Tensor, ...] | None = None,
) -> return_types.triangular_solve:  # fmt: skip
    """Return the solution X of A X = b for triangular matrices A, or for their transposes, and a copy of A.

    >>> tl.triangular_solve(tl.tensor([[3.0], [4.0]]), tl.tensor([[1.0, 1.0], [0.0, 2.0]])).solution
    tensor([[1.],
            [2.]])

    Same as PyTorch's function of that name, without its warning to use `linalg.solve_triangular` instead.
    """
    require_tensor("triangular_solve", b, "b")
    require_tensor("triangular_solve", A, "A", 2)
    for name, matrix in (("b", b), ("A", A)):
        if matrix.ndim < 2:
            raise RuntimeError(
                f"triangular_solve(): Expected {name} to have at least 2 dimensions, but it has {matrix.ndim} "
                "dimensions instead"
            )
    matrices, lower = (A.mT, upper) if transpose else (A, not upper)
    solution = solve_triangular(matrices, b, upper=not lower, unitriangular=unitriangular)
    batch = solution.shape[:-2]
    results = return_type("triangular_solve", ("solution", "cloned_coefficient"))(
        (solution, A.expand((*batch, *A.shape[-2:])).clone())
    )
    return into_each("triangular_solve", out, results, b, A)  # type: ignore[no-any-return]
