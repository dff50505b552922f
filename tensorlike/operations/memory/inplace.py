"""In-place operations without a functional form of their own: filling, copying, resizing and reshaping a tensor.

First those behind in-place writes through views, which are not public: see Note [In-place through a view].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tensorlike.autograd.grad_mode import grad_enabled
from tensorlike.autograd.node import edge_of, reshaped_leaf
from tensorlike.autograd.tensor_base import TensorBase, version_counter, wrap
from tensorlike.tensor.backends import data_pointer, device_of, namespace_of, strided_view, transfer
from tensorlike.tensor.declarations.declare import (
    composite,
    derivatives,
    internal,
    primitive,
    takes_overlapping,
    tensor_method,
    undispatched,
)
from tensorlike.tensor.declarations.runtime import broadcast_error, device_guard, is_number, run_quietly, spelled
from tensorlike.tensor.dims import checked_size
from tensorlike.tensor.layouts import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    format_name,
    is_arranged,
    steps_of,
)
from tensorlike.tensor.memory.views import (
    Geometry,
    Layout,
    bump,
    check_inplace,
    check_overlap,
    read_view,
    scatter_view,
    write_view,
)
from tensorlike.tensor.storage import (
    bytes_of,
    owner_of,
    placed_at,
    room_at,
    storage_arguments,
    storage_of,
    view_in,
)
from tensorlike.tensor.types import Array, Namespace, Number, Tensor

from ..indexing.basic import declared
from ..indexing.written_values import as_written, single_value
from ..shape.reshaping import sizes, squeeze, swapaxes, swapdims, t, transpose, unsqueeze
from ..shape.resizing import resize, resize_as
from ..shared import require_tensor

# ------------------------------------------------------------------------------------------------ writes through views


@primitive(namespace="tensorlike.autograd.strided", method=False)
def read_strided(xp: Namespace, input: Array, layout: Layout, geometry: Geometry) -> Array:
    """Return a copy of the part of `input` that a view of the given geometry covers."""
    return read_view(input, layout._replace(dtype=input.dtype), _retyped(geometry, layout, input.dtype))


@primitive(namespace="tensorlike.autograd.strided", method=False)
def scatter_strided(xp: Namespace, input: Array, layout: Layout, geometry: Geometry) -> Array:
    """Return zeros with `input` added at the positions of the view, summed where the view overlaps itself."""
    return scatter_view(input, layout, geometry)


@primitive(namespace="tensorlike.autograd.strided", method=False)
def write_strided(xp: Namespace, input: Array, value: Array, layout: Layout, geometry: Geometry) -> Array:
    """Return a copy of `input` with `value` written at the positions of the view."""
    return write_view(input, value, layout, geometry)


def _retyped(geometry: Geometry, layout: Layout, dtype: np.dtype[Any]) -> Geometry:
    return geometry._replace(dtype=dtype) if geometry.dtype == layout.dtype else geometry


derivatives(
    read_strided,
    input=lambda grad, layout, geometry: undispatched(scatter_strided)(grad, layout, geometry),
)
derivatives(
    scatter_strided,
    input=lambda grad, layout, geometry: undispatched(read_strided)(grad, layout, geometry),
)
derivatives(
    write_strided,
    input=lambda grad, value_shape, layout, geometry: undispatched(write_strided)(
        grad, grad._tl_zeros(value_shape, geometry.dtype), layout, geometry
    ),
    value=lambda grad, layout, geometry: undispatched(read_strided)(grad, layout, geometry),
)


# ----------------------------------------------------------------------------------------------------------- elements


@primitive(method=False, inplace=True, write="all")
def fill(xp: Namespace, input: Array, value: Array | Number) -> Array:  # type: ignore[return]
    """Return a tensor of the shape and dtype of `input` whose elements are all `value`; `fill_` writes into `input`.

    Raises RuntimeError when `value` is a tensor with dimensions, or a number that the dtype cannot hold.

    It is overridable, although `overrides.get_ignored_functions()` lists it: both as in PyTorch.

    >>> x = tl.ones(2)
    >>> x.fill_(7)
    tensor([7., 7.])
    """
    if not is_number(value) and not value.ndim:
        # Tensors are copied, as in PyTorch: not to expanded tensors, and what does not fit wraps around.
        check_overlap(input, "fill_")
        value = as_written(value, input.dtype).astype(input.dtype)
    input[...] = single_value(
        value, input.dtype, "fill_ only supports 0-dimension value tensor but got tensor with {ndim} dimensions."
    )


def zeros_like_gradient(grad: Tensor) -> Tensor:
    """Return zeros in place of a gradient."""
    return grad._tl_zeros(grad._tl_data.shape, grad._tl_data.dtype)


takes_overlapping(fill)
derivatives(fill, input=lambda grad: zeros_like_gradient(grad), value=lambda grad: grad.sum())


@composite(guard=False, variant=("inplace", fill))
def fill_(input: Tensor, value: Tensor | Number) -> Tensor:
    """Write `value` to all elements of `input`, and return it.

    >>> tl.fill_(tl.ones(2), 7)
    tensor([7., 7.])
    """
    return declared(fill).write_in_place("fill_", require_tensor("fill_", input), value)  # type: ignore[no-any-return]


@composite(guard=False, method=True)
def zero_(input: Tensor) -> Tensor:
    """Write zeros to all elements of `input`, and return it.

    >>> tl.ones(2).zero_()
    tensor([0., 0.])
    """
    return declared(fill).write_in_place("zero_", require_tensor("zero_", input), 0)  # type: ignore[no-any-return]


@internal(name="copy", write="all")
def copy_into(xp: Namespace, input: Array, src: Array) -> Array:  # type: ignore[return]
    """Return the elements of `src` in the shape and dtype of `input`."""
    if src.ndim > input.ndim or any(
        n not in (1, m) for n, m in zip(src.shape[::-1], input.shape[::-1], strict=False)
    ):  # fmt: skip
        shape = input.shape if src.ndim <= input.ndim else src.shape
        message = f"copy_(): output with shape {list(input.shape)} doesn't match the broadcast shape {list(shape)}"
        raise broadcast_error("copy_", RuntimeError(message), (input, src))
    input[...] = as_written(src, input.dtype)


derivatives(copy_into, input=lambda grad: zeros_like_gradient(grad), src=lambda grad: grad)


@tensor_method(guard=False, linear_in=("self", "src"))
def copy_(self: Tensor, src: Tensor | Number, non_blocking: bool = False) -> Tensor:
    """Write the elements of `src` into this tensor, converted and broadcast, and return this tensor.

    Gradients go to `src`. Raises RuntimeError when the shapes do not fit.

    >>> tl.zeros(2, 2).copy_(tl.tensor([1, 2]))
    tensor([[1., 2.],
            [1., 2.]])
    """
    if is_number(src):
        return declared(fill).write_in_place("copy_", self, src, overlapping=False)  # type: ignore[no-any-return]
    require_tensor("copy_", src, "other")
    source: Any = src
    if type(source._tl_data) is not type(self._tl_data) or device_of(source._tl_data) != device_of(self._tl_data):
        source = source._tl_transfer(device_of(self._tl_data))
    return declared(copy_into).write_in_place("copy_", self, source)  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------------------------------------- memory


#: The largest number of elements, and of bytes, that memory can have.
_LARGEST: Final = 2**63 - 1


def _resize(self: Tensor, shape: tuple[int, ...], memory_format: Any, name: str) -> Tensor:
    wanted = format_name(memory_format, name)
    if self._tl_tracked and edge_of(self) is not None:
        raise RuntimeError(f"{name}(): cannot resize variables that require grad")
    array = self._tl_data
    if wanted == "preserve_format":
        raise RuntimeError(f"{name}(): Unsupported memory format Preserve; pass another, or none")
    if array.shape == shape and wanted is None:
        return self
    count, width = math.prod(shape), array.dtype.itemsize
    if math.prod(n or 1 for n in shape[1:]) > _LARGEST:
        raise RuntimeError(f"{name}(): Stride calculation overflowed with sizes={list(shape)}")
    if count * width > _LARGEST:
        raise RuntimeError(f"{name}(): Storage size calculation overflowed with sizes={list(shape)}")
    steps = steps_of(shape, wanted)
    if count <= room_at(array):
        found = placed_at(array, shape, steps)
    else:
        # NumPy's memory cannot grow: give this tensor its own memory, with a copy of its elements.
        memory = bytes_of(owner_of(array))
        start = data_pointer(array) - data_pointer(memory)
        with device_guard(array):
            larger = namespace_of(array).zeros(start + count * width, np.uint8)
            larger[: memory.size] = memory
        strides = tuple(n * width for n in steps)
        found = strided_view(namespace_of(array), larger, shape, array.dtype, start, strides)
        self._tl_view_base = None
        self._tl_counter = None
    self._tl_data = found
    bump(self)
    return self


@tensor_method(guard=False, variant=("inplace", resize))
def resize_(self: Tensor, *size: int, memory_format: Any = None, **keywords: Any) -> Tensor:
    """Give this tensor the shape `size` and return it: the elements in memory stay, further ones are uninitialised.

    When the memory does not suffice, this tensor alone moves to larger memory. Raises RuntimeError for a tensor that
    requires grad.

    >>> tl.tensor([1, 2, 3]).resize_(2)
    tensor([1, 2])
    """
    if keywords or not size:
        size = spelled("resize_", "size", size, keywords)
    return _resize(self, checked_size(size, "resize_"), memory_format, "resize_")


@tensor_method(guard=False, variant=("inplace", resize_as), inplace_function=True)
def resize_as_(self: Tensor, the_template: Tensor, memory_format: Any = None) -> Tensor:
    """Give this tensor the shape of another one and return it: the first elements stay, further ones are uninitialised.

    >>> tl.tensor([1, 2, 3]).resize_as_(tl.ones(2))
    tensor([1, 2])
    """
    template = require_tensor("resize_as_", the_template)._tl_data
    if format_name(memory_format, "resize_as_") == "preserve_format":
        formats = (contiguous_format, channels_last, channels_last_3d)
        fitting = (f for f in formats if is_arranged(template, format_name(f, "resize_as_")))
        memory_format = next(fitting, contiguous_format)
    return _resize(self, template.shape, memory_format, "resize_as_")


@tensor_method(guard=False)
def set_(self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Tensor:
    """Give this tensor the memory of `source`, a tensor or a storage, and return it; without one, no elements.

    `storage_offset`, `size` and `stride`, in elements, are the layout of the tensor in that memory. Without them it has
    the layout of the tensor `source`, or spans the whole storage. Raises RuntimeError when the dtypes differ, when the
    tensor would leave the memory, or for a leaf that requires grad.

    >>> x, y = tl.zeros(2), tl.arange(6.0)
    >>> x.set_(y), x.set_(y, 1, (2,), (3,))
    (tensor([1., 4.]), tensor([1., 4.]))
    """
    mine = self._tl_data
    check_inplace(self, "set_", overlapping=True)
    if source is None:
        with device_guard(mine):
            self._tl_data = namespace_of(mine).empty((0,), mine.dtype)
        self._tl_counter = self._tl_view_base = None
        return self
    storage = storage_arguments(source)
    width = mine.dtype.itemsize
    if storage is None:
        if source._tl_data.dtype != mine.dtype:
            raise RuntimeError(f"set_(): the dtypes differ: {mine.dtype} and {source._tl_data.dtype}")
        if size is None:
            self._tl_data = transfer(source._tl_data, device_of(mine))
        else:
            storage = storage_of(source._tl_data)
    if storage is not None:
        shape = (len(storage) // width - storage_offset,) if size is None else sizes(size, "set_", "size")
        steps = steps_of(shape, None) if stride is None else sizes(stride, "set_", "stride")
        if len(steps) != len(shape):
            raise RuntimeError(f"set_(): mismatch in length of size {list(shape)} and stride {list(steps)}")
        strides = tuple(n * width for n in steps)
        self._tl_data = view_in(storage, mine.dtype, storage_offset * width, shape, strides)
    if isinstance(source, TensorBase):
        self._tl_counter = version_counter(source) if source._tl_counter is None else source._tl_counter
    else:
        self._tl_counter = None
    self._tl_view_base = None
    bump(self)
    return self


# ------------------------------------------------------------------------------------------------------------- shapes


def restructure(
    self: Tensor, name: str, function: Any, *args: Layout | Geometry | Array | int | Sequence[int] | None
) -> Tensor:
    """Replace the array of `self` by a view of it: the memory stays, the shape changes."""
    declaration = function.operation
    array = self._tl_data
    result = run_quietly(declaration.kernel, namespace_of(array), array, *args)
    node = None
    check_inplace(self, name, overlapping=True)
    if self._tl_tracked and grad_enabled():
        original = wrap(array)
        original._tl_edge = edge_of(self)
        original._tl_tracked = self._tl_tracked
        node = declaration.making()(original, *args)
    self._tl_data = result
    bump(self)
    reshaped_leaf(self)
    if node is not None:
        node._tl_shape, node._tl_dtype = result.shape, result.dtype
        # The new layout of a view in its base is computed when its edge is next needed.
        if self._tl_view_base is None:
            self._tl_edge = (node, 0)
    return self


@tensor_method(guard=False, variant=("inplace view", squeeze))
def squeeze_(self: Tensor, dim: int | tuple[int, ...] | None = None) -> Tensor:
    """Remove the dimensions of size 1 (or those of them in `dim`) from this tensor, and return it.

    >>> tl.ones(1, 2).squeeze_()
    tensor([1., 1.])
    """
    return restructure(self, "squeeze_", squeeze, dim)


@tensor_method(guard=False, variant=("inplace view", unsqueeze))
def unsqueeze_(self: Tensor, dim: int) -> Tensor:
    """Insert a dimension of size 1 into this tensor, and return it.

    >>> tl.ones(2).unsqueeze_(0)
    tensor([[1., 1.]])
    """
    return restructure(self, "unsqueeze_", unsqueeze, dim)


@tensor_method(guard=False, variant=("inplace view", t))
def t_(self: Tensor) -> Tensor:
    """Exchange the dimensions of this matrix, and return it.

    >>> tl.ones(2, 3).t_().shape
    tensorlike.Size([3, 2])
    """
    return restructure(self, "t_", t)


@tensor_method(guard=False, variant=("inplace view", transpose))
def transpose_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Exchange two dimensions of this tensor, and return it.

    >>> tl.ones(2, 3).transpose_(0, 1).shape
    tensorlike.Size([3, 2])
    """
    return restructure(self, "transpose_", transpose, dim0, dim1)


@tensor_method(guard=False, variant=("inplace view", swapaxes))
def swapaxes_(self: Tensor, axis0: int, axis1: int) -> Tensor:
    """Exchange two dimensions of this tensor, and return it, as `transpose_` does.

    >>> tl.ones(2, 3).swapaxes_(0, 1).shape
    tensorlike.Size([3, 2])
    """
    return restructure(self, "swapaxes_", transpose, axis0, axis1)


@tensor_method(guard=False, variant=("inplace view", swapdims))
def swapdims_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Exchange two dimensions of this tensor, and return it, as `transpose_` does.

    >>> tl.ones(2, 3).swapdims_(0, 1).shape
    tensorlike.Size([3, 2])
    """
    return restructure(self, "swapdims_", transpose, dim0, dim1)
