"""What the C++ headers call of Python, beside the public functions."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorlike.autograd import Function
from tensorlike.tensor.device import device
from tensorlike.tensor.dtypes import as_numpy_dtype, dtype
from tensorlike.tensor.from_data import finish
from tensorlike.tensor.storage import Memory
from tensorlike.tensor.tensor import Tensor

__all__ = ["from_blob", "function_apply"]


def from_blob(
    address: int, shape: Sequence[int], strides: Sequence[int], kind: dtype, place: device, owner: Any, requires: bool
) -> Tensor:
    """Return a tensor on the memory at `address`, which lives as long as `owner`; strides are in elements."""
    of_numpy = as_numpy_dtype(kind)
    steps = tuple(s * of_numpy.itemsize for s in strides)
    if place.type == "cuda":
        cupy = importlib.import_module("cupy")
        extent = sum((n - 1) * s for n, s in zip(shape, steps, strict=True)) + of_numpy.itemsize
        memory = cupy.cuda.UnownedMemory(address, extent, owner, place.index or 0)
        array = cupy.ndarray(tuple(shape), of_numpy, cupy.cuda.MemoryPointer(memory, 0), steps)
        return finish(array, requires)
    # Types from other packages, such as bfloat16, have no code in the interface; integers of their size do.
    code = f"|u{of_numpy.itemsize}" if of_numpy.kind == "V" else of_numpy.str
    interface = {"data": (address, False), "shape": tuple(shape), "strides": steps, "typestr": code, "version": 3}
    return finish(np.asarray(Memory(owner, interface)).view(of_numpy), requires)


def function_apply(
    name: str, forward: Callable[..., Any], backward: Callable[..., Any]
) -> Callable[..., Any]:
    """Return `apply` of a new Function whose forward and backward are C++."""
    namespace = {"forward": staticmethod(forward), "backward": staticmethod(backward), "__module__": "torch.cpp"}
    return type(Function)(name, (Function,), namespace).apply
