"""Module attributes that are absent: the error says why, where PyTorch has the name."""

from __future__ import annotations

import sys
from typing import Any

from tensorlike._above import above

__all__ = ["absent", "explain_absent_names"]


def absent(module: str, name: str) -> Any:
    """Answer an attribute that a module lacks: an error with the reason, or a placeholder. See `as_torch.absent`."""
    return above("as_torch.absent").absent(module, name)


def explain_absent_names(module: str) -> None:
    """Have attributes that a module lacks answered by `tensorlike.as_torch.absent`."""

    def __getattr__(name: str) -> Any:
        if name[:2] == "__":  # Such as `__path__`, which every import asks for.
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
        return absent(module, name)

    # Not by a definition in the module, from which type checkers would conclude that it has every name.
    vars(sys.modules[module])["__getattr__"] = __getattr__
