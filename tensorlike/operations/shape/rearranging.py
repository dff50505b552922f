"""Parts and reorderings of a tensor: narrowing, windows, strided views, flipping, rolling."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorlike.autograd.tensor_base import TensorBase, wrap
from tensorlike.tensor.backends import data_pointer, namespace_of, strided_view
from tensorlike.tensor.declarations.declare import (
    composite,
    derivatives,
    internal,
    primitive,
    tensor_method,
    undispatched,
)
from tensorlike.tensor.declarations.runtime import guarded
from tensorlike.tensor.dims import dim_tuple, one_dim
from tensorlike.tensor.layouts import arranged, format_of, laid_out
from tensorlike.tensor.memory.views import Geometry, Layout, geometry_of, layout_of
from tensorlike.tensor.storage import bytes_of, owner_of
from tensorlike.tensor.types import Array, Namespace, Tensor

from ..indexing.basic import along, part, select_view, slice_view, writable
from ..memory.inplace import restructure, scatter_strided
from ..shared import require_tensor
from .reshaping import sizes

# ---------------------------------------------------------------------------------------------------------------- parts


@composite(guard=False, method=True, linear_in=("input",), dims="along")
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """Return a view of the slice of `input` at `index` along `dim`, without that dimension.

    Raises IndexError when the index is out of range.

    >>> tl.tensor([[1, 2], [3, 4]]).select(1, 0)
    tensor([1, 3])
    """
    shape = require_tensor("select", input)._tl_data.shape
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    where, place = one_dim(dim, len(shape)), operator.index(index)
    if not -shape[where] <= place < shape[where]:
        raise IndexError(f"select(): index {place} out of range for tensor of size {list(shape)} at dimension {where}")
    return part(select_view, input, along(where, place))


def _narrowed(input: Array, dim: int, start: Tensor | int, length: int) -> tuple[Any, ...]:
    shape = input.shape
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    count = operator.index(length)
    if count < 0:
        raise RuntimeError(f"narrow(): length must be non-negative, got {count}.")
    where = one_dim(dim, len(shape))
    size = shape[where]
    if isinstance(start, TensorBase) and (start._tl_data.ndim or start._tl_data.dtype.kind not in "iu"):
        raise RuntimeError("narrow(): start must be an 0-dim integral Tensor.")
    first = operator.index(start._tl_data.item() if isinstance(start, TensorBase) else start)
    if not -size <= first <= size:
        raise IndexError(f"start out of range (expected to be in range of [-{size}, {size}], but got {first})")
    first += size if first < 0 else 0
    if first + count > size:
        raise RuntimeError(f"narrow(): start ({first}) + length ({count}) exceeds dimension size ({size}).")
    return along(where, slice(first, first + count))


@composite(guard=False, method=True, linear_in=("input",), dims="along")
def narrow(input: Tensor, dim: int, start: Tensor | int, length: int) -> Tensor:
    """Return a view of the `length` slices of `input` from `start` on along `dim`.

    Raises RuntimeError or IndexError when there are not that many.

    >>> tl.arange(5).narrow(0, 1, 3)
    tensor([1, 2, 3])
    """
    return part(slice_view, input, _narrowed(require_tensor("narrow", input)._tl_data, dim, start, length))


@primitive(function=False, view=True)
def unfold(xp: Namespace, input: Array, dimension: int, size: int, step: int) -> Array:
    """Return a view of the sliding windows of `size` elements, `step` apart, along a dimension, as a last dimension.

    Raises RuntimeError when `size` is larger than the dimension, or `step` is not positive.

    >>> tl.arange(4).unfold(0, 2, 1)
    tensor([[0, 1],
            [1, 2],
            [2, 3]])
    """
    where = one_dim(dimension, input.ndim)
    array = input if input.ndim else input.reshape(1)
    total = array.shape[where]
    if size < 0:
        raise RuntimeError(f"unfold(): size is {size} but must be >= 0")
    if size > total:
        raise RuntimeError(f"unfold(): maximum size for tensor at dimension {where} is {total} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"unfold(): step is {step} but must be > 0")
    shape, strides = list(array.shape), list(array.strides)
    apart = strides[where]
    shape[where] = (total - size) // step + 1
    strides[where] = apart * step
    if not input.ndim:
        shape, strides = [], []
    return xp.lib.stride_tricks.as_strided(array, (*shape, size), (*strides, apart))  # type: ignore[no-any-return]


@guarded
def _refolded(grad: Tensor, shape: tuple[int, ...], dimension: int, step: int) -> Tensor:
    """Sum, for each element, the gradients of all windows that contain it."""
    if not shape:
        return grad.sum()
    where = one_dim(dimension, len(shape))
    count, size = grad._tl_data.shape[where], grad._tl_data.shape[-1]
    xp = namespace_of(grad._tl_data)
    positions = xp.arange(count)[:, None] * step + xp.arange(size)
    windows = grad.movedim(-1, where + 1).flatten(where, where + 1)
    return grad._tl_zeros(shape, grad._tl_data.dtype).index_add(where, wrap(positions.reshape(-1)), windows)


derivatives(unfold, input=lambda grad, input_shape, dimension, step: _refolded(grad, input_shape, dimension, step))


@internal(name="as_strided", view=True)
def _as_strided(xp: Namespace, input: Array, layout: Layout, geometry: Geometry, array: Any) -> Array:
    """Return a view of the memory of `input` with the given geometry, which is that of `array`."""
    return array  # type: ignore[no-any-return]


derivatives(_as_strided, input=lambda grad, layout, geometry: undispatched(scatter_strided)(grad, layout, geometry))


def _storage(array: Array) -> Any:
    """Return the memory of an array as a contiguous array."""
    owner = owner_of(array)
    return owner if owner.flags.c_contiguous or owner.flags.f_contiguous else bytes_of(owner)


@composite(guard=False, method=True, linear_in=("input",))
def as_strided(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """Return a view of the memory behind `input` with the given shape, strides and offset.

    Strides and offset count elements; the offset is that of `input` unless given. Raises RuntimeError when the view
    would leave the memory.

    The function is overridable too, although `overrides.get_ignored_functions()` lists it: both as in PyTorch.

    >>> tl.arange(4).as_strided((2, 2), (1, 2))
    tensor([[0, 2],
            [1, 3]])
    """
    tensor = require_tensor("as_strided", input)
    shape, steps = sizes(size, "as_strided", "size"), sizes(stride, "as_strided", "stride")
    if len(shape) != len(steps):
        raise RuntimeError(
            f"as_strided(): mismatch in length of strides and shape: size={list(shape)}, stride={list(steps)}"
        )
    if any(n < 0 for n in steps):
        raise RuntimeError(
            f"as_strided(): Negative strides are not supported at the moment, got strides: {list(steps)}"
        )
    if any(n < 0 for n in shape):
        raise RuntimeError(f"as_strided(): sizes must not be negative, got {list(shape)}")
    array, storage = tensor._tl_data, _storage(tensor._tl_data)
    width = array.dtype.itemsize
    start = data_pointer(array) - data_pointer(storage) if storage_offset is None else storage_offset * width
    last = 0 if 0 in shape else sum((n - 1) * s for n, s in zip(shape, steps, strict=True)) + 1
    if start < 0 or start + last * width > storage.nbytes:
        raise RuntimeError(
            f"as_strided(): sizes {list(shape)}, strides {list(steps)}, storage offset {start // width}, and itemsize "
            f"{width} requiring a storage size of {start + last * width} are out of bounds for storage of size "
            f"{storage.nbytes}"
        )
    view = strided_view(namespace_of(storage), storage, shape, array.dtype, start, tuple(s * width for s in steps))
    return undispatched(_as_strided)(tensor, layout_of(array), geometry_of(view, array), writable(view, storage))


@tensor_method(guard=False, variant=("inplace view", as_strided), inplace_function=True)
def as_strided_(self: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """Make this tensor a view of its memory with the given shape, strides and offset, and return it.

    >>> tl.arange(4).as_strided_((2,), (2,))
    tensor([0, 2])
    """

    view = undispatched(as_strided)(wrap(self._tl_data), size, stride, storage_offset)._tl_data
    array = self._tl_data
    return restructure(self, "as_strided_", _as_strided, layout_of(array), geometry_of(view, array), view)


# --------------------------------------------------------------------------------------------------- reordering


@primitive(variadic="dims", own_layout=True, linear_in=("input",), dims="along")
def flip(xp: Namespace, input: Array, dims: Sequence[int]) -> Array:
    """Return `input` with the order of its elements reversed along the dimensions `dims`.

    >>> tl.flip(tl.tensor([[1, 2], [3, 4]]), (1,))
    tensor([[2, 1],
            [4, 3]])
    """
    if not isinstance(dims, (tuple, list)):
        raise TypeError(f"flip(): argument 'dims' (position 2) must be tuple of ints, not {type(dims).__name__}")
    where = (dim_tuple(sizes(dims, "flip", "dims"), input.ndim) or ()) if dims else ()
    # A copy: PyTorch has no tensors with negative strides.
    return arranged(xp.flip(input, where), None)


derivatives(flip, input=lambda grad, dims: grad.flip(dims))

_flip: Callable[..., Tensor] = undispatched(flip)


@composite(guard=False, method=True, linear_in=("input",))
def fliplr(input: Tensor) -> Tensor:
    """Return `input` with the order reversed along its second dimension.

    Raises RuntimeError for fewer than two dimensions.

    >>> tl.fliplr(tl.tensor([[1, 2]]))
    tensor([[2, 1]])
    """
    ndim = require_tensor("fliplr", input)._tl_data.ndim
    if ndim < 2:
        raise RuntimeError(f"fliplr(): Input must be >= 2-d, got {ndim}-d.")
    return _flip(input, (1,))


@composite(guard=False, method=True, linear_in=("input",))
def flipud(input: Tensor) -> Tensor:
    """Return `input` with the order reversed along its first dimension.

    Raises RuntimeError for a tensor without dimensions.

    >>> tl.flipud(tl.tensor([1, 2]))
    tensor([2, 1])
    """
    if not require_tensor("flipud", input)._tl_data.ndim:
        raise RuntimeError("flipud(): Input must be >= 1-d, got 0-d.")
    return _flip(input, (0,))


def _pairs(input: Array, shifts: int | Sequence[int], dims: int | Sequence[int] | None) -> tuple[list[int], list[int]]:
    by = list(sizes(shifts, "roll", "shifts"))
    along_dims = [] if dims is None else list(sizes(dims, "roll", "dims"))
    if not by:
        raise RuntimeError("roll(): `shifts` required")
    if len(by) != len(along_dims) and (along_dims or len(by) != 1):
        raise RuntimeError(f"roll(): shifts and dimensions must align. shifts: {len(by)}, dims:{len(along_dims)}")
    if along_dims and not input.ndim:
        raise IndexError(f"Dimension specified as {along_dims[0]} but tensor has no dimensions")
    return by, [one_dim(d, input.ndim) for d in along_dims]


@primitive(own_layout=True, linear_in=("input",), dims="along")
def roll(xp: Namespace, input: Array, shifts: int | Sequence[int], dims: int | Sequence[int] | None = None) -> Array:
    """Return `input` with its elements shifted along the dimensions `dims`, wrapping around at the ends.

    Without `dims` it is shifted as if it had one dimension. Raises RuntimeError when the numbers of shifts and
    dimensions differ.

    >>> tl.roll(tl.tensor([1, 2, 3]), 1)
    tensor([3, 1, 2])
    """
    by, where = _pairs(input, shifts, dims)
    if not where:
        return xp.roll(input, by[0])  # type: ignore[no-any-return]
    return laid_out(xp.roll(input, tuple(by), tuple(where)), format_of(input))


derivatives(
    roll,
    input=lambda grad, shifts, dims: grad.roll(
        [-n for n in sizes(shifts, "roll", "shifts")], [] if dims is None else dims
    ),
)


@primitive(linear_in=("input",))
def rot90(xp: Namespace, input: Array, k: int = 1, dims: Sequence[int] = (0, 1)) -> Array:
    """Rotate `input` by `k` times 90 degrees in the plane of two dimensions, from the first to the second.

    Raises RuntimeError unless `dims` names two different dimensions.

    >>> tl.rot90(tl.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
    if not isinstance(k, (int, np.integer)):
        raise TypeError(f"rot90(): argument 'k' (position 2) must be int, not {type(k).__name__}")
    if len(dims) != 2:
        raise RuntimeError(f"rot90(): expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.ndim < 2:
        raise RuntimeError(f"rot90(): expected total dims >= 2, but got total dims = {input.ndim}")
    first, second = (one_dim(d, input.ndim) for d in dims)
    if first == second:
        raise RuntimeError(
            f"rot90(): expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        )
    return xp.rot90(input, k, (first, second)).copy(order="C")  # type: ignore[no-any-return]


derivatives(rot90, input=lambda grad, k, dims: grad.rot90(-k, dims))
