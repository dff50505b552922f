"""The names that extension code written for PyTorch takes from its compiled module, and nothing else."""

from __future__ import annotations

from .dispatch import DisableTorchFunction, DisableTorchFunctionSubclass
from .tensor.tensor import disabled_torch_function as _disabled_torch_function_impl

__all__ = ["DisableTorchFunction", "DisableTorchFunctionSubclass", "_disabled_torch_function_impl"]
