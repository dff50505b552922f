"""The names that extension code for PyTorch imports from its compiled module."""

from __future__ import annotations

from .dispatch import DisableTorchFunction, DisableTorchFunctionSubclass
from .tensor.tensor import disabled_torch_function as _disabled_torch_function_impl

__all__ = ["DisableTorchFunction", "DisableTorchFunctionSubclass", "_disabled_torch_function_impl"]
