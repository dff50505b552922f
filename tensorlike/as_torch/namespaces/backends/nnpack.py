"""Switches of NNPACK, which is not used.

Same as PyTorch's module of that name.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import Any

from ._flags import FlagModule, switched
from ._flags import set_flags as _set_flags

__all__ = ["flags", "is_available", "set_flags"]

enabled = True
_FLAGS = {"enabled": bool}
_module: Any = sys.modules[__name__]
_module.__class__ = FlagModule


def is_available() -> bool:
    """Return whether NNPACK computes anything: False."""
    return False


def set_flags(_enabled: bool) -> tuple[bool]:
    """Set whether NNPACK may be used; return what it was."""
    return (_set_flags(_module, {"enabled": _enabled})["enabled"],)


def flags(enabled: bool = False) -> AbstractContextManager[None]:
    """Set the switch for a block."""
    return switched(_module, {"enabled": enabled})
