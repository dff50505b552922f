"""Public functions that no type can override, besides the factories, which are declared so.

# Note [The lists are PyTorch's]
`get_ignored_functions()` answers as PyTorch's does, so that a test suite written for one runs with the other. That is
not the set of what asks no type: PyTorch lists some functions that do ask (`asked`), classes and settings
(`without_operands`), and leaves out some that do not (`unlisted`). What really asks is in the registry, which the
audit, the suites and coverage count by.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorlike import _build, _settings, compiler, futures, symbolic
from tensorlike._originals import tl
from tensorlike.autograd.anomaly import is_anomaly_check_nan_enabled, is_anomaly_enabled
from tensorlike.autograd.grad_mode import is_grad_enabled, is_inference_mode_enabled
from tensorlike.dispatch import (
    handle_torch_function,
    has_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
    overridable,
)
from tensorlike.dispatch.registry import ignore
from tensorlike.serialization import load, save
from tensorlike.tensor.conversion.printing import set_printoptions
from tensorlike.tensor.creation.device_context import get_default_device, set_default_device
from tensorlike.tensor.creation.legacy_types import set_default_tensor_type
from tensorlike.tensor.dtypes import get_default_dtype, set_default_dtype
from tensorlike.tensor.tensor import Tensor

__all__ = ["asked", "unlisted", "without_operands"]

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
    set_default_tensor_type=set_default_tensor_type,
    set_printoptions=set_printoptions,
    **{name: getattr(_settings, name) for name in _settings.__all__},
    **{name: getattr(_build, name) for name in ("get_device_module", "is_vulkan_available", "set_flush_denormal")},
)
_ignore_all(
    "takes a function, whose own calls can be overridden",
    compile=compiler.compile,
    fork=futures.fork,
    wait=futures.wait,
)
_ignore_all(
    "takes a size, which is a plain number",
    sym_constrain_range=symbolic.sym_constrain_range,
    sym_fresh_size=symbolic.sym_fresh_size,
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
    "gives a result its type, inside implementations and out of them; asking would ask the same type again",
    **{"Tensor.as_subclass": Tensor.as_subclass},
)
_ignore_all(
    "of the array API standard: types are asked by the functions of the namespace, and by Tensor.to",
    **{f"Tensor.{name}": getattr(Tensor, name) for name in ("__array_namespace__", "to_device")},
)
_ignore_all(
    _PYTHON,
    **{
        f"Tensor.{name}": getattr(Tensor, name)
        for name in ("__delitem__", "__dir__", "__hash__", "__iter__", "__new__")
    },
)


def asked() -> set[Any]:
    """Return the functions that PyTorch lists as ignored and that ask types all the same, there and here."""
    functional = tl.nn.functional
    return {
        Tensor.new,
        Tensor.new_empty,
        Tensor.new_empty_strided,
        Tensor.new_full,
        Tensor.new_ones,
        Tensor.new_tensor,
        Tensor.new_zeros,
        Tensor.stride,
        Tensor.unflatten,
        functional.hardsigmoid,
        functional.hardswish,
        tl.as_strided,
        tl.fill,
        tl.normal,
        tl.rand_like,
        tl.randint_like,
        tl.randn_like,
        tl.result_type,
        tl.vander,
    }


def without_operands() -> set[Any]:
    """Return the classes, contexts and methods of `object` that PyTorch lists as ignored."""
    return {
        Tensor.__class__,
        Tensor.__delattr__,
        Tensor.__getattribute__,
        Tensor.__init__,
        Tensor.__setattr__,
        Tensor.__subclasshook__,
        Tensor._make_subclass,
        handle_torch_function,
        has_torch_function,
        has_torch_function_unary,
        has_torch_function_variadic,
        tl.default_generator,
        tl.device,
        tl.dtype,
        tl.enable_grad,
        tl.finfo,
        tl.iinfo,
        tl.inference_mode,
        tl.layout,
        tl.memory_format,
        tl.no_grad,
        tl.set_grad_enabled,
        tl.vmap,
    }


def unlisted() -> set[Any]:
    """Return the functions that ask no type and that PyTorch lists nowhere."""
    windows: Any = tl.signal.windows
    return {tl.from_dlpack, tl.to_dlpack, set_default_dtype, *(getattr(windows, name) for name in windows.__all__)}
