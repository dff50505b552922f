"""Tensors that modules register by themselves: parameters, and the buffers beside them."""

from __future__ import annotations

from typing import Any

import tensorlike as tl
from tensorlike.tensor import Tensor
from tensorlike.tensor.parameter import Parameter

__all__ = ["Buffer", "Parameter"]


class _BufferMeta(type(Tensor)):  # type: ignore[misc]
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False) is True


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that becomes a buffer of the module it is assigned to.

    `data` is the tensor (an empty one when None); with `persistent=False` the buffer stays out of `state_dict`.
    What the call returns is a plain tensor that shares memory with `data`.

    >>> import tensorlike as tl
    >>> module = tl.nn.Module()
    >>> module.scale = tl.nn.Buffer(tl.ones(2))
    >>> module.state_dict()["scale"]
    tensor([1., 1.])

    Source: PyTorch's `torch.nn.Buffer`.
    """

    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        if data is None:
            data = tl.empty(0)
        buffer: Any = data.detach().requires_grad_(data.requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer
