"""Singular values and eigenvalues, and randomised decompositions of low rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensorlike._library_name import LIBRARY
from tensorlike.operations.linalg.matmul import check_products
from tensorlike.tensor.creation.sampling import randn
from tensorlike.tensor.declarations.declare import composite, derivatives, primitive
from tensorlike.tensor.declarations.named_results import return_type
from tensorlike.tensor.tensor import Tensor
from tensorlike.tensor.types import Array, Namespace

from ..shared import require_tensor
from .checks import (
    NAMESPACE,
    check_matrices,
    check_phase,
    check_square,
    converging,
    differences,
    into_each,
    is_complex,
    safe_quotient,
    without_diagonal,
)
from .decompositions import qr
from .solving import solve_matrices

if TYPE_CHECKING:
    from tensorlike import return_types

# ------------------------------------------------------------------------------------------------------ singular values


def _check_driver(function: str, driver: Any) -> None:
    if driver is not None:
        raise RuntimeError(
            f"torch.{function}: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend: "
            f"leave it out instead of passing {driver!r}"
        )


@primitive(namespace=NAMESPACE, method=False, out=True, outputs=("U", "S", "Vh"), dims="mn->...")
def svd(
    xp: Namespace, A: Array, full_matrices: bool = True, *, driver: str | None = None
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Return unitary matrices U and Vh and the singular values S, in descending order, with A = U diag(S) Vh.

    For A of shape (..., m, n) and k = min(m, n), S is real and has shape (..., k), U (..., m, m) and Vh (..., n, n), or
    (..., m, k) and (..., k, n) unless `full_matrices`. Raises `LinAlgError` for numbers that are not finite. The
    gradient is finite where the singular values differ; it must not depend on the phases of the vectors, which are
    arbitrary.

    >>> tl.linalg.svd(tl.tensor([[3.0, 0.0], [0.0, 4.0]])).S
    tensor([4., 3.])
    """
    check_matrices("linalg.svd", A)
    _check_driver("linalg.svd", driver)
    u, s, vh = converging("linalg.svd", xp.linalg.svd, A, full_matrices=bool(full_matrices))
    return u, s, vh


def _svd_gradient(grads: list[Tensor], U: Tensor, S: Tensor, Vh: Tensor) -> Tensor:
    """Return the gradient of a matrix from those of its singular values and vectors."""
    count = S.shape[-1]
    rows, columns = U.shape[-2], Vh.shape[-1]
    # The vectors beyond the singular values are an arbitrary basis of the complement, and have no gradient.
    grad_u, grad_vh = grads[0][..., :count], grads[2][..., :count, :]
    U, Vh = U[..., :count], Vh[..., :count, :]
    of_u, of_v = U.mH @ grad_u, Vh @ grad_vh.mH
    gaps = differences(S) * (S.unsqueeze(-2) + S.unsqueeze(-1))
    across_u = safe_quotient(without_diagonal(of_u - of_u.mH), gaps)
    across_v = safe_quotient(without_diagonal(of_v - of_v.mH), gaps)
    middle = across_u * S.unsqueeze(-2) + S.unsqueeze(-1) * across_v + grads[1].diag_embed()
    if is_complex(U):
        phase_u, phase_v = of_u.diagonal(0, -2, -1), of_v.diagonal(0, -2, -1)
        check_phase("svd_backward", "singular vectors", phase_u + phase_v)
        # The phases of U and V change together: checking one of the two gradients is enough.
        along = (phase_u - phase_u.conj()) * 0.5
        middle = middle + safe_quotient(along, S.to(along.dtype)).diag_embed()
    result = U @ middle @ Vh
    # The component outside the span of the columns, or of the rows.
    if rows > count:
        result = result + safe_quotient(grad_u - U @ of_u, _like(S.unsqueeze(-2), grad_u)) @ Vh
    if columns > count:
        result = result + U @ safe_quotient(grad_vh - of_v.mH @ Vh, _like(S.unsqueeze(-1), grad_vh))
    return result


def _like(values: Tensor, other: Tensor) -> Tensor:
    """Return real values in the dtype and shape of `other`."""
    return values.to(other.dtype).expand(other.shape)


derivatives(svd, A=lambda grads, U, S, Vh: _svd_gradient(grads, U, S, Vh))


@primitive(namespace=NAMESPACE, method=False, out=True, dims="mn->k")
def svdvals(xp: Namespace, A: Array, *, driver: str | None = None) -> Array:
    """Return the singular values of a matrix, or of each of a batch, in descending order.

    A has shape (..., m, n), the result (..., min(m, n)); it is real. Raises `LinAlgError` for numbers that are not
    finite.

    >>> tl.linalg.svdvals(tl.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor([4., 3.])
    """
    check_matrices("linalg.svd", A)
    _check_driver("linalg.svd", driver)
    return converging("linalg.svd", xp.linalg.svd, A, compute_uv=False)  # type: ignore[no-any-return]


