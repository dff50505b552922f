"""Norms of vectors and matrices, ranks and condition numbers, and norms under the names from before `linalg`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorlike.operations.reductions.norms import vector_norm as _vector_norm
from tensorlike.tensor.declarations.declare import composite, primitive
from tensorlike.tensor.declarations.runtime import dtype_name
from tensorlike.tensor.dtypes import dtype as Dtype
from tensorlike.tensor.dtypes import dtype_of
from tensorlike.tensor.types import Array, Namespace, Number, Tensor

from ..reductions.axes import one_axis, reduced_axes
from ..shared import as_number, require_tensor
from .checks import NAMESPACE, check_matrices, check_square, converging, into
from .solving import inv_ex
from .spectral import svdvals


@composite(namespace=NAMESPACE, dims="reduced")
def vector_norm(
    x: Tensor,
    ord: Number = 2,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: Dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return the norms of the vectors in `x` along the dimensions `dim`: the `ord`-th root of the sum of powers.

    `ord` may be any real number, infinity and minus infinity (the greatest and the least absolute value) and 0 (how
    many are not zero) among them. Without `dim` the whole tensor is one vector. `dtype` converts the input first. The
    result is real. Raises RuntimeError for integers.

    >>> tl.linalg.vector_norm(tl.tensor([[3.0, 4.0], [6.0, 8.0]]), dim=1)
    tensor([ 5., 10.])
    """
    require_tensor("vector_norm", x, "x")
    return into("vector_norm", out, _vector_norm(x, ord, dim, keepdim, dtype=dtype), x)


def _two_dims(function: str, A: Tensor, dim: int | Sequence[int]) -> tuple[int, int]:
    if A.ndim < 2:
        raise RuntimeError(f"{function}: The input tensor A must have at least 2 dimensions. Got {A.ndim}")
    if not isinstance(dim, (tuple, list)) or len(dim) != 2:
        raise RuntimeError(f"{function}: dim must be a 2-tuple. Got {dim!r}")
    axes = reduced_axes(dim, A.ndim, "matrix_norm")
    assert axes is not None
    return axes[0], axes[1]


def _kept(result: Tensor, dims: tuple[int, int], keepdim: bool) -> Tensor:
    """Restore the reduced dimensions `dims` with size 1, if `keepdim` asks for that."""
    for dim in sorted(dims) if keepdim else ():
        result = result.unsqueeze(dim)
    return result


def _extreme(values: Tensor, dim: int, ord: Any) -> Tensor:
    """Return the greatest of non-negative values (0 of none), or for a negative order the least."""
    if ord < 0:
        return values.amin(dim, True)
    return values.amax(dim, True) if values.shape[dim] else values.sum(dim, True)


def _matrix_norm(A: Any, ord: Any, dim: Any, keepdim: bool, dtype: Dtype | None) -> Tensor:
    function = "linalg.matrix_norm"
    first, second = _two_dims(function, A, dim)
    if isinstance(ord, str):
        if ord not in ("fro", "nuc"):
            raise RuntimeError(f"{function}: Order {ord} not supported; use 'fro', 'nuc', 1, -1, 2, -2, inf or -inf")
    elif abs(ord) not in (1, 2, math.inf):
        raise RuntimeError(f"{function}: Order {ord} not supported; use 'fro', 'nuc', 1, -1, 2, -2, inf or -inf")
    if ord == "fro":
        return _vector_norm(A, 2, (first, second), keepdim, dtype=dtype)
    if ord == "nuc" or abs(ord) == 2:
        check_matrices("linalg.svd", A._tl_data)
        values = svdvals((A if dtype is None else A.to(dtype)).movedim((first, second), (-2, -1)))
        if ord == "nuc":
            return _kept(values.sum(-1), (first, second), keepdim)
        return _kept(_extreme(values, -1, ord)[..., 0], (first, second), keepdim)
    summed, compared = (first, second) if abs(ord) == 1 else (second, first)
    sums = _vector_norm(A, 1, summed, True, dtype=dtype)
    result = _extreme(sums, compared, ord)
    return result if keepdim else result.squeeze((first, second))


