"""Signal processing. Same as PyTorch's module of that name, which holds `windows`."""

from __future__ import annotations

from tensorlike._above import explain_absent_names

from . import windows

explain_absent_names(__name__)

__all__ = ["windows"]
