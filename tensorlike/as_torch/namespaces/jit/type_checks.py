"""`jit.isinstance`: whether a value is of a type such as `List[int]`, by its elements."""

from __future__ import annotations

import types
import typing
import warnings
from collections.abc import Container
from typing import Any

__all__ = ["has_type"]

_CONTAINERS = {list: "[int]", dict: "[int, int]", tuple: "[int]"}


def _matches(value: Any, kind: Any) -> bool:
    """Return whether a value is of a type, whose parameters are asked of each element."""
    if kind is None or kind is Any:
        return kind is Any or value is None
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Union or isinstance(kind, types.UnionType):
        return any(_matches(value, one) for one in arguments)
    bare = origin or kind
    if bare in _CONTAINERS and not arguments and kind is not tuple[()]:
        name = getattr(kind, "__name__", str(kind))
        types_ = "contained types" if bare is dict else "a contained type"
        raise RuntimeError(
            f"Attempted to use {name} without {types_}. Please add {types_}, e.g. {name}{_CONTAINERS[bare]}"
        )
    if origin is None:
        return isinstance(value, kind)
    if origin not in _CONTAINERS:
        return isinstance(value, origin)
    if not isinstance(value, origin):
        return False
    if not value:
        warnings.warn(
            f"jit.isinstance(): an empty {origin.__name__} is of the type {kind} whatever its elements would be",
            stacklevel=4,
        )
    if origin is dict:
        return all(_matches(k, arguments[0]) and _matches(v, arguments[1]) for k, v in value.items())
    if origin is tuple and not (len(arguments) == 2 and arguments[1] is ...):
        return len(value) == len(arguments) and all(map(_matches, value, arguments))
    return all(_matches(item, arguments[0]) for item in value)


def has_type(obj: Any, target_type: Any) -> bool:
    """Return whether `obj` is of a type, or of one of a tuple of types; containers are asked for their elements.

    Raises RuntimeError for a container without the type of its elements.

    >>> from typing import List
    >>> tl.jit.isinstance([1, 2], List[int]), tl.jit.isinstance([1, "a"], List[int])
    (True, False)
    """
    if isinstance(target_type, Container):
        if not isinstance(target_type, tuple):
            raise RuntimeError("jit.isinstance(): the second argument must be a type or a tuple of types")
        return any(has_type(obj, one) for one in target_type)
    return _matches(obj, target_type)
