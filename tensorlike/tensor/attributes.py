"""The properties of a tensor. Each getter is overridable: types receive `Tensor.shape.__get__`."""

from __future__ import annotations

from typing import Any, overload

from tensorlike.autograd.node import Node, edge_of
from tensorlike.autograd.tensor_base import TensorBase, no_history, version_counter

from .backends import address_of, data_pointer, device_of
from .declarations.declare import incomparable, tensor_method, tensor_property
from .device import device as Device
from .dims import one_dim
from .dtypes import dtype as Dtype
from .dtypes import dtype_of
from .history import (
    hooks_of,
    set_data,
    set_gradient,
    set_gradient_dtype,
    set_hooks,
    set_post_accumulate_hooks,
    set_requires_grad,
)
from .layouts import format_name, is_arranged, strided
from .layouts import layout as Layout
from .memory.views import untracked
from .size import Size, size_from_shape
from .storage import is_shared as is_shared_memory
from .storage import owner_of
from .tensor import Tensor
from .types import Array


@tensor_property()
def shape(self: Tensor) -> Size:
    """The size of each dimension.

    >>> tl.ones(2, 3).shape
    tensorlike.Size([2, 3])
    """
    return size_from_shape(self._tl_data.shape)


@tensor_property()
def dtype(self: Tensor) -> Dtype:
    """The type of the elements.

    >>> tl.ones(2).dtype
    tensorlike.float32
    """
    return dtype_of(self._tl_data.dtype)


@tensor_property()
def device(self: Tensor) -> Device:
    """The device of the elements.

    >>> tl.ones(2).device
    device(type='cpu')
    """
    return device_of(self._tl_data)


@tensor_property()
def ndim(self: Tensor) -> int:
    """The number of dimensions.

    >>> tl.ones(2, 3).ndim
    2
    """
    found: int = self._tl_data.ndim
    return found


@tensor_property()
def itemsize(self: Tensor) -> int:
    """The bytes of one element.

    >>> tl.ones(2).itemsize
    4
    """
    found: int = self._tl_data.dtype.itemsize
    return found


@tensor_property()
def nbytes(self: Tensor) -> int:
    """The bytes of all elements.

    >>> tl.ones(2, 3).nbytes
    24
    """
    return int(self._tl_data.size * self._tl_data.dtype.itemsize)


def _delete_requires_grad(self: Tensor) -> None:
    raise RuntimeError("requires_grad must be a bool")


@tensor_property(setter=set_requires_grad, deleter=_delete_requires_grad)
def requires_grad(self: Tensor) -> bool:
    """Whether gradients are computed for this tensor.

    >>> tl.ones(2).requires_grad, tl.nn.Parameter(tl.ones(2)).requires_grad
    (False, True)
    """
    return self._tl_tracked and not no_history(self)


def _delete_gradient(self: Tensor) -> None:
    set_gradient(self, None)


@tensor_property(setter=set_gradient, nowrap=True, deleter=_delete_gradient)
def grad(self: Tensor) -> Tensor | None:
    """The gradient that `backward` accumulated into this leaf, or None.

    >>> x = tl.ones(2, requires_grad=True)
    >>> (x * 3).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    """
    found: Tensor | None = self._tl_grad_value
    return found


@tensor_property(setter=set_gradient, nowrap=True, deleter=_delete_gradient, reports=grad)
def _grad(self: Tensor) -> Tensor | None:
    """The gradient, as `grad`."""
    found: Tensor | None = self._tl_grad_value
    return found


@tensor_property(setter=set_gradient_dtype)
def grad_dtype(self: Tensor) -> Dtype | None:
    """The dtype of the gradients of this leaf: its own unless another was set; None keeps that of each gradient."""
    if self._tl_tracked and edge_of(self) is not None and self._tl_edge is not None:
        raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
    wanted = self._tl_data.dtype if self._tl_grad_dtype is False else self._tl_grad_dtype
    return None if wanted is None else dtype_of(wanted)


@tensor_property()
def grad_fn(self: Tensor) -> Node | None:
    """The node of the graph that made this tensor; None for a leaf.

    >>> (tl.ones(2, requires_grad=True) * 2).grad_fn.name()
    'MulBackward0'
    """
    if not self._tl_tracked:
        return None
    edge = edge_of(self)
    return edge[0] if edge is not None and self._tl_edge is not None else None


@tensor_property(reports=grad_fn)
def _grad_fn(self: Tensor) -> Any:
    """The node of the graph that made this tensor, as `grad_fn`."""
    return self.grad_fn