@composite(namespace=NAMESPACE)
def matrix_norm(
    A: Tensor,
    ord: Number | str = "fro",
    dim: tuple[int, int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: Dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return the norms of the matrices that lie in the two dimensions `dim`.

    `ord` is "fro" (the root of the sum of squares), "nuc" (the sum of the singular values), 2 and -2 (the greatest and
    the least singular value), 1 and -1 (of the sums of the columns' absolute values) or inf and -inf (of the rows').
    Composes `linalg.vector_norm` or `linalg.svdvals`.

    >>> tl.linalg.matrix_norm(tl.tensor([[1.0, -2.0], [3.0, 4.0]]), 1)
    tensor(6.)
    """
    require_tensor("matrix_norm", A, "A")
    return into("matrix_norm", out, _matrix_norm(A, ord, dim, keepdim, dtype), A)


@composite(namespace=NAMESPACE)
def norm(
    input: Tensor,
    ord: Number | str | None = None,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    dtype: Dtype | None = None,
) -> Tensor:
    """Return a vector norm over one dimension, or a matrix norm over two.

    Without `ord` it is the vector norm of order 2, over all dimensions unless `dim` names some. With `ord` and without
    `dim` the input itself must be a vector or a matrix. Composes `linalg.vector_norm` or `linalg.matrix_norm`.

    >>> tl.linalg.norm(tl.tensor([3.0, 4.0]))
    tensor(5.)
    """
    require_tensor("norm", input)
    dims = dim if dim is None or isinstance(dim, (tuple, list)) else (dim,)
    if dims is not None and len(dims) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}")
    if ord is not None and dims is None and input.ndim not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {input.ndim}D."
        )
    if ord is None:
        result = _vector_norm(input, 2, dims, keepdim, dtype=dtype)
    elif isinstance(ord, str) or (len(dims) if dims is not None else input.ndim) == 2:
        result = _matrix_norm(input, ord, (-2, -1) if dims is None else dims, keepdim, dtype)
    else:
        result = _vector_norm(input, ord, dims, keepdim, dtype=dtype)
    return into("norm", out, result, input)


# ------------------------------------------------------------------------------------------ condition numbers and ranks


@composite(namespace=NAMESPACE)
def cond(A: Tensor, p: Number | str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the condition number of a matrix: its norm times that of its inverse, in the norm `p`.

    `p` is one of the orders of `linalg.matrix_norm`, None the same as 2. A has shape (..., m, n), square unless `p` is
    None, 2 or -2. A singular matrix has the number infinity. Composes `linalg.svdvals` or `linalg.inv_ex`.

    >>> tl.linalg.cond(tl.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor(2.)
    """
    require_tensor("cond", A, "A")
    if A.ndim < 2:
        raise RuntimeError(f"linalg.cond: The input tensor must have at least 2 dimensions. Got {A.ndim}")
    if (isinstance(p, str) and p not in ("fro", "nuc")) or (not isinstance(p, str) and p is not None and (
        abs(p) not in (1, 2, math.inf)
    )):  # fmt: skip
        raise RuntimeError(
            f"linalg.cond got an invalid norm type: {p}; use None, 'fro', 'nuc', 1, -1, 2, -2, inf or -inf"
        )
    if A.numel() == 0:
        real = np.dtype(A._tl_data.real.dtype)
        result = A.new_zeros(A.shape[:-2], dtype=_dtype_of(real))
    elif p is None or p in (2, -2):
        values = svdvals(A)
        greatest, least = values[..., 0], values[..., -1]
        result = least / greatest if p == -2 else greatest / least
    else:
        check_square("linalg.cond", A._tl_data)
        result = _matrix_norm(A, p, (-2, -1), False, None) * _matrix_norm(inv_ex(A)[0], p, (-2, -1), False, None)
    return into("cond", out, result, A, exact=False)


def _dtype_of(dtype: np.dtype[Any]) -> Dtype:
    return dtype_of(dtype)


def tolerance(xp: Namespace, values: Array, shape: tuple[int, ...], atol: Any, rtol: Any) -> Any:
    """Return for each matrix the bound at which singular values, in any order, count as zero."""
    if rtol is None:
        relative: Any = max(shape[-2:]) * float(np.finfo(values.dtype).eps)
        if atol is not None:
            # An absolute tolerance above zero takes the place of the default, matrix by matrix.
            relative = xp.where(xp.asarray(atol) > 0, 0.0, relative)
    else:
        relative = rtol
    greatest = xp.max(values, axis=-1) if values.shape[-1] else xp.zeros(values.shape[:-1], values.dtype)
    return xp.maximum(xp.asarray(0.0 if atol is None else atol), relative * greatest)


def check_tolerances(function: str, atol: Array | float | None, rtol: Array | float | None) -> None:
    """Raise for complex tolerances."""
    for name, value in (("atol", atol), ("rtol", rtol)):
        if getattr(getattr(value, "dtype", None), "kind", "") == "c" or isinstance(value, complex):
            raise RuntimeError(f"{function}: {name} tensor of complex type is not supported.")


@primitive(namespace=NAMESPACE, method=False, out="cast", differentiable=False)
def matrix_rank(
    xp: Namespace, A: Array, *, atol: Array | Number | None = None, rtol: Array | Number | None = None,
    hermitian: bool = False,
) -> Array:  # fmt: skip
    """Return the rank of a matrix, or of each of a batch: the number of singular values that are not zero.

    Those that are not above `atol` or `rtol` times the greatest count as zero; by default `rtol` is the greater size of
    the matrix times the precision of its dtype, and 0 if `atol` is given. For `hermitian` matrices eigenvalues are
    faster.

    >>> tl.linalg.matrix_rank(tl.tensor([[1.0, 2.0], [2.0, 4.0]]))
    tensor(1)
    """
    (check_square if hermitian else check_matrices)("linalg.matrix_rank", A)
    check_tolerances("linalg.matrix_rank", atol, rtol)
    if hermitian:
        values = xp.abs(converging("linalg.matrix_rank", xp.linalg.eigvalsh, A))
    else:
        values = converging("linalg.matrix_rank", xp.linalg.svd, A, compute_uv=False)
    bound = tolerance(xp, values, A.shape, atol, rtol)
    return xp.sum(values > bound[..., None], axis=-1).astype(np.int64)  # type: ignore[no-any-return]


@composite
def frobenius_norm(
    input: Tensor, dim: int | Sequence[int], keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Return the root of the sum of squares over `dim`, one or two dimensions, or all when `dim` is empty.

    Raises RuntimeError for integers and for more than two dimensions. It is `linalg.vector_norm` under an older name.

    >>> tl.frobenius_norm(tl.tensor([[3.0, 4.0], [6.0, 8.0]]), 1)
    tensor([ 5., 10.])

    Same as PyTorch's function of that name, without its warning to use `linalg.vector_norm` instead.
    """
    require_tensor("frobenius_norm", input)
    dim = as_number(dim, integral=True)
    dims: Any = (dim,) if isinstance(dim, int) else dim
    if len(dims) > 2:
        raise RuntimeError(f"frobenius_norm(): Expected at most 2 dimensions, but got {len(dims)} dimensions instead.")
    if input._tl_data.dtype.kind in "biu":
        raise RuntimeError(
            "frobenius_norm(): norm(): input dtype should be either floating point or complex. Got "
            f"{dtype_name(input._tl_data.dtype)} instead."
        )
    return into("frobenius_norm", out, vector_norm(input, 2, dims or None, keepdim), input)


@composite
def nuclear_norm(
    input: Tensor, dim: Sequence[int] | int | bool | None = None, keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Return the sum of the singular values of the matrices in the two dimensions `dim`, the last two unless given.

    Without `dim`, `keepdim` may stand in its place. Raises RuntimeError for integers and fewer than two dimensions. It
    is `linalg.matrix_norm(input, "nuc")` under an older name.

    >>> tl.nuclear_norm(tl.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor(7.)

    Same as PyTorch's function of that name, without its warning to use `linalg.matrix_norm` instead.
    """
    require_tensor("nuclear_norm", input)
    dims: Any = dim
    if isinstance(dims, bool):
        dims, keepdim = None, dims
    elif dims is not None:
        # One number is no pair of dimensions, an error; but an IndexError for a dimension out of range comes first.
        dims = dims if isinstance(dims, (list, tuple)) else (dims, dims)
        dims = tuple([one_axis(d, input.ndim, "nuclear_norm") for d in dims])
    found = matrix_norm(input, "nuc", (-2, -1) if dims is None else dims, keepdim)
    return into("nuclear_norm", out, found, input)
