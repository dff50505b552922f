"""The products of `tensorlike.linalg`, and functions of powers: Vandermonde matrices, the matrix exponential."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from tensorlike._library_name import LIBRARY
from tensorlike.operations.linalg.contractions import chain_matmul
from tensorlike.operations.linalg.contractions import cross as _cross
from tensorlike.operations.linalg.contractions import matrix_power as _matrix_power
from tensorlike.operations.linalg.diagonals import diagonal as _diagonal
from tensorlike.operations.linalg.matmul import c_name
from tensorlike.operations.linalg.matmul import matmul as _matmul
from tensorlike.operations.shape.joining import cat
from tensorlike.tensor.backends import scipy_linalg
from tensorlike.tensor.declarations.declare import composite, derivatives, primitive
from tensorlike.tensor.declarations.runtime import dtype_name, wrong_type
from tensorlike.tensor.tensor import Tensor
from tensorlike.tensor.types import Array, Namespace

from ..shared import require_tensor
from .checks import NAMESPACE, check_square, flat_matrices, into
from .solving import inv, solve

# ------------------------------------------------------------------------------------- functions of the main namespace


@composite(namespace=NAMESPACE, variant=("namesake", _matmul))
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the matrix product of two tensors, as `matmul` in the main namespace does.

    >>> tl.linalg.matmul(tl.eye(2), tl.ones(2))
    tensor([1., 1.])
    """
    return _matmul(input, other) if out is None else _matmul(input, other, out=out)


