"""The answers of tensors to queries about layouts, dtypes and devices that this library has none of.

Code written for any tensor asks before it goes on: `if x.is_sparse: ...`. The answer is always the same.
"""

from __future__ import annotations

import warnings
from typing import Any

from .declarations.declare import composite, tensor_method, tensor_property
from .tensor import Tensor


def _always_false(name: str, words: str) -> None:
    def getter(self: Tensor) -> bool:
        return False

    getter.__name__ = name
    getter.__qualname__ = f"Tensor.{name}"
    getter.__doc__ = f"Whether {words}: False for every plain tensor.\n\n>>> tl.ones(2).{name}\nFalse"
    tensor_property()(getter)


for _name, _words in (
    ("is_ipu", "the elements are on a Graphcore IPU"),
    ("is_maia", "the elements are on a Maia device"),
    ("is_mkldnn", "the elements lie in a layout of oneDNN"),
    ("is_mps", "the elements are on a Metal device"),
    ("is_mtia", "the elements are on an MTIA device"),
    ("is_nested", "the tensor holds a list of tensors"),
    ("is_quantized", "the elements are quantized"),
    ("is_sparse", "only elements that are not zero are stored"),
    ("is_sparse_csr", "only elements that are not zero are stored, by compressed rows"),
    ("is_vulkan", "the elements are on a Vulkan device"),
    ("is_xla", "the elements are on an XLA device"),
    ("is_xpu", "the elements are on an Intel GPU"),
):
    _always_false(_name, _words)


@tensor_property()
def volatile(self: Tensor) -> bool:
    """Whether no history is recorded, by a flag that went out of use: False, with a warning."""
    warnings.warn("volatile was removed (Variable.volatile is always False)", UserWarning, stacklevel=3)
    return False


@composite(method=True, guard=False, differentiable=False)
def is_distributed(input: Tensor) -> bool:
    """Return whether the elements are spread over several processes: False for every tensor.

    >>> tl.is_distributed(tl.ones(2))
    False
    """
    return False


@tensor_method(guard=False, differentiable=False)
def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Return whether the elements lie in memory that is locked for copies to a device: False for every tensor.

    >>> tl.ones(2).is_pinned()
    False
    """
    return False


@tensor_method(guard=False)
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """Raise RuntimeError: no memory is locked for copies to a device, here as in PyTorch where there is none.

    >>> tl.ones(2).pin_memory()
    Traceback (most recent call last):
    RuntimeError: pin_memory(): memory cannot be locked for copies to a device; leave the call out
    """
    raise RuntimeError("pin_memory(): memory cannot be locked for copies to a device; leave the call out")


@tensor_method(guard=False)
def is_coalesced(self: Tensor) -> bool:
    """Raise RuntimeError: only a sparse tensor has indices that may occur twice.

    >>> tl.ones(2).is_coalesced()
    Traceback (most recent call last):
    RuntimeError: is_coalesced expected sparse coordinate tensor layout but got Strided
    """
    raise RuntimeError("is_coalesced expected sparse coordinate tensor layout but got Strided")


@tensor_method(guard=False, differentiable=False)
def dense_dim(self: Tensor) -> int:
    """Return how many dimensions are stored whole: all of them.

    >>> tl.ones(2, 3).dense_dim()
    2
    """
    found: int = self._tl_data.ndim
    return found


@tensor_method(guard=False, differentiable=False)
def sparse_dim(self: Tensor) -> int:
    """Return how many dimensions are stored by their indices: none.

    >>> tl.ones(2, 3).sparse_dim()
    0
    """
    return 0


@tensor_method
def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """Return the tensor itself, which is stored whole, or a copy of another dtype.

    >>> tl.ones(2).to_dense()
    tensor([1., 1.])
    """
    return self if dtype is None else self.to(dtype)
