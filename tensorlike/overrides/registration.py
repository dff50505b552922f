"""Shared by the registration for a type and for a pair of types: finding the function, and checking the signature."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorlike._library_name import own_name, spoken_name
from tensorlike.dispatch.errors import function_name
from tensorlike.dispatch.missing import MISSING
from tensorlike.dispatch.operation import Form, form_of
from tensorlike.dispatch.registry import IGNORED, REGISTRY, registered
from tensorlike.dispatch.signature import POSITIONAL, VARIADIC, Parameter, parameters_of

from .variants import equal

__all__ = ["check_signature", "implementation_name", "plain_function", "resolved", "same_implementation"]

# Functions written in C do not dispatch to our types, and neither do classes.
_NEVER = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, np.ufunc, type)


def resolved(caller: str, func: object) -> tuple[Form | None, Any]:
    """Return the row of an overridable function, None for one of another package, and the `func` that types receive."""
    if isinstance(func, property):
        func = func.__get__
    if callable(func):
        form = registered(func)
        if form is not None:
            asked = form.reports or form
            return asked, asked.key
        for function, reason in IGNORED.values():
            if function is func:
                raise TypeError(f"{caller}: {function_name(func)} cannot be overridden: it {reason}")
    if not callable(func):
        meant = REGISTRY.get(own_name(func) if "." in func else f"tensorlike.{func}") if isinstance(func, str) else None
        cure = "" if meant is None else f"; pass the function itself, {spoken_name(meant.full_name)}"
        raise TypeError(f"{caller}: argument 'func' must be an overridable function, got {func!r}{cure}")
    asks = form_of(func) is not None or getattr(func, "_dispatcher", None) is not None
    ours = own_name(str(getattr(func, "__module__", ""))).partition(".")[0] == "tensorlike"
    if not asks and (ours or isinstance(func, _NEVER)):
        meant = None if isinstance(func, type) else REGISTRY.get(f"tensorlike.{getattr(func, '__name__', '')}")
        cure = "" if meant is None else f"; {spoken_name(meant.full_name)} can"
        raise TypeError(f"{caller}: {function_name(func)} cannot be overridden: it asks no type about its calls{cure}")
    return None, func


def plain_function(caller: str, implementation: object) -> Any:
    """Return an implementation without its `staticmethod`; raise TypeError unless it can be called directly."""
    if isinstance(implementation, staticmethod):
        implementation = implementation.__func__
    if isinstance(implementation, classmethod):
        raise TypeError(f"{caller}: the implementation is called without the class; leave out @classmethod")
    if not callable(implementation):
        raise TypeError(f"{caller}: the implementation must be callable, got {implementation!r}")
    return implementation


def implementation_name(implementation: object) -> str:
    """Return the dotted name of an implementation, to be shown."""
    module, name = (getattr(implementation, attribute, None) for attribute in ("__module__", "__qualname__"))
    return f"{module}.{name}" if module and name else repr(implementation)


def same_implementation(one: object, other: object) -> bool:
    """Return whether `other` is `one` defined again, as when a notebook's cell runs twice or a module is reloaded."""
    if one is other:
        return True
    name = getattr(one, "__qualname__", None)
    if name is None or (name, one.__module__) != tuple(getattr(other, a, None) for a in ("__qualname__", "__module__")):
        return False
    if name.rpartition(".")[2] not in ("<lambda>", "_"):
        return True
    # A scope can have many of these: only the same line of the same file is the same one.
    code, second = getattr(one, "__code__", None), getattr(other, "__code__", None)
    lines = [(c.co_filename, c.co_firstlineno) for c in (code, second) if c is not None]
    return len(lines) == 2 and lines[0] == lines[1]


def _parameters(function: Any) -> tuple[Parameter, ...] | None:
    if isinstance(function, Form):
        return function.parameters
    function = inspect.unwrap(function)
    return parameters_of(function) if inspect.isfunction(function) else None


def check_signature(caller: str, function: Any, implementation: Callable[..., Any]) -> None:
    """Raise TypeError unless `implementation` accepts every parameter of `function`, by name, kind and default."""
    wanted = _parameters(function)
    try:
        given = list(inspect.signature(implementation).parameters.values())
    except (TypeError, ValueError):  # Written in C, without a signature.
        return
    if wanted is None:
        return
    kinds = inspect.Parameter
    positional = [p for p in given if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    named = {p.name: p for p in given if p.kind in (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY)}
    takes_rest = any(p.kind == kinds.VAR_POSITIONAL for p in given)
    takes_names = any(p.kind == kinds.VAR_KEYWORD for p in given)
    missing: list[str] = []
    faults: list[str] = []
    used: set[str] = set()
    for index, p in enumerate(wanted):
        if p.kind == VARIADIC:
            if not takes_rest:
                missing.append(f"'*{p.name}'")
            continue
        if p.kind == POSITIONAL and p.name == "self" and (takes_rest or index < len(positional)):
            used.update(q.name for q in positional[index : index + 1])  # It is not passed by name.
            continue
        found = named.get(p.name)
        if found is None and any(q.name == p.name for q in positional[index : index + 1]):
            faults.append(f"'{p.name}' takes no keyword")
            used.add(p.name)
            continue
        if found is None:
            if not (takes_names and (p.kind != POSITIONAL or (takes_rest and len(positional) <= index))):
                missing.append(f"'{p.name}'")
            continue
        used.add(found.name)
        if p.kind == POSITIONAL and found not in positional[index : index + 1]:
            words = "comes at another position" if found in positional else "takes no positional argument"
            faults.append(f"'{p.name}' {words}")
        elif p.default is not MISSING and not equal(found.default, p.default):
            words = "no default" if found.default is kinds.empty else f"the default {found.default!r}"
            faults.append(f"'{p.name}' has {words} and not {p.default!r}")
    for parameter in given:
        takes_one = parameter.kind not in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD)
        required = takes_one and parameter.default is kinds.empty
        if required and parameter.name not in used:
            faults.append(f"'{parameter.name}' is no parameter of it and has no default")
    words = "; ".join([*(["missing " + ", ".join(missing)] if missing else []), *faults])
    if words:
        name = spoken_name(function.full_name) if isinstance(function, Form) else function_name(function)
        label = getattr(implementation, "__name__", repr(implementation))
        raise TypeError(f"{caller}: {label}() must accept every parameter of {name}: {words}")
