"""The names that extension code for PyTorch imports from its compiled module."""

from __future__ import annotations

from typing import Any

from tensorlike._originals import tl
from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.dispatch import DisableTorchFunction, DisableTorchFunctionSubclass
from tensorlike.dispatch.core import disabled_torch_dispatch as _disabled_torch_dispatch_impl
from tensorlike.dispatch.modes import EnableTorchFunction as _EnableTorchFunction
from tensorlike.tensor.tensor import disabled_torch_function as _disabled_torch_function_impl

__all__ = [
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "TensorBase",
    "_EnableTorchFunction",
    "_TensorBase",
    "_disabled_torch_dispatch_impl",
    "_disabled_torch_function_impl",
    "_get_tracing_state",
    "_log_api_usage_once",
]

_TensorBase = TensorBase

#: Names of other modules, loaded when they are asked for: where each is from, and its name there.
_FROM = {
    "_LinAlgError": "linalg.LinAlgError", "Future": "futures.Future", "ScriptFunction": "jit.ScriptFunction",
    "ScriptModule": "jit.ScriptModule", "_nn": "nn.functional", "_linalg": "linalg", "_fft": "fft",
    "_special": "special", "_VariableFunctions": "",
    **{
        name: name
        for name in (
            "AcceleratorError", "Generator", "OutOfMemoryError", "Size", "default_generator", "device", "dtype",
            "finfo", "get_default_dtype", "get_num_interop_threads", "get_num_threads", "iinfo",
            "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "is_grad_enabled", "is_inference_mode_enabled",
            "layout", "memory_format", "set_flush_denormal", "set_num_interop_threads", "set_num_threads",
        )
    },
}  # fmt: skip


def _log_api_usage_once(event: str) -> None:
    """Do nothing: reports of use have no listener here."""


def _get_tracing_state() -> None:
    """Return the state of the trace that runs: None, as none does."""


def __getattr__(name: str) -> Any:
    where = _FROM.get(name)
    if where is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: Any = tl
    for part in where.split(".") if where else ():
        found = getattr(found, part)
    return found
