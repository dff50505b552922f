"""The placement of tensors: detaching, devices, and shared memory."""

from __future__ import annotations

from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.tensor.attributes import get_device as _get_device
from tensorlike.tensor.backends import data_pointer
from tensorlike.tensor.declare import composite, tensor_method
from tensorlike.tensor.runtime import wrong_type
from tensorlike.tensor.types import Tensor
from tensorlike.tensor.views import detached


@composite(guard=False, differentiable=False)
def detach(input: Tensor) -> Tensor:
    """Return a tensor that shares the memory of `input` and has no history.

    >>> tl.detach(tl.ones(2, requires_grad=True)).requires_grad
    False
    """
    if not isinstance(input, TensorBase):
        wrong_type("detach", "input", 1, input)
    return detached(input)


@composite(differentiable=False)
def get_device(input: Tensor) -> int:
    """Return the index of the CUDA device that `input` is on, -1 on the CPU.

    >>> tl.get_device(tl.ones(2))
    -1
    """
    return _get_device(input)


@tensor_method(composite=False, differentiable=False)
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Return whether both tensors have the same memory, shape and strides.

    >>> x = tl.arange(4)
    >>> x.is_set_to(x.view(4)), x.is_set_to(x[1:])
    (True, False)
    """
    mine, other = self._tl_data, tensor._tl_data
    if type(mine) is not type(other) or mine.shape != other.shape or mine.strides != other.strides:
        return False
    return bool(data_pointer(mine) == data_pointer(other))
