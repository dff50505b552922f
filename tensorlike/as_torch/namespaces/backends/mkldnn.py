"""Switches of oneDNN, which is not used.

Same as PyTorch's module of that name.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import Any

from ._flags import FlagModule, switched
from .mkl import VERBOSE_OFF, VERBOSE_ON, verbose

__all__ = ["VERBOSE_OFF", "VERBOSE_ON", "flags", "is_available", "verbose"]

enabled = True
deterministic = False
allow_tf32 = False
fp32_precision = "none"
_FLAGS = {"enabled": bool, "deterministic": bool, "allow_tf32": bool, "fp32_precision": str}
_module: Any = sys.modules[__name__]
_module.__class__ = FlagModule


def is_available() -> bool:
    """Return whether oneDNN computes anything: False."""
    return False


def flags(
    enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True, fp32_precision: str = "none"
) -> AbstractContextManager[None]:
    """Set the switches for a block."""
    return switched(_module, {**locals()})
