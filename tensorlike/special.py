"""Special functions, under the names of PyTorch's namespace."""

from __future__ import annotations

from .tensor.namespaces import fill as _fill

__all__ = _fill(__name__)
