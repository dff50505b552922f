"""Diagonals and triangles of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorlike.autograd.tensor_base import wrap
from tensorlike.tensor.backends import backend_for
from tensorlike.tensor.declarations.declare import (
    composite,
    derivatives,
    factory,
    internal,
    primitive,
    tensor_method,
    undispatched,
)
from tensorlike.tensor.declarations.runtime import dtype_name, write_out
from tensorlike.tensor.device import as_device
from tensorlike.tensor.device import device as Device
from tensorlike.tensor.dims import one_dim
from tensorlike.tensor.dtypes import as_numpy_dtype
from tensorlike.tensor.dtypes import dtype as Dtype
from tensorlike.tensor.types import Array, Namespace, Number, Tensor

from ..indexing.basic import writable
from ..indexing.written_values import converted_number
from ..shape.reshaping import clone, reshape
from ..shared import require_tensor

# ------------------------------------------------------------------------------------------------------------ triangles


def _triangle(xp: Namespace, name: str, input: Array, diagonal: int) -> Array:
    if input.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions, got {input.ndim}")
    if not hasattr(type(diagonal), "__index__"):
        raise TypeError(f"{name}(): argument 'diagonal' (position 2) must be int, not {type(diagonal).__name__}")
    return getattr(xp, name)(input, int(diagonal))  # type: ignore[no-any-return]


@primitive(inplace=True, out=True, linear_in=("input",))
def tril(xp: Namespace, input: Array, diagonal: int = 0) -> Array:
    """Return the matrices in the last two dimensions of `input` with zeros above a diagonal (0 is the main one).

    Raises RuntimeError for fewer than two dimensions.

    >>> tl.tril(tl.ones(2, 2))
    tensor([[1., 0.],
            [1., 1.]])
    """
    return _triangle(xp, "tril", input, diagonal)


derivatives(tril, input=lambda grad, diagonal: grad.tril(diagonal))


@primitive(inplace=True, out=True, linear_in=("input",))
def triu(xp: Namespace, input: Array, diagonal: int = 0) -> Array:
    """Return the matrices in the last two dimensions of `input` with zeros below a diagonal (0 is the main one).

    Raises RuntimeError for fewer than two dimensions.

    >>> tl.triu(tl.ones(2, 2))
    tensor([[1., 1.],
            [0., 1.]])
    """
    return _triangle(xp, "triu", input, diagonal)


derivatives(triu, input=lambda grad, diagonal: grad.triu(diagonal))


def _triangle_indices(
    name: str, row: int, col: int, offset: int, dtype: Dtype | None, device: Device | int | str | None
) -> Tensor:
    for argument, size in (("row", row), ("col", col)):
        if size < 0:
            raise RuntimeError(f"{name}(): {argument} must be non-negative, got {size}")
    wanted = np.dtype(np.int64) if dtype is None else as_numpy_dtype(dtype, name)
    if wanted.kind not in "iu":
        raise NotImplementedError(f"\"{name}\" not implemented for '{dtype_name(wanted)}': indices are integers")
    found = getattr(np, name)(row, offset, col)
    array = np.stack(found).astype(wanted)
    where = as_device("cpu" if device is None else device, name)
    return wrap(array if where.type == "cpu" else backend_for(where).from_host(array, where))


@factory
def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: Dtype | None = None, device: Device | str | None = None,
    layout: Any = None,
) -> Tensor:  # fmt: skip
    """Return the rows and the columns of the elements on and below a diagonal of a `row` by `col` matrix.

    >>> tl.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
    return _triangle_indices("tril_indices", row, col, offset, dtype, device)


@factory
def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: Dtype | None = None, device: Device | str | None = None,
    layout: Any = None,
) -> Tensor:  # fmt: skip
    """Return the rows and the columns of the elements on and above a diagonal of a `row` by `col` matrix.

    >>> tl.triu_indices(2, 2)
    tensor([[0, 0, 1],
            [0, 1, 1]])
    """
    return _triangle_indices("triu_indices", row, col, offset, dtype, device)


# ------------------------------------------------------------------------------------------------------------ diagonals


