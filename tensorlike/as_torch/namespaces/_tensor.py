"""The class of tensors, and what pickles of its subclasses call, under PyTorch's module name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorlike.tensor import Tensor
from tensorlike.tensor.serialization import leaf_of_type

from ._utils import set_state

__all__ = ["Tensor"]


def _rebuild_from_type_v2(func: Callable[..., Any], new_type: type, args: tuple[Any, ...], state: Any) -> Any:
    """Rebuild a tensor of a subclass, with its attributes."""
    result = leaf_of_type(func(*args), new_type)
    own = getattr(new_type, "__setstate__", Tensor.__setstate__)
    if own is not Tensor.__setstate__:  # That of Tensor is for older pickles.
        result.__setstate__(state)
        return result
    return set_state(result, state)
