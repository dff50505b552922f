"""Reductions and normalizations of the elements that a mask selects, under PyTorch's names.

There is no masked tensor type; `examples/masked_tensor.py` shows how to write one.
"""

from __future__ import annotations

from .tensor.namespaces import fill as _fill

__all__ = _fill(__name__)
