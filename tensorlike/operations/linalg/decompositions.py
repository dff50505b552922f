"""Decompositions into triangular factors: QR and Cholesky."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensorlike.tensor.declarations.declare import composite, derivatives, primitive
from tensorlike.tensor.declarations.named_results import return_type
from tensorlike.tensor.tensor import Tensor
from tensorlike.tensor.types import Array, Namespace

from ..shape.joining import cat
from .checks import (
    NAMESPACE,
    LinAlgError,
    batch_element,
    check_matrices,
    check_same_dtype,
    check_square,
    common_batch,
    flat_matrices,
    into_each,
    on_host,
    smallest_bad_minor,
    upper_hermitian,
)
from .solving import check_system, solve_triangles, solve_triangular

if TYPE_CHECKING:
    from tensorlike import return_types


# ------------------------------------------------------------------------------------------------------------------- QR

_MODES = ("reduced", "complete", "r")


@primitive(namespace=NAMESPACE, method=False, out=True, outputs=("Q", "R"), dims="mn->...")
def qr(xp: Namespace, A: Array, mode: str = "reduced") -> tuple[Array, Array]:
    """Return a matrix Q with orthonormal columns and an upper triangular R whose product is A, of shape (..., m, n).

    With k = min(m, n), `mode` "reduced" gives Q (..., m, k) and R (..., k, n), "complete" (..., m, m) and (..., m, n),
    and "r" an empty Q and the reduced R. Differentiable unless Q is left out, or complete with more rows than columns.

    >>> Q, R = tl.linalg.qr(tl.tensor([[3.0, 1.0], [4.0, 2.0]]))
    >>> tl.allclose(Q @ R, tl.tensor([[3.0, 1.0], [4.0, 2.0]]), atol=1e-6)
    True
    """
    check_matrices("linalg.qr", A)
    if mode not in _MODES:
        raise RuntimeError(
            f"linalg.qr: qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or "
            "'complete'"
        )
    if mode == "r":
        return xp.empty((0,), A.dtype), xp.linalg.qr(A, mode="r")
    q, r = xp.linalg.qr(A, mode=mode)
    return q, r


def _qr_gradient(grad_q: Tensor, grad_r: Tensor, Q: Tensor, R: Tensor, mode: str) -> Tensor:
    rows, columns = Q.shape[-2] if mode != "r" else 0, R.shape[-1]
    if mode == "r":
        raise RuntimeError(
            "linalg.qr: The derivative depends on Q, which is not computed when mode='r'. Please use "
            "linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr."
        )
    if mode == "complete" and rows > columns:
        raise RuntimeError(
            "linalg.qr: The QR decomposition is not differentiable when mode='complete' and nrows > ncols. Use "
            "mode='reduced'."
        )
    if rows >= columns:
        return _qr_gradient_tall(grad_q, grad_r, Q, R)
    # The columns beyond the square are Q times those of R: they contribute to the gradient of Q.
    beyond, grad_beyond = R[..., rows:], grad_r[..., rows:]
    grad_q = grad_q + (Q @ beyond) @ grad_beyond.mH
    square = _qr_gradient_tall(grad_q, grad_r[..., :rows], Q, R[..., :rows])
    return cat((square, Q @ grad_beyond), -1)


def _qr_gradient_tall(grad_q: Tensor, grad_r: Tensor, Q: Tensor, R: Tensor) -> Tensor:
    middle = upper_hermitian(grad_r @ R.mH - Q.mH @ grad_q)
    return solve_triangular(R.mH, grad_q + Q @ middle, upper=False, left=False)


derivatives(qr, A=lambda grads, Q, R, mode: _qr_gradient(grads[0], grads[1], Q, R, mode))

# ------------------------------------------------------------------------------------------------------------- Cholesky


def not_positive(function: str, shape: tuple[int, ...], minors: list[int]) -> None:
    """Raise the error about the first matrix that is not positive-definite, if there is one."""
    for index, order in enumerate(minors):
        if order:
            raise LinAlgError(
                f"{function}: {batch_element(shape, index)}The factorization could not be completed because the input "
                f"is not positive-definite (the leading minor of order {order} is not positive-definite)."
            )


def _factor(xp: Namespace, array: Array, upper: bool) -> tuple[Any, Any]:
    """Return the Cholesky factors, and for each matrix without one the order of the minor that is not positive."""
    lower = xp.swapaxes(array, -1, -2).conj() if upper else array
    minors: Any = None
    try:
        factor = xp.linalg.cholesky(lower)
        failed = not bool(xp.isfinite(xp.diagonal(factor, axis1=-2, axis2=-1)).all())
    except np.linalg.LinAlgError:
        failed = True
    if failed:
        matrices = flat_matrices(on_host(lower))
        minors = [smallest_bad_minor(matrix) for matrix in matrices]
        found = np.zeros_like(matrices)
        for index, order in enumerate(minors):
            size = order - 1 if order else matrices.shape[-1]
            found[index, :size, :size] = np.linalg.cholesky(matrices[index, :size, :size])
        factor = xp.asarray(found.reshape(lower.shape))
    return (xp.swapaxes(factor, -1, -2).conj() if upper else factor), minors


def checked_factor(xp: Namespace, array: Array, upper: bool, function: str) -> Array:
    """Return the Cholesky factors; raise where one does not exist."""
    check_square(function, array)
    factor, minors = _factor(xp, array, upper)
    if minors is not None:
        not_positive(function, array.shape, minors)
    return factor  # type: ignore[no-any-return]


@primitive(namespace=NAMESPACE, method=False, out=True, dims="mm->mm")
def cholesky(xp: Namespace, A: Array, *, upper: bool = False) -> Array:
    """Return the lower triangular L with A = L L^H of a Hermitian positive-definite matrix, or of each of a batch.

    Only the lower triangle of A is read; with `upper` only the upper one, and the result is L^H. Raises `LinAlgError`
    for a matrix that is not positive-definite.

    >>> tl.linalg.cholesky(tl.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    return checked_factor(xp, A, upper, "linalg.cholesky")


def cholesky_gradient(grad: Tensor, factor: Tensor, upper: bool) -> Tensor:
    """Return the gradient of a Hermitian matrix from that of its Cholesky factor."""
    lower, grad = (factor.mH, grad.mH) if upper else (factor, grad)
    part = lower.mH @ grad
    middle = (part.tril() + part.tril(-1).mH) * 0.5
    return solve_triangular(lower.mH, solve_triangular(lower, middle, upper=False, left=False), upper=True)


derivatives(cholesky, A=lambda grad, result, upper: cholesky_gradient(grad, result, upper))


@primitive(namespace=NAMESPACE, method=False, out=True, outputs=("L", "info"), dims="mm->mm,")
def cholesky_ex(xp: Namespace, A: Array, *, upper: bool = False, check_errors: bool = False) -> tuple[Array, Array]:
    """Return the factor of `linalg.cholesky`, and for each matrix an integer that is 0 when there is one.

    Otherwise `info` is the order of the first leading minor that is not positive, and the factor is that of the minors
    before it, with zeros; with `check_errors` such a matrix raises `LinAlgError`.

    >>> tl.linalg.cholesky_ex(tl.tensor([[1.0, 2.0], [2.0, 1.0]])).info
    tensor(2, dtype=tensorlike.int32)
    """
    check_square("linalg.cholesky", A)
    factor, minors = _factor(xp, A, upper)
    if minors is None:
        return factor, xp.zeros(A.shape[:-2], np.int32)
    if check_errors:
        not_positive("linalg.cholesky_ex", A.shape, minors)
    return factor, xp.asarray(np.array(minors, np.int32).reshape(A.shape[:-2]))


derivatives(cholesky_ex, A=lambda grads, L, upper: cholesky_gradient(grads[0], L, upper))

# ---------------------------------------------------------------------------------------------------------- older names


@primitive(name="cholesky", out="cast", variant=("namesake", cholesky), dims="mm->mm")
def _cholesky(xp: Namespace, input: Array, upper: bool = False) -> Array:
    """Return the Cholesky factor of a matrix, as `linalg.cholesky` does.

    >>> tl.cholesky(tl.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])

    Same as PyTorch's function of that name, without its warning to use `linalg.cholesky` instead.
    """
    return checked_factor(xp, input, upper, "cholesky")


derivatives(_cholesky, input=lambda grad, result, upper: cholesky_gradient(grad, result, upper))


@primitive(out="cast")
def cholesky_solve(xp: Namespace, B: Array, L: Array, upper: bool = False) -> Array:
    """Return the solution X of A X = B from the Cholesky factor L of A, which is lower triangular, or `upper`.

    L has shape (..., n, n), B (..., n, k); batches broadcast. Raises RuntimeError for shapes that do not fit. The
    gradient of L is that of A = L L^H, not cut to the triangle that is read.

    >>> tl.cholesky_solve(tl.tensor([[4.0], [8.0]]), tl.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[1.0000],
            [0.5000]])
    """
    for argument, matrix in (("B", B), ("L", L)):
        if matrix.ndim < 2:
            raise RuntimeError(
                f"cholesky_solve(): {argument} should have at least 2 dimensions, but has {matrix.ndim} dimensions "
                "instead"
            )
    check_square("cholesky_solve", L, "A")
    check_same_dtype("cholesky_solve", L, B)
    check_system("cholesky_solve", L, B, True, False)
    batch = common_batch("cholesky_solve", L, B)
    lower, adjoint = _both_factors(xp, L, upper)
    half = solve_triangles(xp, lower, B, batch, True, False)
    return solve_triangles(xp, adjoint, half, batch, False, False)


def _both_factors(xp: Namespace, L: Array, upper: bool) -> tuple[Any, Any]:
    """Return the lower and the upper factor of L L^H, given one of them."""
    adjoint = xp.conj(xp.swapaxes(L, -1, -2))
    return (adjoint, L) if upper else (L, adjoint)


def _by_factor(symmetric: Tensor, L: Tensor, upper: bool) -> Tensor:
    """Return the gradient of L from half of that of L L^H; not cut to the triangle, though only that is read."""
    both = symmetric + symmetric.mH
    return -(L @ both) if upper else -(both @ L)


def _cholesky_solve_factor(grad: Tensor, L: Tensor, result: Tensor, upper: bool) -> Tensor:
    return _by_factor(cholesky_solve(grad, L, upper) @ result.mH, L, upper)


derivatives(
    cholesky_solve,
    B=lambda grad, L, upper: cholesky_solve(grad, L, upper),
    L=_cholesky_solve_factor,
)


@primitive(out="cast")
def cholesky_inverse(xp: Namespace, L: Array, upper: bool = False) -> Array:
    """Return the inverse of a matrix from its Cholesky factor L, which is lower triangular, or `upper`.

    The gradient of L is that of L L^H, not cut to the triangle that is read.

    >>> tl.cholesky_inverse(tl.tensor([[1.0, 0.0], [0.0, 2.0]]))
    tensor([[1.0000, 0.0000],
            [0.0000, 0.2500]])
    """
    check_square("cholesky_inverse", L, "A")
    lower, _ = _both_factors(xp, L, upper)
    eye = xp.broadcast_to(xp.eye(L.shape[-1], dtype=L.dtype), L.shape)
    half = solve_triangles(xp, lower, eye, L.shape[:-2], True, False)
    return xp.conj(xp.swapaxes(half, -1, -2)) @ half


derivatives(
    cholesky_inverse,
    L=lambda grad, L, result, upper: _by_factor(result @ grad @ result, L, upper),
)


@composite(method=True, name="qr")
def _qr(input: Tensor, some: bool = True, *, out: tuple[Tensor, ...] | None = None) -> return_types.qr:
    """Return the factors Q and R of a matrix: the reduced ones of `linalg.qr`, the complete ones unless `some`.

    >>> tl.qr(tl.ones(3, 2), some=False).Q.shape
    tensorlike.Size([3, 3])

    Same as PyTorch's function of that name, without its warning to use `linalg.qr` instead.
    """
    found = qr(input, "reduced" if some else "complete")
    return into_each("qr", out, return_type("qr", ("Q", "R"))(found), input)  # type: ignore[no-any-return]
