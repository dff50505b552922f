"""Linear algebra: decompositions, solutions of equations, norms, under PyTorch's names."""

from __future__ import annotations

from tensorlike._absent import explain_absent_names as _explain_absent_names

from .operations.linalg.checks import LinAlgError
from .tensor.declarations.namespaces import fill as _fill

_explain_absent_names(__name__)

__all__ = ["LinAlgError", *_fill(__name__)]
