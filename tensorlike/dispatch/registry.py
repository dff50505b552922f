"""The registry of public functions, the source of introspection, stubs, tests and the audit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .operation import Form, form_of

#: Every public function by its full name, in the order of declaration.
REGISTRY: dict[str, Form] = {}

#: Public callables that cannot be overridden, by full name, with the reason.
IGNORED: dict[str, tuple[Callable[..., Any], str]] = {}


#: Public functions that are made when they are asked for and that no list has, as in PyTorch: `tl.exp_`.
UNLISTED: dict[str, Form] = {}


def register(form: Form, *, replace: bool = False) -> None:
    """Add `form` to the registry; two functions of one name are an error of the declaration."""
    name = form.full_name
    if name in REGISTRY and not replace:
        raise ValueError(f"{name} is declared twice")
    REGISTRY[name] = form


def unregister(form: Form) -> None:
    """Remove `form` from the registry, if it is there."""
    if REGISTRY.get(form.full_name) is form:
        del REGISTRY[form.full_name]


def registered(function: Any) -> Form | None:
    """Return the form of a function, or of a property's `__get__` or `__set__`, if it is a public one."""
    form = form_of(function)
    return form if form is not None and form in (REGISTRY.get(form.full_name), UNLISTED.get(form.full_name)) else None


def ignore(function: Callable[..., Any], full_name: str, reason: str) -> None:
    """Record that a public callable cannot be overridden, and why."""
    IGNORED[full_name] = (function, reason)


def moving(*kinds: str) -> list[Any]:
    """Return a function of each operation whose dimensions move so: see Note [How dimensions move]."""
    return list({form.operation: form.key for form in REGISTRY.values() if form.operation.dims.kind in kinds}.values())
