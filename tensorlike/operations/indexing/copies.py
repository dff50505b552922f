"""Copying forms of view operations: a copy with one part replaced, and parts that share no memory."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorlike.autograd.tensor_base import TensorBase, wrap
from tensorlike.tensor.backends import namespace_of
from tensorlike.tensor.declarations.declare import composite, derivatives, internal, undispatched
from tensorlike.tensor.declarations.runtime import as_array, dtype_name, guarded, write_out
from tensorlike.tensor.dims import one_dim
from tensorlike.tensor.layouts import contiguous_format
from tensorlike.tensor.memory.views import geometry_of, layout_of
from tensorlike.tensor.types import Array, Namespace, Tensor

from ..memory.inplace import write_strided
from ..shape.joining import chunk, split, split_with_sizes
from ..shape.rearranging import as_strided, narrow
from ..shape.reshaping import clone, sizes
from ..shared import require_tensor
from .basic import along, part, slice_view
from .written_values import as_written


def _require_both(function: str, input: Tensor, src: Tensor) -> None:
    require_tensor(function, input)
    require_tensor(function, src, "src", 2)


# ------------------------------------------------------------------------------------------------- one part replaced


@internal(name="slice_scatter")
def _replaced(xp: Namespace, input: Array, src: Array, index: tuple[Any, ...]) -> Array:
    """Return `input` with `src` at a basic index."""
    result = input.copy()
    target = result[index]
    if target.shape != src.shape:
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. src size = "
            f"{list(src.shape)}, slice size = {list(target.shape)}"
        )
    target[...] = as_written(src, input.dtype)
    return result


derivatives(
    _replaced,
    input=lambda grad, src_shape, index: undispatched(_replaced)(
        grad, grad._tl_zeros(src_shape, grad._tl_data.dtype), index
    ),
    src=lambda grad, index: part(slice_view, grad, index),
)


@composite(guard=False, method=True)
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """Return a copy of `input` whose slice at `index` along `dim` is `src`.

    Raises IndexError when the index is out of range, and RuntimeError unless `src` has the shape of the slice.

    >>> tl.select_scatter(tl.zeros(2, 2), tl.ones(2), 0, 0)
    tensor([[1., 1.],
            [0., 0.]])
    """
    _require_both("select_scatter", input, src)
    shape = input._tl_data.shape
    where, place = one_dim(dim, len(shape)), operator.index(index)
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    if not -shape[where] <= place < shape[where]:
        raise IndexError(f"select(): index {place} out of range for tensor of size {list(shape)} at dimension {where}")
    return undispatched(_replaced)(input, src, along(where, place))


@composite(guard=False, method=True)
def slice_scatter(
    input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1, *,
    out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return a copy of `input` whose slices from `start` to `end` along `dim`, `step` apart, are those of `src`.

    Raises RuntimeError unless `src` has the shape of those slices.

    >>> tl.slice_scatter(tl.zeros(4), tl.ones(2), 0, 1, 3)
    tensor([0., 1., 1., 0.])
    """
    _require_both("slice_scatter", input, src)
    if step <= 0:
        raise RuntimeError(f"slice_scatter(): slice step must be positive, got {step}")
    where = one_dim(dim, input._tl_data.ndim)
    found = undispatched(_replaced)(input, src, along(where, slice(start, end, step)))
    return found if out is None else write_out("slice_scatter", out, found._tl_data, input, src, rule="exact")


@composite(guard=False, method=True)
def as_strided_scatter(
    input: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """Return a copy of `input` with `src` written to the elements that `as_strided` selects.

    Raises RuntimeError unless `src` has the shape `size`.

    >>> tl.as_strided_scatter(tl.zeros(4), tl.ones(2), (2,), (3,))
    tensor([1., 0., 0., 1.])
    """
    _require_both("as_strided_scatter", input, src)
    if src._tl_data.shape != sizes(size, "as_strided_scatter", "size"):
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src._tl_data.shape)}, "
            f"slice size = {list(size)}"
        )
    shown = undispatched(as_strided)(wrap(input._tl_data), size, stride, storage_offset)._tl_data
    return undispatched(write_strided)(input, src, layout_of(input._tl_data), geometry_of(shown, input._tl_data))


# ------------------------------------------------------------------------------------------------ parts of their own


@composite(guard=False, method=True, linear_in=("input",), dims="along")
def narrow_copy(input: Tensor, dim: int, start: int, length: int, *, out: Tensor | None = None) -> Tensor:
    """Return a copy of the `length` slices of `input` from `start` on along `dim`.

    >>> tl.narrow_copy(tl.arange(5), 0, 1, 3)
    tensor([1, 2, 3])
    """
    result = undispatched(clone)(undispatched(narrow)(input, dim, start, length), memory_format=contiguous_format)
    return result if out is None else write_out("narrow_copy", out, result._tl_data, input, rule="exact")


def _copies(parts: tuple[Tensor, ...]) -> tuple[Any, ...]:
    return tuple([undispatched(clone)(p) for p in parts])


@composite(guard=False, method=True, linear_in=("input",), dims="along")
def unsafe_split(input: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Return the parts that `split` returns, each in its own memory, so that it can be written to.

    >>> tl.unsafe_split(tl.arange(3), 2)
    (tensor([0, 1]), tensor([2]))
    """
    return _copies(undispatched(split)(input, split_size, dim))


@composite(guard=False, method=True, linear_in=("input",))
def unsafe_split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Return the parts that `split_with_sizes` returns, each in its own memory, so that it can be written to.

    >>> tl.unsafe_split_with_sizes(tl.arange(3), [1, 2])
    (tensor([0]), tensor([1, 2]))
    """
    return _copies(undispatched(split_with_sizes)(input, split_sizes, dim))


@composite(guard=False, method=True, linear_in=("input",), dims="along")
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Return the parts that `chunk` returns, each in its own memory, so that it can be written to.

    >>> tl.unsafe_chunk(tl.arange(3), 2)
    (tensor([0, 1]), tensor([2]))
    """
    return _copies(undispatched(chunk)(input, chunks, dim))


@composite(guard=False, differentiable=False)
def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Convert flat indices to coordinates in a tensor of that shape.

    Raises ValueError when an index is out of range or the shape is negative, and TypeError unless they are integers.

    >>> tl.unravel_index(tl.tensor([1, 5]), (2, 3))
    (tensor([0, 1]), tensor([1, 2]))
    """
    if not isinstance(indices, TensorBase):
        raise TypeError(f"unravel_index(): argument 'indices' must be Tensor, not {type(indices).__name__}")
    array = indices._tl_data
    if array.dtype.kind not in "iu":
        raise TypeError(f"unravel_index(): expected 'indices' to be integer dtype, but got {dtype_name(array.dtype)}")
    wanted = sizes(shape, "unravel_index", "shape")
    if any(n < 0 for n in wanted):
        raise ValueError(f"unravel_index(): 'shape' cannot have negative values, but got {wanted}")
    count = math.prod(wanted)
    return _coordinates(array, wanted, count)


@guarded
def _coordinates(array: Array, wanted: tuple[int, ...], count: int) -> tuple[Any, ...]:
    if array.size and (int(array.min()) < 0 or int(array.max()) >= count):
        raise ValueError(f"unravel_index(): an index is out of bounds for shape {wanted}, which has {count} elements")
    found = []
    xp = namespace_of(array)
    array = array.astype(np.int64)
    step = count
    for n in wanted:
        step //= max(n, 1)
        found.append(wrap(as_array(xp.remainder(xp.floor_divide(array, max(step, 1)), max(n, 1)))))
    return tuple(found)
