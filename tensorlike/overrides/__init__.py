"""Overrides: introspection of overridable functions, and helpers for authors of tensor-like types."""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from tensorlike._above import above
from tensorlike._above import absent as _absent
from tensorlike.dispatch import (
    DisableTorchFunction,
    DisableTorchFunctionSubclass,
    SupportsTorchFunction,
    TorchFunctionMode,
    handle_torch_function,
    has_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
    overridable,
    wrap_torch_function,
)
from tensorlike.tensor.tensor import disabled_torch_function

from . import ignored as _ignored  # noqa: F401 - what it says is registered by importing it
from .explain import explain
from .introspection import (
    get_default_nowrap_functions,
    get_ignored_functions,
    get_overridable_functions,
    get_testing_overrides,
    is_tensor_like,
    is_tensor_method_or_property,
    resolve_name,
)
from .modes import BaseTorchFunctionMode
from .trace import trace

if TYPE_CHECKING:
    from tensorlike.audit import audit

    from .pairwise import register, unregister
    from .policies import refuse, rewrap, to_dense
    from .writing import TensorLike, implements

__all__ = [
    "BaseTorchFunctionMode",
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "SupportsTorchFunction",
    "TensorLike",
    "TorchFunctionMode",
    "audit",
    "disabled_torch_function",
    "explain",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "implements",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "overridable",
    "refuse",
    "register",
    "resolve_name",
    "rewrap",
    "to_dense",
    "trace",
    "unregister",
    "wrap_torch_function",
]

_LAZY = {
    "_get_current_function_mode": ".modes",
    "_get_current_function_mode_stack": ".modes",
    "TensorLike": ".writing",
    "implements": ".writing",
    "refuse": ".policies",
    "register": ".pairwise",
    "rewrap": ".policies",
    "to_dense": ".policies",
    "unregister": ".pairwise",
}


def __getattr__(name: str) -> Any:
    if name == "audit":
        module = above("audit")
    elif name in _LAZY:
        module = _import_module(_LAZY[name], __name__)
    else:
        return _absent(__name__, name)
    found = globals()[name] = getattr(module, name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
