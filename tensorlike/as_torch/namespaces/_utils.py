"""Functions that pickles call, and errors that pass between threads and processes, under PyTorch's module name."""

from __future__ import annotations

from typing import Any

# PyTorch pickles a memory format as `torch.channels_last` in this module.
import tensorlike as torch
from tensorlike._above import above
from tensorlike._library_name import LIBRARY
from tensorlike._originals import tl
from tensorlike.tensor.parameter import Parameter
from tensorlike.tensor.serialization import rebuild_tensor
from tensorlike.tensor.tensor import Tensor
from tensorlike.utils.exceptions import ExceptionWrapper, KeyErrorMessage

__all__ = ["ExceptionWrapper", "KeyErrorMessage", "_element_size", "_rebuild_sparse_tensor", "set_state", "torch"]


def _element_size(dtype: Any) -> int:
    """Return the number of bytes of an element of `dtype`.

    >>> tl._utils._element_size(tl.float64)
    8
    """
    if not isinstance(dtype, tl.dtype):
        raise RuntimeError(f"expected {LIBRARY.name}.dtype, but got {type(dtype)}")
    return dtype.itemsize


def _rebuild_sparse_tensor(layout: Any, data: Any) -> Any:
    """Rebuild a pickled sparse tensor. Called by pickle, under PyTorch's name."""
    return above("sparse.attributes").rebuild_sparse_tensor(layout, data)


def set_state(value: Any, state: Any) -> Any:
    """Set the attributes of an object that a pickle holds: a dict, or a dict and one of what is in slots."""
    for part in state if isinstance(state, tuple) else (state,):
        for name, item in (part or {}).items():
            setattr(value, name, item)
    return value


def _flatten_dense_tensors(tensors: Any) -> Any:
    """Return one tensor with the numbers of all; this function and the next are used by code that sends gradients."""
    return tl.cat([tensor.contiguous().view(-1) for tensor in tensors])


def _unflatten_dense_tensors(flat: Any, tensors: Any) -> Any:
    """Return views of the parts of `flat`, with the shapes of `tensors`."""
    sizes = [tensor.numel() for tensor in tensors]
    return tuple(part.view(tensor.shape) for part, tensor in zip(flat.split(sizes), tensors, strict=True))


def _rebuild_tensor(storage: Any, storage_offset: int, size: Any, stride: Any) -> Any:
    """Rebuild a tensor on the memory of a typed storage; this function and those below are called by pickles."""
    return _rebuild_tensor_v3(storage, storage_offset, size, stride, False, None, storage.dtype)


def _rebuild_tensor_v2(
    storage: Any, storage_offset: int, size: Any, stride: Any, requires_grad: bool, backward_hooks: Any,
    metadata: Any = None,
) -> Any:  # fmt: skip
    return _rebuild_tensor_v3(
        storage, storage_offset, size, stride, requires_grad, backward_hooks, storage.dtype, metadata
    )


def _rebuild_tensor_v3(
    storage: Any, storage_offset: int, size: Any, stride: Any, requires_grad: bool, backward_hooks: Any, dtype: Any,
    metadata: Any = None,
) -> Any:  # fmt: skip
    untyped = storage.untyped()
    width = dtype.itemsize
    made = rebuild_tensor(
        Tensor, untyped, dtype, storage_offset * width, size, tuple(s * width for s in stride), str(untyped.device),
        requires_grad, {},
    )  # fmt: skip
    for part in ("conj", "neg"):
        if metadata and metadata.get(part):
            made = getattr(made, part)()
    return made


def _rebuild_parameter(data: Any, requires_grad: bool, backward_hooks: Any) -> Any:
    return Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data: Any, requires_grad: bool, backward_hooks: Any, state: Any) -> Any:
    return set_state(_rebuild_parameter(data, requires_grad, backward_hooks), state)
