"""The words of a dispatch that failed: who was asked, in which order, and what to do."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

__all__ = ["function_name", "no_implementation", "runaway"]

_RUNAWAY_DEPTH = 8


def function_name(function: Callable[..., Any]) -> str:
    """Return the public dotted name of an overridable function, property getters included."""
    owner = getattr(function, "__self__", None)
    getter = getattr(owner, "fget", None)
    if getter is not None:  # `Tensor.shape.__get__` is a method of the property object.
        return f"{getter.__module__}.{getter.__qualname__}.{function.__name__}"
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None) or repr(function)
    return f"{module}.{name}" if module else name


def _names(types: tuple[type, ...]) -> str:
    return ", ".join(t.__name__ for t in types)


def no_implementation(function: Callable[..., Any], types: tuple[type, ...], mode: Any) -> TypeError:
    """Return the TypeError for a call that every implementation asked answered with NotImplemented."""
    name = function_name(function)
    text = f"no implementation found for '{name}' on types that implement __torch_function__: [{_names(types)}]"
    if mode is not None:
        text += f"\nThe mode {type(mode).__name__} was asked first and returned NotImplemented."
    if len(types) > 1:
        text += f"\nAsked in this order, each returned NotImplemented: {_names(types)}."
    elif types:
        text += f"\n{types[0].__name__}.__torch_function__ was asked and returned NotImplemented."
    own = [t for t in types if not _is_default(t)]
    if len(types) > 1 and not own:
        first, second = types[0].__name__, types[1].__name__
        text += (
            f"\n{first} and {second} are unrelated subclasses, and the default __torch_function__ does not choose "
            f"between them. Make one a subclass of the other, give one a __torch_function__ that knows both, or "
            f"convert an operand, e.g. with .as_subclass({first})."
        )
    elif own:
        text += (
            f"\nHandle {name} in {own[0].__name__}.__torch_function__, or convert the operands to tensors before "
            f"the call."
        )
    else:
        text += "\nLet the mode answer it, e.g. with `return func(*args, **(kwargs or {}))`."
    return TypeError(text)


def _is_default(kind: type) -> bool:
    from . import core

    return getattr(kind.__torch_function__, "__func__", None) is core._default_implementation  # type: ignore[attr-defined]


def runaway(
    error: RecursionError, function: Callable[..., Any], types: tuple[type, ...], code: CodeType
) -> RecursionError:
    """Return `error` itself, or one that names the cure when the same call came back through the same types."""
    if getattr(error, "_names_the_cure", False):
        return error
    depth = 0
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and depth < _RUNAWAY_DEPTH:
        if frame.f_code is code:
            local = frame.f_locals
            if local["function"] == function and local["types"] == types:
                depth += 1
        frame = frame.f_back
    if depth < _RUNAWAY_DEPTH:
        return error
    name, kind = function_name(function), types[0].__name__ if types else "the mode"
    found = RecursionError(
        f"'{name}' came back to {kind}.__torch_function__ again and again: the implementation calls the function on "
        f"the same operands, which asks {kind} once more. Inside it, call super().__torch_function__(func, types, "
        f"args, kwargs) for a Tensor subclass, or take the plain tensors out of the operands before calling func."
    )
    found._names_the_cure = True  # type: ignore[attr-defined]  # Outer frames let it pass.
    return found
