"""The names that extension code for PyTorch imports from its compiled module."""

from __future__ import annotations

from .dispatch import DisableTorchFunction, DisableTorchFunctionSubclass
from .dispatch.core import disabled_torch_dispatch as _disabled_torch_dispatch_impl
from .tensor.tensor import disabled_torch_function as _disabled_torch_function_impl

__all__ = [
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "_disabled_torch_dispatch_impl",
    "_disabled_torch_function_impl",
    "_log_api_usage_once",
]


def _log_api_usage_once(event: str) -> None:
    """Do nothing: reports of use have no listener here."""
