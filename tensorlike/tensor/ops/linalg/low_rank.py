"""Randomised low-rank decompositions: a few singular values of large matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorlike.tensor.declare import composite
from tensorlike.tensor.ops.linalg.matmul import check_products
from tensorlike.tensor.random_creation import randn

from .checks import require_tensor
from .decompositions import qr
from .spectral import svd

if TYPE_CHECKING:
    from tensorlike.tensor.tensor import Tensor


def _shape(function: str, A: Any) -> tuple[int, int]:
    if A.ndim < 2:
        raise ValueError(f"{function}(): A must have at least 2 dimensions, but its shape is {list(A.shape)}")
    if A._tl_data.dtype.kind not in "fc":
        raise RuntimeError(
            f"{function}(): A must be a floating-point or complex tensor, not {A.dtype}; convert it first, e.g. with "
            ".to(tensorlike.float32)"
        )
    return A.shape[-2], A.shape[-1]


def _range(A: Any, q: int, niter: int) -> Any:
    """Return orthonormal columns that nearly span the range of A (Halko, Martinsson and Tropp, 2009, algorithm 4.4)."""
    start = randn(A.shape[-1], q, dtype=A.dtype, device=A.device)
    basis = qr(A @ start).Q
    for _ in range(niter):
        basis = qr(A.mH @ basis).Q
        basis = qr(A @ basis).Q
    return basis


def _decomposed(A: Any, q: int, niter: int) -> tuple[Any, Any, Any]:
    rows, columns = A.shape[-2:]
    if rows < columns:
        # Sample the smaller side.
        V, S, U = _decomposed(A.mH, q, niter)
        return U, S, V
    basis = _range(A, q, niter)
    U, S, Vh = svd(basis.mH @ A, full_matrices=False)
    return basis @ U, S, Vh.mH


@composite(random=None)
def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Return U, S and V with U diag(S) V^H near A, or A - M: approximately the `q` largest singular values.

    A has shape (..., m, n) and U (..., m, k), S (..., k), V (..., n, k) with k = min(q, m, n); M broadcasts to A. The
    result depends on random numbers, the less the more iterations `niter` of subspace iteration are made and the faster
    the singular values fall. For small matrices `linalg.svd` is faster and exact. Raises ValueError for fewer than two
    dimensions and RuntimeError for integers. Composes `linalg.qr` and `linalg.svd`.

    >>> A = tl.arange(12.0).reshape(4, 3)
    >>> U, S, V = tl.svd_lowrank(A, q=2)
    >>> tl.allclose((U * S) @ V.mH, A, atol=1e-4)
    True

    Same as PyTorch's function of that name, with random numbers of its own.
    """
    require_tensor("svd_lowrank", "A", A)
    _shape("svd_lowrank", A)
    count = 6 if q is None else q
    if count < 0:
        raise RuntimeError(f"svd_lowrank(): q must not be negative, got {q}")
    if M is not None:
        check_products("svd_lowrank", A._tl_data, M._tl_data)
        A = A - M.expand(A.shape)
    return _decomposed(A, count, 2 if niter is None else niter)


@composite(random=None)
def pca_lowrank(
    A: Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Return U, S and V as `svd_lowrank` does for A with the mean of each column subtracted, unless `center=False`.

    The columns of V are the principal directions of the rows of A. `q`, how many, is min(6, m, n) unless given. Raises
    ValueError when it is negative or more than min(m, n), or `niter` is negative.

    >>> A = tl.tensor([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    >>> tl.pca_lowrank(A, q=1)[1].round(decimals=2)
    tensor([2.])

    Same as PyTorch's function of that name, with random numbers of its own.
    """
    require_tensor("pca_lowrank", "A", A)
    rows, columns = _shape("pca_lowrank", A)
    least = min(rows, columns)
    count = min(6, least) if q is None else q
    if not 0 <= count <= least:
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={least}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return _decomposed(A - A.mean(-2, keepdim=True) if center else A, count, niter)
