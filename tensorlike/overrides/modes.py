"""Base classes of modes."""

from __future__ import annotations

from typing import Any

from tensorlike.dispatch import TorchFunctionMode, current_modes

__all__ = ["BaseTorchFunctionMode", "_get_current_function_mode", "_get_current_function_mode_stack"]


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that passes every call on unchanged: a base class for modes that change some calls.

    >>> class NoProducts(tl.overrides.BaseTorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         if func is tl.mul:
    ...             return "a product"
    ...         return super().__torch_function__(func, types, args, kwargs)
    >>> with NoProducts():
    ...     tl.mul(tl.ones(1), 2), tl.add(tl.ones(1), 2)
    ('a product', tensor([3.]))
    """

    def __torch_function__(
        self, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_function_mode() -> Any:
    """Return the innermost mode that is active, or None."""
    modes = current_modes()
    return modes[-1] if modes else None


def _get_current_function_mode_stack() -> list[Any]:
    """Return the modes that are active, the outermost first."""
    return list(current_modes())
