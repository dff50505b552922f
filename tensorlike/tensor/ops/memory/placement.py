"""Questions about where tensors lie, and functions of the same names as methods."""

from __future__ import annotations

from tensorlike.autograd.base import TensorBase, wrap
from tensorlike.autograd.grad_mode import grad_enabled
from tensorlike.tensor.attributes import get_device as _get_device
from tensorlike.tensor.backends import data_pointer, namespace_of
from tensorlike.tensor.declare import composite, tensor_method
from tensorlike.tensor.runtime import device_guard, write_out, wrong_type
from tensorlike.tensor.types import Number, Tensor
from tensorlike.tensor.views import detached

from ..indexing.masks import nonzero
from ..reductions.covariance import renorm

__all__ = ["detach", "get_device", "nonzero_static"]


@composite(guard=False)
def detach(input: Tensor) -> Tensor:
    """Return a tensor on the memory of `input` without history.

    >>> import tensorlike as tl
    >>> tl.detach(tl.ones(2, requires_grad=True)).requires_grad
    False

    Same as PyTorch's function of that name.
    """
    if not isinstance(input, TensorBase):
        wrong_type("detach", "input", 1, input)
    return detached(input)


@composite
def get_device(input: Tensor) -> int:
    """Return the index of the CUDA device that `input` is on, -1 on the CPU.

    >>> import tensorlike as tl
    >>> tl.get_device(tl.ones(2))
    -1

    Same as PyTorch's function of that name.
    """
    return _get_device(input)


@tensor_method(composite=False)
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Return whether both tensors show the same memory in the same shape, with the same steps.

    >>> import tensorlike as tl
    >>> x = tl.arange(4)
    >>> x.is_set_to(x.view(4)), x.is_set_to(x[1:])
    (True, False)

    Same as PyTorch's method of that name.
    """
    mine, other = self._tl_data, tensor._tl_data
    if type(mine) is not type(other) or mine.shape != other.shape or mine.strides != other.strides:
        return False
    return bool(data_pointer(mine) == data_pointer(other))


@composite(method=True)
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1, out: Tensor | None = None) -> Tensor:
    """Return the first `size` rows of `nonzero`, with rows of `fill_value` where there are fewer.

    Raises RuntimeError for a negative `size`.

    >>> import tensorlike as tl
    >>> tl.nonzero_static(tl.tensor([0, 1, 2]), size=3)
    tensor([[ 1],
            [ 2],
            [-1]])

    Same as PyTorch's function of that name.
    """
    if size < 0:
        raise RuntimeError(f"nonzero_static: 'size' must be an non-negative integer, got {size}")
    found = nonzero(input)._tl_data
    with device_guard(found):
        result = namespace_of(found).full((size, found.shape[1]), fill_value, dtype="int64")
        rows = min(size, found.shape[0])
        result[:rows] = found[:rows]
    return wrap(result) if out is None else write_out("nonzero_static", out, result, input, rule="exact")


@tensor_method
def renorm_(self: Tensor, p: Number, dim: int, maxnorm: Number) -> Tensor:
    """Scale each slice along `dim` whose `p`-norm exceeds `maxnorm` down to that norm, in place; return the tensor.

    >>> import tensorlike as tl
    >>> tl.tensor([[3.0, 4.0], [0.3, 0.4]]).renorm_(2, 0, 1)
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])

    Same as PyTorch's method of that name.
    """
    # What the operations save must not be overwritten.
    original = self.clone() if self._tl_tracked and grad_enabled() else self
    return self.copy_(renorm(original, p, dim, maxnorm))


@tensor_method(name="renorm")
def _renorm(self: Tensor, p: Number, dim: int, maxnorm: Number) -> Tensor:
    """Return this tensor with each slice along `dim` whose `p`-norm exceeds `maxnorm` scaled down to that norm.

    >>> import tensorlike as tl
    >>> tl.tensor([[3.0, 4.0], [0.3, 0.4]]).renorm(2, 0, 1)
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])

    Same as PyTorch's method of that name.
    """
    return renorm(self, p, dim, maxnorm)
