"""Module attributes that are absent: the error says why, where PyTorch has the name."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["explain_absent_names"]


def explain_absent_names(module: str) -> None:
    """Have attributes that a module lacks answered by `tensorlike.as_torch.absent`."""

    def __getattr__(name: str) -> Any:
        if name[:2] == "__":  # Such as `__path__`, which every import asks for.
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
        from tensorlike.as_torch.absent import absent

        return absent(module, name)

    # Not by a definition in the module, from which type checkers would conclude that it has every name.
    vars(sys.modules[module])["__getattr__"] = __getattr__
