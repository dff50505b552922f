"""Handles to registered hooks, under PyTorch's module name."""

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from tensorlike._above import explain_absent_names
from tensorlike.autograd.hooks import RemovableHandle, register_hook
from tensorlike.tensor import Tensor

explain_absent_names(__name__)

__all__ = ["RemovableHandle", "register_hook", "unserializable_hook", "warn_if_has_hooks"]

Hook = TypeVar("Hook", bound=Callable[..., Any])


def unserializable_hook(f: Hook) -> Hook:
    """Return a hook of tensors, marked as one that is not missed where a pickle has the tensor without it."""
    f.__torch_unserializable__ = True  # type: ignore[attr-defined]
    return f


def warn_if_has_hooks(tensor: "Tensor") -> None:
    """Warn of hooks of a tensor that a pickle would not have, unless marked by `unserializable_hook`."""
    for hook in (tensor._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized. If this is expected, you can decorate the "
                "function with @torch.utils.hooks.unserializable_hook to suppress this warning",
                stacklevel=2,
            )
