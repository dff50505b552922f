"""Linear algebra: decompositions, solutions of equations, norms, under PyTorch's names."""

from __future__ import annotations

from .tensor.namespaces import fill as _fill
from .tensor.ops.linalg.checks import LinAlgError

__all__ = ["LinAlgError", *_fill(__name__)]
