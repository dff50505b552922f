"""Copies and pickles of tensors: the type and the attributes of a subclass survive both."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from tensorlike.autograd.base import TensorBase
from tensorlike.autograd.node import edge_of

from .backends import backend_for, backend_of, device_of
from .device import device as Device
from .runtime import copied
from .tensor import Tensor

__all__ = ["deepcopy_tensor", "rebuild_tensor", "reduce_tensor"]

# What the graph and the views keep on a tensor, which neither a copy nor a pickle takes along.
_STATE = frozenset(name for name in dir(TensorBase) if not name.startswith("__")) | {"_data"}


def attributes_of(tensor: Any) -> dict[str, Any]:
    """Return what was stored on a tensor besides its own state, slots included."""
    found = {key: value for key, value in tensor.__dict__.items() if key not in _STATE}
    for kind in type(tensor).__mro__:
        if kind in (Tensor, TensorBase, object):
            continue
        slots = kind.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            if slot not in ("__dict__", "__weakref__") and hasattr(tensor, slot):
                found[slot] = getattr(tensor, slot)
    return found


def rebuild_tensor(
    kind: type, array: np.ndarray[Any, Any], device: str, requires_grad: bool, attributes: dict[str, Any]
) -> Any:
    """Return the tensor that was pickled."""
    where = Device(device)
    tensor: Any = object.__new__(kind)
    tensor._data = array if where.type == "cpu" else backend_for(where).from_host(array, where)
    if requires_grad:
        tensor._requires_grad = True
        tensor._tracked = True
    for key, value in attributes.items():
        setattr(tensor, key, value)
    return tensor


def reduce_tensor(tensor: Any) -> Any:
    """Return what pickle stores of a tensor."""
    array = tensor._data
    return (
        rebuild_tensor,
        (
            type(tensor),
            # Not copied: pickle writes it out, and copy.copy gives a tensor on the same memory, as in PyTorch.
            array if isinstance(array, np.ndarray) else backend_of(array).to_host(array),
            str(device_of(array)),
            bool(tensor._tracked and edge_of(tensor) is not None),
            attributes_of(tensor),
        ),
    )


def deepcopy_tensor(tensor: Any, memo: dict[int, Any]) -> Any:
    """Return a copy of a leaf with its own memory."""
    found = memo.get(id(tensor))
    if found is not None:
        return found
    requires_grad = tensor._tracked and edge_of(tensor) is not None
    if tensor._edge is not None:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment; "
            "copy tensor.detach() instead"
        )
    # A subclass need not be constructible without arguments, so its constructor is not run.
    result = object.__new__(type(tensor))
    memo[id(tensor)] = result
    result._data = copied(tensor._data)
    if requires_grad:
        result._requires_grad = True
        result._tracked = True
    if tensor._grad_value is not None:
        result._grad_value = copy.deepcopy(tensor._grad_value, memo)
    for key, value in attributes_of(tensor).items():
        setattr(result, key, copy.deepcopy(value, memo))
    return result
