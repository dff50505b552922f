"""Filling the public namespaces from the registry."""

from __future__ import annotations

import importlib
from types import ModuleType, NoneType
from typing import Any

from tensorlike.dispatch.registry import IGNORED, REGISTRY

#: The modules that get their functions from the registry.
FILLED: list[str] = []


def public_names(namespace: str) -> dict[str, Any]:
    """Return the public functions that belong in a namespace, overridable and ignored ones."""
    found: dict[str, Any] = {}
    for row in REGISTRY.values():
        if row.namespace == namespace and "." not in row.name and row.kind in ("function", "alias"):
            found[row.name] = row.function
    for name, (function, _) in IGNORED.items():
        space, _, short = name.rpartition(".")
        if space == namespace:
            found[short] = function
    return found


def fill(namespace: str) -> list[str]:
    """Set the public functions of the module `namespace`; return their names."""
    module = importlib.import_module(namespace)
    names = public_names(namespace)
    if namespace not in FILLED:
        FILLED.append(namespace)
    for name, function in names.items():
        # In the namespace `tensorlike` the name of the package `tensorlike.tensor` is that of the function.
        if isinstance(module.__dict__.get(name), (ModuleType, NoneType)):
            setattr(module, name, function)
    return sorted(names)
