"""Signal processing. Same as PyTorch's module of that name, which holds `windows`."""

from __future__ import annotations

from . import windows

__all__ = ["windows"]
