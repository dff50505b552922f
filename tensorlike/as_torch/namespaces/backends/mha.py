"""The switch of the fast path of attention layers, of which there is none.

Same as PyTorch's module of that name.
"""

from __future__ import annotations

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]

_enabled = [True]


def get_fastpath_enabled() -> bool:
    """Return whether a fast path may be used."""
    return _enabled[0]


def set_fastpath_enabled(value: bool) -> None:
    """Set whether a fast path may be used."""
    _enabled[0] = bool(value)
