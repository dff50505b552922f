"""In-place methods as functions of the namespace: `tl.exp_(x)` is `x.exp_()`, and types receive `tl.exp_`.

They are made from the methods when they are asked for. No list of overridable functions has them, as in PyTorch, where
tensor types receive them all the same.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tensorlike.dispatch.forks import renew_after_fork
from tensorlike.dispatch.operation import Form, Operation
from tensorlike.dispatch.registry import REGISTRY, UNLISTED

from .declaration import Declaration
from .forms import inplace_function_of
from .python_forms import renamed_function

_METHODS = "tensorlike.Tensor."
_lock = threading.RLock()
renew_after_fork(globals(), "_lock")


def _is_function(method: Form) -> bool:
    """Return whether the in-place method `method` is a function of the namespace too."""
    declared = method.operation.inplace_function
    name = method.full_name.removeprefix(_METHODS)
    # Not the other methods, operators and properties of an operation.
    return declared in (True, name) and name.endswith("_") and not name.endswith("__")


def inplace_function(name: str) -> Callable[..., Any] | None:
    """Return the function of the namespace for the in-place method of that name, or None if there is none."""
    method = REGISTRY.get(_METHODS + name)
    return None if method is None or not _is_function(method) else _made(method).function


def inplace_functions(operation: Operation | None = None) -> list[Form]:
    """Return these functions of an operation, or all of them."""
    methods = REGISTRY.values() if operation is None else list(operation.forms)
    return [_made(method) for method in methods if method.full_name.startswith(_METHODS) and _is_function(method)]


def _made(method: Form) -> Form:
    full_name = "tensorlike." + method.full_name.removeprefix(_METHODS)
    with _lock:
        form = UNLISTED.get(full_name)
        if form is None:
            make = inplace_function_of if isinstance(method.operation, Declaration) else renamed_function
            form = UNLISTED[full_name] = make(method)
        return form