@composite(namespace=NAMESPACE, variant=("namesake", _matrix_power))
def matrix_power(A: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
    """Return a square matrix, or each of a batch, multiplied `n` times by itself, as `matrix_power` does.

    >>> tl.linalg.matrix_power(tl.tensor([[1, 1], [0, 1]]), 5)
    tensor([[1, 5],
            [0, 1]])
    """
    return _matrix_power(A, n, out=out)


@composite(namespace=NAMESPACE)
def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Return a view of the diagonals of the matrices in two dimensions, by default the last, as a last dimension.

    >>> tl.linalg.diagonal(tl.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    return _diagonal(A, offset, dim1, dim2)


@composite(namespace=NAMESPACE)
def cross(input: Tensor, other: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """Return the cross products of vectors of three elements along dimension `dim`; the other dimensions broadcast.

    Raises RuntimeError for vectors of another size, and for different numbers of dimensions or dtypes.

    >>> tl.linalg.cross(tl.tensor([1, 0, 0]), tl.tensor([0, 1, 0]))
    tensor([0, 0, 1])
    """
    return into("cross", out, _cross(input, other, dim), input, other, disjoint=(input, other))


@composite(namespace=NAMESPACE)
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """Return the inner products of the vectors `x`, conjugated, and `y` along dimension `dim`; the rest broadcasts.

    Composes a product and a sum.

    >>> tl.linalg.vecdot(tl.tensor([[1.0, 2.0], [3.0, 4.0]]), tl.tensor([1.0, 1.0]))
    tensor([3., 7.])
    """
    require_tensor("vecdot", x, "x")
    require_tensor("vecdot", y, "y", 2)
    for tensor in (x, y):
        if tensor._tl_data.dtype.kind in "biu":
            raise RuntimeError(
                "linalg.vecdot: Expected a floating point or complex tensor as input. Got "
                f"{dtype_name(tensor._tl_data.dtype)}; convert it first, e.g. with .to({LIBRARY}.float32)"
            )
    if x._tl_data.dtype != y._tl_data.dtype:
        raise RuntimeError(
            "linalg.vecdot: Expected x and y to have the same dtype, but found x of type "
            f"{dtype_name(x._tl_data.dtype)} and y of type {dtype_name(y._tl_data.dtype)} instead"
        )
    return into("vecdot", out, (x.conj() * y).sum(dim), x, y)


# -------------------------------------------------------------------------------------------------------------- chains


@composite(namespace=NAMESPACE)
def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Return the product of two or more matrices, in the cheapest order; the first and the last may be vectors.

    A vector at the beginning is a row, one at the end a column; their dimensions of size 1 are removed from the result.
    Raises RuntimeError for tensors of other dimensions, different dtypes or sizes that do not fit.

    >>> tl.linalg.multi_dot([tl.ones(2, 3), tl.ones(3, 4), tl.ones(4)])
    tensor([12., 12.])
    """
    if not isinstance(tensors, (list, tuple)):
        wrong_type("multi_dot", "tensors", 1, tensors, "tuple of Tensors")
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    for index, tensor in enumerate(tensors):
        require_tensor("multi_dot", tensor, "tensors", index + 1)
        _check_link(tensors[0], tensor, index, index in (0, len(tensors) - 1))
    matrices = list(tensors)
    row, column = tensors[0].ndim == 1, tensors[-1].ndim == 1
    if row:
        matrices[0] = matrices[0].unsqueeze(0)
    if column:
        matrices[-1] = matrices[-1].unsqueeze(-1)
    for index, (left, right) in enumerate(itertools.pairwise(matrices)):
        if left.shape[-1] != right.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {index} and {index + 1} with shapes {list(tensors[index].shape)} and "
                f"{list(tensors[index + 1].shape)} cannot be multiplied"
            )
    result = chain_matmul(*matrices)
    if row:
        result = result.squeeze(0)
    if column:
        result = result.squeeze(-1)
    return into("multi_dot", out, result, *tensors)


def _check_link(first: Tensor, tensor: Tensor, index: int, at_an_end: bool) -> None:
    if tensor.ndim != 2 and not (at_an_end and tensor.ndim == 1):
        wanted = "1D or 2D" if at_an_end else "2D"
        raise RuntimeError(f"multi_dot(): tensor {index} must be {wanted} but got {tensor.ndim}D")
    if tensor._tl_data.dtype != first._tl_data.dtype:
        raise RuntimeError(
            "multi_dot(): all tensors must have be the same dtype but tensor 0 is "
            f"{c_name(first._tl_data.dtype)} and tensor {index} {c_name(tensor._tl_data.dtype)}"
        )


# -------------------------------------------------------------------------------------- tensors as matrices, and powers


@composite(namespace=NAMESPACE)
def tensorinv(A: Tensor, ind: int = 2, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse of A as a linear map: its first `ind` dimensions are the rows, the others the columns.

    The sizes of both multiply to the same number; the result has the columns' sizes first. Raises `LinAlgError` if A
    has no inverse and RuntimeError for sizes that do not fit. Composes `linalg.inv`.

    >>> tl.linalg.tensorinv(tl.eye(6).reshape(2, 3, 6)).shape
    tensorlike.Size([6, 2, 3])
    """
    require_tensor("tensorinv", A, "A")
    if not ind > 0:
        raise RuntimeError(f"linalg.tensorinv(): Expected a strictly positive integer for 'ind', got {ind}")
    rows, columns = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    size = math.prod(rows)
    if size != math.prod(columns):
        raise RuntimeError(
            "linalg.tensorinv(): Expected self to satisfy the requirement prod(self.shape[ind:]) == "
            f"prod(self.shape[:ind]), but got {math.prod(columns)} != {size}"
        )
    return into("tensorinv", out, inv(A.reshape((size, size))).reshape((*columns, *rows)), A, exact=False)


@composite(namespace=NAMESPACE)
def tensorsolve(A: Tensor, B: Tensor, dims: Sequence[int] | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the solution X of `tensordot(A, X, X.ndim) == B`, with A as a linear map.

    The first dimensions of A are those of B, in number of elements; the dimensions `dims` of A are moved to the end
    before. Raises RuntimeError for sizes that do not fit. Composes `linalg.solve`.

    >>> tl.linalg.tensorsolve(tl.eye(6).reshape(2, 3, 6), tl.ones(2, 3))
    tensor([1., 1., 1., 1., 1., 1.])
    """
    require_tensor("tensorsolve", A, "A")
    require_tensor("tensorsolve", B, "B", 2)
    moved = A if dims is None else A.movedim(tuple(dims), tuple(range(-len(dims), 0)))
    shape = tuple(moved.shape[B.ndim :])
    size = math.prod(shape)
    if size != math.prod(moved.shape[: B.ndim]):
        raise RuntimeError(
            "linalg.tensorsolve(): Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
            f"prod(self.shape[:other.ndim]), but got {size} != {math.prod(moved.shape[: B.ndim])}"
        )
    found = solve(moved.reshape((size, size)), B.reshape((-1,)))
    return into("tensorsolve", out, found.reshape(shape), A, B, exact=False)


def _powers(x: Tensor, count: int) -> Tensor:
    if x._tl_data.dtype.kind in "biu":
        x = x.long()
    ones = x.new_ones((*x.shape, min(count, 1)))
    if count <= 1:
        return ones
    rest = x.unsqueeze(-1).expand((*x.shape, count - 1)).cumprod(-1)
    return cat((ones, rest), -1)


# The columns of `tl.vander` are in opposite order.
@composite(namespace=NAMESPACE, name="vander")
def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """Return the powers from 0 to N - 1 of each element of `x` as a last dimension; N is `x.shape[-1]` if left out.

    Raises RuntimeError for a tensor without dimensions, and for N below 2. Composes `cumprod`.

    >>> tl.linalg.vander(tl.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [1, 2, 4],
            [1, 3, 9]])
    """
    require_tensor("vander", x, "x")
    if x.ndim == 0:
        raise RuntimeError("linalg.vander: Expected a tensor with 1 or more dimensions, got one without")
    if x._tl_data.dtype.kind in "bV" or x._tl_data.dtype == np.float16:
        raise RuntimeError(
            "linalg.vander supports floating point, complex, and integer tensors, but got "
            f"{dtype_name(x._tl_data.dtype)}"
        )
    count = x.shape[-1] if N is None else N
    if count <= 1:
        raise RuntimeError(f"linalg.vander: N must be greater than 1. Got {count}")
    return _powers(x, count)


@composite(name="vander")
def _vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """Return the powers of each element of a vector as a row, the highest first unless `increasing`.

    There are N of them, as many as elements if N is left out. Raises RuntimeError unless `x` is a vector. Composes
    `cumprod`.

    It is overridable, although `overrides.get_ignored_functions()` lists it: both as in PyTorch.

    >>> tl.vander(tl.tensor([1, 2, 3]), N=2)
    tensor([[1, 1],
            [2, 1],
            [3, 1]])
    """
    require_tensor("vander", x, "x")
    if x.ndim != 1:
        raise RuntimeError(f"vander(): x must be a one-dimensional tensor, got one of {x.ndim} dimensions")
    count = x.shape[0] if N is None else N
    if count < 0:
        raise RuntimeError(f"vander(): N must be non-negative, got {count}")
    found = _powers(x, count)
    return found if increasing else found.flip(-1)


def _exponential(xp: Namespace, A: Array) -> Array:
    half = A.dtype.itemsize == 2 and A.dtype.kind in "fV"
    wide = A.astype(np.float32) if half else A
    check_square("linalg.matrix_exp", wide)
    if not wide.size:
        return A.copy()
    expm = scipy_linalg(wide).expm
    if xp is np:
        result = expm(wide)
    else:
        result = xp.stack([expm(matrix) for matrix in flat_matrices(wide)]).reshape(wide.shape)
    return result.astype(A.dtype)  # type: ignore[no-any-return]


@primitive(namespace=NAMESPACE, method=False, dims="mm->mm")
def matrix_exp(xp: Namespace, A: Array) -> Array:
    """Return the exponential of a square matrix, or of each of a batch: the sum of its powers over factorials.

    A has shape (..., n, n). Raises RuntimeError unless A holds square matrices of floating-point or complex numbers.

    >>> tl.linalg.matrix_exp(tl.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    return _exponential(xp, A)


def _matrix_exp_gradient(grad: Tensor, A: Tensor) -> Tensor:
    """Return the derivative as the corner of one larger exponential (Mathias, 1996)."""
    transposed, size = A.mH, A.shape[-1]
    upper = cat((transposed, grad), -1)
    lower = cat((A.new_zeros(A.shape), transposed), -1)
    return matrix_exp(cat((upper, lower), -2))[..., :size, size:]


derivatives(matrix_exp, A=lambda grad, A: _matrix_exp_gradient(grad, A))


@composite(name="matrix_exp", method=True, variant=("namesake", matrix_exp))
def _matrix_exp(input: Tensor) -> Tensor:
    """Return the exponential of a square matrix, or of each of a batch, as `linalg.matrix_exp` does.

    >>> tl.matrix_exp(tl.zeros(1, 1))
    tensor([[1.]])
    """
    return matrix_exp(input)


@composite(method=True)
def inverse(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse of a square matrix, or of each of a batch, as `linalg.inv` does.

    >>> tl.inverse(tl.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    return into("inverse", out, inv(input), input)
