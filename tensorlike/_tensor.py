"""The class of tensors, and what pickles of its subclasses call, under PyTorch's module name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._utils import set_state
from .tensor import Tensor

__all__ = ["Tensor"]


def _rebuild_from_type_v2(func: Callable[..., Any], new_type: type, args: tuple[Any, ...], state: Any) -> Any:
    """Rebuild a tensor of a subclass, with its attributes."""
    result = func(*args)
    if type(result) is not new_type:
        result = result.as_subclass(new_type)
    if hasattr(new_type, "__setstate__"):
        result.__setstate__(state)
        return result
    return set_state(result, state)
