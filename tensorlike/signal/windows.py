"""Windows for pieces of signals, under the names that PyTorch gives them."""

from __future__ import annotations

from ..tensor.namespaces import fill as _fill

__all__ = _fill(__name__)
