"""Special functions, under the names that PyTorch gives them in its own namespace of them."""

from __future__ import annotations

from .tensor.namespaces import fill as _fill

__all__ = _fill(__name__)
