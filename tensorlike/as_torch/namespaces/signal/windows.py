"""Window functions for frames of signals, under PyTorch's names."""

from __future__ import annotations

from tensorlike.tensor.declarations.namespaces import fill as _fill

__all__ = _fill(__name__)