def _two_dims(ndim: int, dim1: int, dim2: int) -> tuple[int, int]:
    first, second = one_dim(dim1, ndim), one_dim(dim2, ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return first, second


def _diagonals(xp: Namespace, array: Array, offset: int, first: int, second: int) -> Array:
    """Return a writable view of the diagonals."""
    if xp is np:
        return writable(array.diagonal(offset, first, second), array)
    rows, columns = array.shape[first], array.shape[second]
    length = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    start: list[Any] = [slice(None)] * array.ndim
    start[first], start[second] = slice(max(-offset, 0), None), slice(max(offset, 0), None)
    rest = [d for d in range(array.ndim) if d not in (first, second)]
    shape = (*(array.shape[d] for d in rest), length)
    steps = (*(array.strides[d] for d in rest), array.strides[first] + array.strides[second])
    return xp.lib.stride_tricks.as_strided(array[tuple(start)], shape, steps)  # type: ignore[no-any-return]


@primitive(view=True, dims="along")
def diagonal(xp: Namespace, input: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    """Return a view of the diagonals of the matrices in the dimensions `dim1` and `dim2`, as a last dimension.

    >>> tl.diagonal(tl.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    return _diagonals(xp, input, offset, *_two_dims(input.ndim, dim1, dim2))


@internal()
def diagonal_place(xp: Namespace, input: Array, shape: tuple[int, ...], offset: int, dim1: int, dim2: int) -> Array:
    """Return zeros of the given shape with `input` on the diagonals."""
    result = xp.zeros(shape, input.dtype)
    _diagonals(xp, result, offset, *_two_dims(len(shape), dim1, dim2))[...] = input
    return result


derivatives(
    diagonal,
    input=lambda grad, input_shape, offset, dim1, dim2: undispatched(diagonal_place)(
        grad, input_shape, offset, dim1, dim2
    ),
)
derivatives(diagonal_place, input=lambda grad, offset, dim1, dim2: grad.diagonal(offset, dim1, dim2))


@primitive(linear_in=("input",))
def diag_embed(xp: Namespace, input: Array, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Array:
    """Return matrices, in the dimensions `dim1` and `dim2`, with the last dimension of `input` on a diagonal.

    >>> tl.diag_embed(tl.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    if not input.ndim:
        one_dim(dim1, 0)
    first, second = _two_dims(input.ndim + 1, dim1, dim2)
    size = input.shape[-1] + abs(offset)
    shape = list(input.shape[:-1])
    for d in sorted((first, second)):
        shape.insert(d, size)
    result = xp.zeros(tuple(shape), input.dtype)
    _diagonals(xp, result, offset, first, second)[...] = input
    return result


derivatives(diag_embed, input=lambda grad, offset, dim1, dim2: grad.diagonal(offset, dim1, dim2))

_diagonal, _diag_embed = undispatched(diagonal), undispatched(diag_embed)


@composite(guard=False, method=True, linear_in=("input",))
def diag(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Return the matrix with a vector on its diagonal, or a copy of the diagonal of a matrix.

    Raises RuntimeError for other than one or two dimensions.

    >>> tl.diag(tl.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    ndim = require_tensor("diag", input)._tl_data.ndim
    if ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {ndim}D")
    result = _diag_embed(input, diagonal) if ndim == 1 else undispatched(clone)(_diagonal(input, diagonal))
    return result if out is None else write_out("diag", out, result._tl_data, input, rule="exact")


@composite(guard=False, method=True, linear_in=("input",))
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """Return the matrix with the elements of `input` on a diagonal.

    >>> tl.diagflat(tl.tensor([[1], [2]]))
    tensor([[1, 0],
            [0, 2]])
    """
    return _diag_embed(undispatched(reshape)(require_tensor("diagflat", input), (input._tl_data.size,)), offset)


@primitive(linear_in=("input",))
def trace(xp: Namespace, input: Array) -> Array:
    """Return the sum of the diagonal of a matrix; int64 for integers.

    Raises RuntimeError for other than two dimensions.

    >>> tl.trace(tl.tensor([[1, 2], [3, 4]]))
    tensor(5)
    """
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    if input.dtype.kind == "b":
        raise NotImplementedError("\"trace\" not implemented for 'Bool': convert the matrix first")
    return xp.trace(input, dtype=np.int64 if input.dtype.kind in "iu" else input.dtype)  # type: ignore[no-any-return]


derivatives(
    trace,
    input=lambda grad, input_shape: undispatched(diagonal_place)(grad.expand(min(input_shape)), input_shape, 0, 0, 1),
)


@primitive()
def diagonal_scatter(xp: Namespace, input: Array, src: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    """Return a copy of `input` with `src` on its diagonals.

    Raises RuntimeError when `src` does not have the shape of the diagonals.

    >>> tl.diagonal_scatter(tl.zeros(2, 2), tl.ones(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    result = input.copy()
    target = _diagonals(xp, result, offset, *_two_dims(input.ndim, dim1, dim2))
    if target.shape != src.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = "
            f"{list(target.shape)}"
        )
    target[...] = src
    return result


derivatives(
    diagonal_scatter,
    input=lambda grad, src_shape, offset, dim1, dim2: grad.diagonal_scatter(
        grad._tl_zeros(src_shape, grad._tl_data.dtype), offset, dim1, dim2
    ),
    src=lambda grad, offset, dim1, dim2: grad.diagonal(offset, dim1, dim2),
)


@tensor_method
def fill_diagonal_(self: Tensor, fill_value: Number, wrap: bool = False) -> Tensor:
    """Write `fill_value` to the main diagonal of this tensor, whose sizes must be equal if there are more than two.

    With `wrap` the diagonal of a tall matrix starts again after each `columns + 1` rows.

    >>> tl.zeros(2, 2).fill_diagonal_(1)
    tensor([[1., 0.],
            [0., 1.]])
    """
    shape = self.shape
    if len(shape) < 2:
        raise RuntimeError("fill_diagonal_(): dimensions must larger than 1")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise RuntimeError(f"fill_diagonal_(): all dimensions of input must be of equal length, got {list(shape)}")
    converted_number(fill_value, self._tl_data.dtype)
    step = sum(self.stride())
    size = min(shape)
    if wrap and len(shape) == 2 and shape[0] > shape[1] + 1:
        size = (shape[0] * shape[1] + shape[1]) // (shape[1] + 1)
    self.as_strided((size,), (step,)).fill_(fill_value)
    return self
