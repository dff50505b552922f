"""The size of a tensor, as Python values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.tensor.declare import composite, tensor_method

if TYPE_CHECKING:
    from tensorlike.tensor.tensor import Tensor


def _checked(value: Any, function: str, argument: str = "input", position: int = 1) -> Any:
    if not isinstance(value, TensorBase):
        raise TypeError(
            f"{function}(): argument '{argument}' (position {position}) must be Tensor, not {type(value).__name__}"
        )
    return value


@composite(guard=False, method=True, differentiable=False)
def numel(input: Tensor) -> int:
    """Return the number of elements.

    >>> tl.numel(tl.ones(2, 3))
    6
    """
    return int(_checked(input, "numel")._tl_data.size)


@tensor_method(composite=False, differentiable=False)
def nelement(self: Tensor) -> int:
    """Return the number of elements, as `numel` does.

    >>> tl.ones(2, 3).nelement()
    6
    """
    return int(self._tl_data.size)


@composite(guard=False, method=True, differentiable=False)
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Return whether two tensors have the same shape.

    >>> tl.is_same_size(tl.ones(2), tl.ones(3))
    False
    """
    shape = _checked(input, "is_same_size")._tl_data.shape
    return bool(shape == _checked(other, "is_same_size", "other", 2)._tl_data.shape)