def _delete_hooks(self: Tensor) -> None:
    raise RuntimeError("Deletion of _backward_hooks not allowed!")


@tensor_property(setter=set_hooks, deleter=_delete_hooks)
def _backward_hooks(self: Tensor) -> dict[int, Any] | None:
    """The hooks of `register_hook` by number, in the order of their calls; None before the first one."""
    found: dict[int, Any] | None = hooks_of(self)
    return found


@tensor_property(setter=set_post_accumulate_hooks)
def _post_accumulate_grad_hooks(self: Tensor) -> dict[int, Any] | None:
    """The hooks of `register_post_accumulate_grad_hook` by number; None before the first one."""
    found: dict[int, Any] | None = self._tl_post_accumulate_hooks
    return found


@tensor_property()
def is_leaf(self: Tensor) -> bool:
    """Whether the user made this tensor, or it requires no gradient.

    >>> x = tl.ones(2, requires_grad=True)
    >>> x.is_leaf, (x * 2).is_leaf
    (True, False)
    """
    if not self._tl_tracked:
        return True
    edge_of(self)
    return self._tl_edge is None


@tensor_property()
def output_nr(self: Tensor) -> int:
    """The index of this tensor among the outputs of its node.

    >>> [part.output_nr for part in tl.ones(4, requires_grad=True).split(2)]
    [0, 1]
    """
    edge = edge_of(self) if self._tl_tracked else None
    return 0 if edge is None else edge[1]


@tensor_property()
def retains_grad(self: Tensor) -> bool:
    """Whether this tensor is a non-leaf that keeps its gradient."""
    return bool(self._tl_retains_grad)


def _delete_data(self: Tensor) -> None:
    raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")


@tensor_property(setter=set_data, deleter=_delete_data)
def data(self: Tensor) -> Tensor:
    """The same memory without history; the graph does not notice writes to it.

    >>> x = tl.ones(2, requires_grad=True)
    >>> x.data[0] = 5
    >>> x
    tensor([5., 1.], requires_grad=True)
    """

    found: Tensor = untracked(self)
    return found


@tensor_property(nowrap=True)
def _base(self: Tensor) -> Tensor | None:
    """The tensor that this one is a view of, or None."""
    found: Tensor | None = self._tl_view_base
    return found


@tensor_property()
def _version(self: Tensor) -> int:
    """The version: the number of in-place modifications of this tensor's memory."""
    if self._tl_inference:
        raise RuntimeError("Inference tensors do not track version counter.")
    return 0 if self._tl_counter is None else self._tl_counter[0]


@tensor_property()
def layout(self: Tensor) -> Layout:
    """The layout: `tensorlike.strided`.

    >>> tl.ones(2).layout
    tensorlike.strided
    """
    return strided


@tensor_property()
def name(self: Tensor) -> str | None:
    """The name of the tensor: always None."""
    return None


@tensor_property()
def __cuda_array_interface__(self: Tensor) -> dict[str, Any]:
    """The CUDA array interface, by which other libraries share the memory; AttributeError unless on a CUDA device."""
    if device_of(self._tl_data).type != "cuda":
        raise AttributeError(
            f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {dtype_of(self._tl_data.dtype)}. If CUDA "
            "data is required use tensor.cuda() to copy tensor to device memory."
        )
    if self._tl_tracked and edge_of(self) is not None:
        raise RuntimeError(
            "Can't get __cuda_array_interface__ on Variable that requires grad. If gradients aren't required, use "
            "var.detach() to get Variable that doesn't require grad."
        )
    found: dict[str, Any] = self._tl_data.__cuda_array_interface__
    return found


@tensor_property()
def is_cuda(self: Tensor) -> bool:
    """Whether the elements are on a CUDA device."""
    return bool(device_of(self._tl_data).type == "cuda")


@tensor_property()
def is_cpu(self: Tensor) -> bool:
    """Whether the elements are in the host's memory.

    >>> tl.ones(2).is_cpu
    True
    """
    return bool(device_of(self._tl_data).type == "cpu")


@tensor_property()
def is_meta(self: Tensor) -> bool:
    """Whether the tensor has a shape and no elements."""
    return bool(device_of(self._tl_data).type == "meta")