def _svdvals_gradient(grad: Tensor, A: Tensor) -> Any:
    left, _, right = svd(A, False)
    return left @ (grad.unsqueeze(-1) * right)


derivatives(svdvals, A=lambda grad, A: _svdvals_gradient(grad, A))


@composite(method=True, name="svd")
def _svd(
    input: Tensor, some: bool = True, compute_uv: bool = True, *, out: tuple[Tensor, ...] | None = None
) -> return_types.svd:
    """Return the singular value decomposition of a matrix as U, S and V, where `linalg.svd` gives V's adjoint.

    U and V are reduced if `some`, and zeros without `compute_uv`.

    >>> tl.svd(tl.ones(3, 2)).V.shape
    tensorlike.Size([2, 2])

    Same as PyTorch's function of that name, without its warning to use `linalg.svd` instead.
    """
    require_tensor("svd", input)
    fields = return_type("svd", ("U", "S", "V"))
    if compute_uv:
        U, S, Vh = svd(input, not some)
        found = fields((U, S, Vh.mH))
    else:
        S = svdvals(input)
        batch, (rows, columns) = input.shape[:-2], input.shape[-2:]
        found = fields((input.new_zeros((*batch, rows, rows)), S, input.new_zeros((*batch, columns, columns))))
    return into_each("svd", out, found, input)  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------------------ eigenvalues, Hermitian case


def _triangle(UPLO: str) -> str:
    if not isinstance(UPLO, str):
        raise TypeError(f"linalg_eigh(): argument 'UPLO' must be str, not {type(UPLO).__name__}")
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"linalg.eigh: Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return UPLO.upper()


@primitive(namespace=NAMESPACE, method=False, out=True, outputs=("eigenvalues", "eigenvectors"), dims="mm->m,mm")
def eigh(xp: Namespace, A: Array, UPLO: str = "L") -> tuple[Array, Array]:
    """Return the eigenvalues, real and ascending, and the eigenvectors, as columns, of a Hermitian matrix.

    A has shape (..., n, n). Only its lower triangle is read, or the upper one if `UPLO` is "U". The gradient is finite
    where the eigenvalues differ; it must not depend on the phases of the vectors, which are arbitrary.

    >>> tl.linalg.eigh(tl.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([1., 2.])
    """
    check_square("linalg.eigh", A)
    values, vectors = converging("linalg.eigh", xp.linalg.eigh, A, UPLO=_triangle(UPLO))
    return values, vectors


def _eigh_gradient(grads: list[Tensor], values: Tensor, vectors: Tensor) -> Tensor:
    inner = vectors.mH @ grads[1]
    if is_complex(vectors):
        check_phase("linalg_eigh_backward", "eigenvectors", inner.diagonal(0, -2, -1))
    # The tangents of unitary matrices are skew-Hermitian.
    turning = without_diagonal((inner - inner.mH) * 0.5)
    middle = safe_quotient(turning, differences(values)) + grads[0].diag_embed()
    return vectors @ middle @ vectors.mH


derivatives(
    eigh,
    A=lambda grads, eigenvalues, eigenvectors: _eigh_gradient(grads, eigenvalues, eigenvectors),
)


@primitive(namespace=NAMESPACE, method=False, out=True, dims="mm->m")
def eigvalsh(xp: Namespace, A: Array, UPLO: str = "L") -> Array:
    """Return the eigenvalues of a Hermitian matrix, or of each of a batch, which are real, in ascending order.

    A has shape (..., n, n), the result (..., n). Only the lower triangle is read, or the upper one if `UPLO` is "U".

    >>> tl.linalg.eigvalsh(tl.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor([1., 2.])
    """
    check_square("linalg.eigh", A)
    return converging("linalg.eigh", xp.linalg.eigvalsh, A, UPLO=_triangle(UPLO))  # type: ignore[no-any-return]


def _eigvalsh_gradient(grad: Tensor, A: Tensor, UPLO: str) -> Any:
    vectors = eigh(A, UPLO)[1]
    return vectors @ (grad.unsqueeze(-1) * vectors.mH)


derivatives(eigvalsh, A=lambda grad, A, UPLO: _eigvalsh_gradient(grad, A, UPLO))

# -------------------------------------------------------------------------------------------- eigenvalues, general case


def _complex(array: Array) -> Array:
    """Return an array as complex numbers: NumPy gives real ones where no eigenvalue has an imaginary part."""
    return array if array.dtype.kind == "c" else array.astype(np.result_type(array.dtype, np.complex64))


def _check_finite(xp: Namespace, function: str, A: Array) -> None:
    if not bool(xp.isfinite(A).all()):
        raise RuntimeError(f"torch.{function}: input tensor should not contain infs or NaNs.")


