"""The extension for linear algebra, with the functions that the main namespace has of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from tensorlike._originals import tl

from ._promotion import Array, Dtype, promoted, wide_dtype

__all__ = [
    "EigResult",
    "EighResult",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]  # fmt: skip


class EighResult(NamedTuple):
    """The eigenvalues and eigenvectors of Hermitian matrices."""

    eigenvalues: Array
    eigenvectors: Array


class EigResult(NamedTuple):
    """The eigenvalues and eigenvectors of matrices."""

    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    """The two factors of a QR decomposition."""

    Q: Array
    R: Array


class SVDResult(NamedTuple):
    """The three factors of a singular value decomposition."""

    U: Array
    S: Array
    Vh: Array


class SlogdetResult(NamedTuple):
    """The signs of determinants, and the logarithms of their absolute values."""

    sign: Array
    logabsdet: Array


# In the main namespace, too.


def matmul(x1: Array, x2: Array, /) -> Array:
    """Return products of matrices."""
    one, two = promoted("matmul", x1, x2)
    return tl.matmul(one, two)


def matrix_transpose(x: Array, /) -> Array:
    """Return transposed matrices."""
    if len(x.shape) < 2:
        raise ValueError(f"matrix_transpose(): the array needs at least two dimensions, and has {len(x.shape)}")
    return tl.transpose(x, -2, -1)


def tensordot(x1: Array, x2: Array, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Array:
    """Return sums of products over axes of both: so many of the last and first ones, or those that are named."""
    one, two = promoted("tensordot", x1, x2)
    return tl.tensordot(one, two, axes if isinstance(axes, int) else (list(axes[0]), list(axes[1])))


def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Return dot products along an axis; the first operand is conjugated."""
    one, two = promoted("vecdot", x1, x2)
    smallest = -len(one.shape) if len(one.shape) < len(two.shape) else -len(two.shape)
    if not smallest <= axis < 0:
        raise ValueError(f"vecdot(): argument 'axis' must be from {smallest} to -1, not {axis}")
    if one.shape[axis] != two.shape[axis]:
        raise ValueError(f"vecdot(): the operands have sizes {one.shape[axis]} and {two.shape[axis]} along the axis")
    return tl.sum(tl.conj(one) * two, axis, dtype=one.dtype)


# The extension.


def cholesky(x: Array, /, *, upper: bool = False) -> Array:
    """Return the Cholesky factors of matrices."""
    return tl.linalg.cholesky(x, upper=upper)


def cross(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Return cross products of vectors of three elements."""
    one, two = promoted("cross", x1, x2)
    if one.shape[axis] != 3 or two.shape[axis] != 3:
        raise ValueError(f"cross(): vectors of 3 elements are needed along axis {axis}")
    one, two = tl.broadcast_tensors(one, two)
    return tl.linalg.cross(one, two, dim=axis)


def det(x: Array, /) -> Array:
    """Return determinants."""
    return tl.linalg.det(x)


def diagonal(x: Array, /, *, offset: int = 0) -> Array:
    """Return the diagonals of matrices."""
    return tl.diagonal(x, offset, -2, -1)


def eig(x: Array, /) -> EigResult:
    """Return eigenvalues and eigenvectors, which are complex."""
    return EigResult(*tl.linalg.eig(x))


def eigh(x: Array, /) -> EighResult:
    """Return eigenvalues and eigenvectors of Hermitian matrices."""
    return EighResult(*tl.linalg.eigh(x))


def eigvals(x: Array, /) -> Array:
    """Return eigenvalues, which are complex."""
    return tl.linalg.eigvals(x)


def eigvalsh(x: Array, /) -> Array:
    """Return eigenvalues of Hermitian matrices."""
    return tl.linalg.eigvalsh(x)


def inv(x: Array, /) -> Array:
    """Return inverse matrices."""
    return tl.linalg.inv(x)


def matrix_norm(x: Array, /, *, keepdims: bool = False, ord: float | Literal["fro", "nuc"] | None = "fro") -> Array:
    """Return norms of matrices."""
    return tl.linalg.matrix_norm(x, "fro" if ord is None else ord, keepdim=keepdims)


def matrix_power(x: Array, n: int, /) -> Array:
    """Return powers of matrices."""
    return tl.linalg.matrix_power(x, n)


def matrix_rank(x: Array, /, *, rtol: float | Array | None = None) -> Array:
    """Return ranks of matrices."""
    if rtol is None:
        smallest = x.shape[-1] if x.shape[-1] > x.shape[-2] else x.shape[-2]
        rtol = smallest * tl.finfo(x.dtype).eps
    return tl.linalg.matrix_rank(x, rtol=rtol)


def outer(x1: Array, x2: Array, /) -> Array:
    """Return the products of all pairs of elements of two vectors."""
    one, two = promoted("outer", x1, x2)
    return tl.outer(one, two)


def pinv(x: Array, /, *, rtol: float | Array | None = None) -> Array:
    """Return pseudo-inverse matrices."""
    return tl.linalg.pinv(x) if rtol is None else tl.linalg.pinv(x, rtol=rtol)


def qr(x: Array, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    """Return QR decompositions."""
    return QRResult(*tl.linalg.qr(x, mode))


def slogdet(x: Array, /) -> SlogdetResult:
    """Return signs and logarithms of determinants."""
    return SlogdetResult(*tl.linalg.slogdet(x))


def solve(x1: Array, x2: Array, /) -> Array:
    """Return the solutions of systems of linear equations: `x2` is a vector only where it has one dimension."""
    one, two = promoted("solve", x1, x2)
    if len(two.shape) == 1:
        return tl.linalg.solve(one, two.unsqueeze(-1)).squeeze(-1)
    batch = tl.broadcast_shapes(one.shape[:-2], two.shape[:-2])
    return tl.linalg.solve(one.expand((*batch, *one.shape[-2:])), two.expand((*batch, *two.shape[-2:])))


def svd(x: Array, /, *, full_matrices: bool = True) -> SVDResult:
    """Return singular value decompositions."""
    return SVDResult(*tl.linalg.svd(x, full_matrices))


def svdvals(x: Array, /) -> Array:
    """Return singular values."""
    return tl.linalg.svdvals(x)


def trace(x: Array, /, *, offset: int = 0, dtype: Dtype | None = None) -> Array:
    """Return the sums of diagonals; those of integers have the widest dtype of their kind."""
    return tl.sum(diagonal(x, offset=offset), -1, dtype=dtype or wide_dtype(x))


def vector_norm(
    x: Array, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, ord: float = 2
) -> Array:
    """Return norms of vectors."""
    if axis == ():
        # Each element is a vector: for PyTorch no axes are all of them.
        return tl.linalg.vector_norm(tl.unsqueeze(x, -1), ord, -1)
    return tl.linalg.vector_norm(x, ord, axis, keepdims)