@overload
def size(self: Tensor, dim: None = None) -> Size: ...
@overload
def size(self: Tensor, dim: int) -> int: ...
@tensor_method(guard=False, differentiable=False)
def size(self: Tensor, dim: int | None = None) -> Any:
    """Return the shape, or the size of dimension `dim`.

    >>> tl.ones(2, 3).size(), tl.ones(2, 3).size(-1)
    (tensorlike.Size([2, 3]), 3)
    """
    if dim is None:
        return size_from_shape(self._tl_data.shape)

    shape = self._tl_data.shape
    if not shape:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return shape[one_dim(dim, len(shape))]


@tensor_method(guard=False, aliases=("ndimension",), differentiable=False)
def dim(self: Tensor) -> int:
    """Return the number of dimensions.

    >>> tl.ones(2, 3).dim()
    2
    """
    found: int = self._tl_data.ndim
    return found


@tensor_method(guard=False, differentiable=False)
def get_device(self: Tensor) -> int:
    """Return the index of the CUDA device, -1 on the CPU.

    >>> tl.ones(2).get_device()
    -1
    """
    found = device_of(self._tl_data)
    return -1 if found.index is None or found.type == "cpu" else int(found.index)


@tensor_method(guard=False, differentiable=False)
def element_size(self: Tensor) -> int:
    """Return the bytes of one element.

    >>> tl.ones(2).element_size()
    4
    """
    return int(self._tl_data.dtype.itemsize)


@overload
def stride(self: Tensor, dim: None = None) -> tuple[int, ...]: ...
@overload
def stride(self: Tensor, dim: int) -> int: ...
@tensor_method(guard=False, differentiable=False)
def stride(self: Tensor, dim: int | None = None) -> Any:
    """Return the stride of each dimension (or of `dim`), in elements.

    It is overridable, although `overrides.get_ignored_functions()` lists it: both as in PyTorch.

    >>> tl.ones(2, 3).stride()
    (3, 1)
    """

    steps = strides_of(self._tl_data)
    return steps if dim is None else steps[one_dim(dim, len(steps))]


def strides_of(array: Array) -> tuple[int, ...]:
    """Return the strides of a raw array in elements, as PyTorch counts them."""
    width = array.dtype.itemsize
    steps = tuple(s // width for s in array.strides)
    return _steps(array.shape, steps) if 0 in steps else steps


def _steps(shape: tuple[int, ...], steps: tuple[int, ...]) -> tuple[int, ...]:
    """Return PyTorch's strides where NumPy's are arbitrary, in dimensions of at most one element.

    A dimension of size 1 has the stride that spans the ones after it, and an empty tensor contiguous strides.
    """
    found = list(steps)
    empty = 0 in shape and not any(steps)
    for d in range(len(shape) - 1, -1, -1):
        if steps[d] == 0 and (shape[d] == 1 or empty):
            found[d] = max(shape[d + 1], 1) * found[d + 1] if d + 1 < len(shape) else 1
    return tuple(found)


@tensor_method(guard=False, differentiable=False)
def storage_offset(self: Tensor) -> int:
    """Return the offset of this tensor in its storage, in elements.

    >>> tl.arange(5)[2:].storage_offset()
    2
    """
    array = self._tl_data
    if array.base is None:
        return 0
    return int((data_pointer(array) - data_pointer(owner_of(array))) // array.dtype.itemsize)


@tensor_method(guard=False, differentiable=False)
def data_ptr(self: Tensor) -> int:
    """Return the address of the first element; RuntimeError for memory without one, as JAX's."""
    return address_of(self._tl_data)


incomparable(grad_fn, _grad_fn, _version, data_ptr)


@tensor_method(guard=False, differentiable=False)
def is_contiguous(self: Tensor, memory_format: Any = None) -> bool:
    """Return whether the elements are contiguous in memory, in C order or in `memory_format`.

    >>> tl.ones(2, 3).is_contiguous(), tl.ones(2, 3).T.is_contiguous()
    (True, False)
    """
    if memory_format is not None:
        return is_arranged(self._tl_data, format_name(memory_format, "is_contiguous"))
    return bool(self._tl_data.flags.c_contiguous)


@tensor_method(guard=False)
def _is_view(self: Tensor) -> bool:
    """Return whether this tensor is a view of another one."""
    return self._tl_view_base is not None


@tensor_method(guard=False, differentiable=False)
def is_shared(self: Tensor) -> bool:
    """Return whether the memory is shared between processes: after `share_memory_`, or on a CUDA device.

    >>> tl.ones(2).is_shared()
    False
    """
    return is_shared_memory(owner_of(self._tl_data))


def same_memory(tensor: TensorBase) -> list[int]:
    """Return the version counter: the same object for all tensors on the same memory."""
    return version_counter(tensor)
