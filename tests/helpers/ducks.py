"""Types that are no tensors and record what they are asked."""

from __future__ import annotations

from typing import Any, NamedTuple

ANSWER = object()


class Call(NamedTuple):
    func: Any
    types: tuple[type, ...]
    args: tuple[Any, ...]
    kwargs: Any


class Duck:
    """Answers every function with ANSWER and keeps the call; nothing here is a tensor."""

    calls: list[Call] = []

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        Duck.calls.append(Call(func, types, args, kwargs))
        return ANSWER


class Refuser:
    """Leaves every function to others."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return NotImplemented


def recorded(call: Any, *args: Any, **kwargs: Any) -> tuple[Any, list[Call]]:
    """Call `call` and return its result and what Duck was asked meanwhile."""
    Duck.calls.clear()
    try:
        result = call(*args, **kwargs)
        return result, list(Duck.calls)
    finally:
        Duck.calls.clear()


def identical(one: Any, other: Any) -> bool:
    """Return whether two argument lists hold the same objects in the same places."""
    if isinstance(one, (tuple, list)) and type(one) is type(other) and len(one) == len(other):
        return one is other or all(identical(a, b) for a, b in zip(one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(identical(one[k], other[k]) for k in one)
    return one is other


def recorder(name: str, answer: Any = None, bases: tuple[type, ...] = (object,)) -> Any:
    """A class whose __torch_function__ notes (class name, func, types, args, kwargs) in `calls`."""
    calls: list[Any] = []

    def __torch_function__(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        calls.append((cls.__name__, func, types, args, kwargs))
        return answer

    made: Any = type(name, bases, {"__torch_function__": classmethod(__torch_function__)})
    made.calls = calls
    return made