@primitive(namespace=NAMESPACE, method=False, out="cast", outputs=("eigenvalues", "eigenvectors"), dims="mm->m,mm")
def eig(xp: Namespace, A: Array) -> tuple[Array, Array]:
    """Return the eigenvalues and the eigenvectors, as columns of length one, of a square matrix. Both are complex.

    A has shape (..., n, n). Raises RuntimeError for numbers that are not finite. The gradient is finite where the
    eigenvalues differ; it must not depend on the phases of the vectors, which are arbitrary.

    >>> tl.linalg.eig(tl.tensor([[0.0, -1.0], [1.0, 0.0]])).eigenvalues.imag
    tensor([ 1., -1.])
    """
    check_square("linalg.eig", A)
    _check_finite(xp, "linalg.eig", A)
    values, vectors = converging("linalg.eig", xp.linalg.eig, A)
    return _complex(values), _complex(vectors)


def _eig_gradient(grads: list[Tensor], values: Tensor, vectors: Tensor) -> Any:
    inner = vectors.mH @ grads[1]
    along = inner.diagonal(0, -2, -1)
    check_phase("linalg_eig_backward", "eigenvectors", along)
    # The eigenvectors are normalised: their length is constant.
    inner = inner - (vectors.mH @ vectors) * along.real.unsqueeze(-2)
    middle = safe_quotient(without_diagonal(inner), differences(values).conj()) + grads[0].diag_embed()
    return solve_matrices(vectors.mH, middle @ vectors.mH, "linalg.eig", True)[0]


derivatives(
    eig,
    A=lambda grads, eigenvalues, eigenvectors: _eig_gradient(grads, eigenvalues, eigenvectors),
)


@primitive(namespace=NAMESPACE, method=False, out="cast", dims="mm->m")
def eigvals(xp: Namespace, A: Array) -> Array:
    """Return the eigenvalues of a square matrix, or of each of a batch, as complex numbers in no particular order.

    A has shape (..., n, n), the result (..., n). Raises RuntimeError for numbers that are not finite.

    >>> tl.linalg.eigvals(tl.tensor([[0.0, -1.0], [1.0, 0.0]])).imag
    tensor([ 1., -1.])
    """
    check_square("linalg.eigvals", A)
    _check_finite(xp, "linalg.eig", A)
    return _complex(converging("linalg.eig", xp.linalg.eigvals, A))


def _eigvals_gradient(grad: Tensor, A: Tensor) -> Any:
    vectors = eig(A)[1]
    return solve_matrices(vectors.mH, grad.unsqueeze(-1) * vectors.mH, "linalg.eigvals", True)[0]


derivatives(eigvals, A=lambda grad, A: _eigvals_gradient(grad, A))


def _shape(function: str, A: Tensor) -> tuple[int, int]:
    if A.ndim < 2:
        raise ValueError(f"{function}(): A must have at least 2 dimensions, but its shape is {list(A.shape)}")
    if A._tl_data.dtype.kind not in "fc":
        raise RuntimeError(
            f"{function}(): A must be a floating-point or complex tensor, not {A.dtype}; convert it first, e.g. with "
            f".to({LIBRARY}.float32)"
        )
    return A.shape[-2], A.shape[-1]


def _range(A: Tensor, q: int, niter: int) -> Any:
    """Return orthonormal columns that nearly span the range of A (Halko, Martinsson and Tropp, 2009, algorithm 4.4)."""
    start = randn(A.shape[-1], q, dtype=A.dtype, device=A.device)
    basis = qr(A @ start).Q
    for _ in range(niter):
        basis = qr(A.mH @ basis).Q
        basis = qr(A @ basis).Q
    return basis


def _decomposed(A: Tensor, q: int, niter: int) -> tuple[Any, Any, Any]:
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
    require_tensor("svd_lowrank", A, "A")
    _shape("svd_lowrank", A)
    count = 6 if q is None else q
    if count < 0:
        raise RuntimeError(f"svd_lowrank(): q must not be negative, got {q}")
    if M is not None:
        check_products("svd_lowrank", A._tl_data, M._tl_data)
        A = A - M.expand(A.shape)
    return _decomposed(A, count, 2 if niter is None else niter)


@composite(random=None)
def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """Return U, S and V as `svd_lowrank` does for A with the mean of each column subtracted, unless `center=False`.

    The columns of V are the principal directions of the rows of A. `q`, how many, is min(6, m, n) unless given. Raises
    ValueError when it is negative or more than min(m, n), or `niter` is negative.

    >>> A = tl.tensor([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    >>> tl.pca_lowrank(A, q=1)[1].round(decimals=2)
    tensor([2.])

    Same as PyTorch's function of that name, with random numbers of its own.
    """
    require_tensor("pca_lowrank", A, "A")
    rows, columns = _shape("pca_lowrank", A)
    least = min(rows, columns)
    count = min(6, least) if q is None else q
    if not 0 <= count <= least:
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={least}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return _decomposed(A - A.mean(-2, keepdim=True) if center else A, count, niter)
