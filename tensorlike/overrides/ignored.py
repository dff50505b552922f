"""Public functions that no type can override, besides the factories, which are declared so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorlike.autograd.anomaly import is_anomaly_check_nan_enabled, is_anomaly_enabled
from tensorlike.autograd.grad_mode import is_grad_enabled, is_inference_mode_enabled
from tensorlike.dispatch.api import overridable
from tensorlike.dispatch.registry import ignore
from tensorlike.serialization import load, save
from tensorlike.tensor.device_context import get_default_device, set_default_device
from tensorlike.tensor.dtypes import get_default_dtype, set_default_dtype
from tensorlike.tensor.printing import set_printoptions
from tensorlike.tensor.tensor import Tensor

__all__: list[str] = []

_SETTING = "reads or changes a setting; no tensor takes part"
_MACHINERY = "is what the protocol itself is made of"
_PYTHON = "is Python's own; what it calls can be overridden"


def _ignore_all(reason: str, **functions: Callable[..., Any]) -> None:
    for name, function in functions.items():
        ignore(function, f"tensorlike.{name}", reason)


_ignore_all(
    _SETTING,
    get_default_device=get_default_device,
    get_default_dtype=get_default_dtype,
    is_anomaly_check_nan_enabled=is_anomaly_check_nan_enabled,
    is_anomaly_enabled=is_anomaly_enabled,
    is_grad_enabled=is_grad_enabled,
    is_inference_mode_enabled=is_inference_mode_enabled,
    set_default_device=set_default_device,
    set_default_dtype=set_default_dtype,
    set_printoptions=set_printoptions,
)
_ignore_all(
    "reads or writes a file; the tensors in it are pickled, which types take part in by __reduce_ex__",
    load=load,
    save=save,
)
_ignore_all(
    _MACHINERY,
    overridable=overridable,
    **{f"Tensor.{name}": getattr(Tensor, name) for name in ("__init_subclass__", "__torch_function__")},
)
_ignore_all(
    _PYTHON,
    **{
        f"Tensor.{name}": getattr(Tensor, name)
        for name in ("__delitem__", "__dir__", "__hash__", "__iter__", "__new__")
    },
)
