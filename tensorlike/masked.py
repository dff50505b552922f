"""Reductions and normalizations that leave out what a mask leaves out, under the names that PyTorch gives them.

A masked tensor as a type is not in here: `examples/masked_tensor.py` shows how one is written.
"""

from __future__ import annotations

from .tensor.namespaces import fill as _fill

__all__ = _fill(__name__)
