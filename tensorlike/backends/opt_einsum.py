"""Switches of `einsum`'s order of contractions. The package opt_einsum is not used: NumPy chooses the order.

Same as PyTorch's module of that name.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import Any

from ._flags import FlagModule, switched

__all__ = ["flags", "get_opt_einsum", "is_available"]


class _EinsumModule(FlagModule):
    def __setattr__(self, name: str, value: Any) -> None:
        if name == "enabled" and value:
            raise ValueError("opt_einsum is not used, so that `enabled` cannot be True: NumPy chooses the order")
        if name == "strategy" and value not in (None, "auto", "greedy", "optimal"):
            raise ValueError(f"`strategy` must be one of 'auto', 'greedy', 'optimal' and None, but is {value!r}")
        super().__setattr__(name, value)


enabled = False
strategy: str | None = None
_FLAGS = {"enabled": bool}
_module: Any = sys.modules[__name__]
_module.__class__ = _EinsumModule


def is_available() -> bool:
    """Return whether `einsum` uses the package opt_einsum: False."""
    return False


def get_opt_einsum() -> Any:
    """Return the package opt_einsum if it is used: None."""
    return None


def flags(enabled: bool | None = None, strategy: str | None = None) -> AbstractContextManager[None]:
    """Set the switches for a block."""
    return switched(_module, {"enabled": enabled, "strategy": strategy})
