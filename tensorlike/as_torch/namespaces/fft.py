"""Discrete Fourier transforms, under PyTorch's names."""

from __future__ import annotations

from tensorlike._above import explain_absent_names as _explain_absent_names
from tensorlike.tensor.declarations.namespaces import fill as _fill

_explain_absent_names(__name__)

__all__ = _fill(__name__)
