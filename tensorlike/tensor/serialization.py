"""Copies and pickles of tensors: the type and the attributes of a subclass survive both."""

from __future__ import annotations

import copy
from contextvars import ContextVar
from types import MemberDescriptorType
from typing import Any

import numpy as np

from tensorlike._above import above
from tensorlike._library_name import LIBRARY
from tensorlike.autograd.node import edge_of
from tensorlike.autograd.tensor_base import TensorBase, wrap, wrap_as

from .backends import backend_for, backend_of, device_of
from .device import device as Device
from .dtypes import dtype as Dtype
from .dtypes import dtype_of
from .storage import UntypedStorage, placed_in, view_in
from .tensor import Tensor

#: Whether `reduce_tensor` is called for a file of `save`.
FOR_FILES: ContextVar[bool] = ContextVar("FOR_FILES", default=False)

#: The state of the graph and of views on a tensor, which is not copied or pickled.
OWN_STATE = frozenset(name for name in dir(TensorBase) if not name.startswith("__"))


def attributes_of(tensor: Tensor) -> dict[str, Any]:
    """Return the attributes stored on a tensor besides its own state, slots included."""
    found = dict(tensor.__dict__)
    for kind in type(tensor).__mro__:
        if kind is Tensor or kind in TensorBase.__mro__:
            continue
        # By the descriptors: the name of a slot such as `__unit` is mangled.
        for name, slot in kind.__dict__.items():
            if isinstance(slot, MemberDescriptorType) and hasattr(tensor, name):
                found[name] = getattr(tensor, name)
    return found


def rebuild_tensor(
    kind: type,
    storage: UntypedStorage,
    dtype: Dtype,
    offset: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    device: str,
    requires_grad: bool,
    attributes: dict[str, Any],
) -> Any:
    """Rebuild a pickled tensor; its geometry in the storage is given in bytes. Called by pickle."""
    if not (isinstance(kind, type) and issubclass(kind, TensorBase)):
        raise TypeError(f"rebuild_tensor(): argument 'kind' must be a subclass of Tensor, got {kind!r}")
    # Exactly these types: a file may pass any object that it can make, with any attributes.
    if type(storage) is not UntypedStorage:
        raise TypeError(f"rebuild_tensor(): argument 'storage' must be UntypedStorage, not {type(storage).__name__}")
    if type(dtype) is not Dtype:
        raise TypeError(f"rebuild_tensor(): argument 'dtype' must be a {LIBRARY}.dtype, not {type(dtype).__name__}")
    where = Device(device)
    array = view_in(storage, dtype.numpy_dtype, offset, tuple(shape), tuple(strides))
    tensor: Any = wrap_as(kind, array if where.type == "cpu" else backend_for(where).from_host(array, where))
    if requires_grad:
        tensor._tl_requires_grad = True
        tensor._tl_tracked = True
    own = sorted(OWN_STATE.intersection(attributes))
    if own:
        raise ValueError(f"rebuild_tensor(): a tensor's own state cannot be set by attributes: {own}")
    for key, value in attributes.items():
        setattr(tensor, key, value)
    return tensor


def leaf_of_type(tensor: Tensor, kind: type) -> Any:
    """Return a tensor that was just rebuilt as one of the subclass `kind`, a leaf of the graph as it is itself.

    There is no dispatch. For pickles and files that name the subclass beside what rebuilds a plain tensor.
    """
    if type(tensor) is kind:
        return tensor
    if not isinstance(tensor, TensorBase) or not tensor._tl_requires_grad:
        return tensor.as_subclass(kind)
    result: Any = wrap(tensor._tl_data).as_subclass(kind)
    result._tl_requires_grad = result._tl_tracked = True
    return result


def reduce_tensor(tensor: Any) -> Any:
    """Return the state of a tensor for pickle: its storage, shared by tensors on the same memory, and its geometry in
    it.

    Nothing is copied: pickle writes the storage, and copy.copy returns a tensor on the same memory, as in PyTorch.
    While this library is installed as torch, and in files, the functions that rebuild it are those that PyTorch names.
    """
    if LIBRARY.name == "torch" or FOR_FILES.get():
        return above("serialization.torch_pickles").reduce_as_torch(tensor)
    return reduce_here(tensor)


def reduce_here(tensor: Any, array: Any = None) -> Any:
    """Return the state of a tensor for another process that runs this library. With `array`, its elements lie there."""
    if array is None:
        array = tensor._tl_data
    if not isinstance(array, np.ndarray):
        array = backend_of(array).to_host(array)
    storage, offset = placed_in(array)
    return (
        rebuild_tensor,
        (
            type(tensor),
            storage,
            dtype_of(array.dtype),
            offset,
            array.shape,
            array.strides,
            str(device_of(tensor._tl_data)),
            bool(tensor._tl_tracked and edge_of(tensor) is not None),
            attributes_of(tensor),
        ),
    )


def deepcopy_tensor(tensor: Any, memo: dict[int, Any]) -> Any:
    """Return a copy of a leaf with its own memory."""
    found = memo.get(id(tensor))
    if found is not None:
        return found
    requires_grad = tensor._tl_tracked and edge_of(tensor) is not None
    if tensor._tl_edge is not None:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment; "
            "copy tensor.detach() instead"
        )
    # A subclass need not be constructible without arguments, so its constructor is not run.
    result = wrap_as(type(tensor), None)
    memo[id(tensor)] = result
    array = tensor._tl_data
    if isinstance(array, np.ndarray):
        # Through the storage, so that tensors on the same memory are copied to the same memory.
        storage, offset = placed_in(array)
        result._tl_data = view_in(copy.deepcopy(storage, memo), array.dtype, offset, array.shape, array.strides)
    else:
        result._tl_data = copy.deepcopy(array, memo)
    if requires_grad:
        result._tl_requires_grad = True
        result._tl_tracked = True
    if tensor._tl_grad_value is not None:
        result._tl_grad_value = copy.deepcopy(tensor._tl_grad_value, memo)
    for key, value in attributes_of(tensor).items():
        setattr(result, key, copy.deepcopy(value, memo))
    return result


def check_history(tensor: Any) -> None:
    """Raise RuntimeError for a tensor that requires grad and is no leaf: its graph cannot leave the process."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support "
            "crossing process boundaries.  If you just want to transfer the data, call detach() on the tensor before "
            "serializing (e.g., putting it on the queue)."
        )
