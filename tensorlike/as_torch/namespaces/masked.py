"""Reductions and normalizations of the elements that a mask selects, under PyTorch's names.

There is no masked tensor type; `examples/gallery/masked_tensor.py` shows how to write one.
"""

from __future__ import annotations

from tensorlike._above import explain_absent_names as _explain_absent_names
from tensorlike.tensor.declarations.namespaces import fill as _fill

_explain_absent_names(__name__)

__all__ = _fill(__name__)
