"""Dispatch of calls to modes and overriding types. Knows Python types, not arrays or gradients."""

from .api import (
    handle_torch_function,
    has_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
    overridable,
    wrap_torch_function,
)
from .core import overriding_types
from .missing import MISSING
from .modes import DisableTorchFunction, DisableTorchFunctionSubclass, TorchFunctionMode, current_modes
from .protocol import SupportsTorchFunction

__all__ = [
    "MISSING",
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "SupportsTorchFunction",
    "TorchFunctionMode",
    "current_modes",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "overridable",
    "overriding_types",
    "wrap_torch_function",
]
