"""A type that is no tensor, holds one, and answers every function."""

from __future__ import annotations

from typing import Any

import tensorlike as tl


class Held:
    """A tensor in a box. Every function is computed on what the boxes hold."""

    def __init__(self, held: Any) -> None:
        self.held = held

    def __repr__(self) -> str:
        return "Held(...)"

    @classmethod
    def __tensorlike_from_dense__(cls, tensor: Any) -> Held:
        return cls(tensor)

    def __tensorlike_to_dense__(self) -> Any:
        return self.held

    @classmethod
    def open(cls, value: Any) -> Any:
        if isinstance(value, Held):
            return value.held
        if isinstance(value, (list, tuple)):
            return type(value)(cls.open(item) for item in value)
        return value

    @classmethod
    def close(cls, value: Any) -> Any:
        if isinstance(value, tl.Tensor):
            return cls(value)
        if type(value) in (list, tuple):
            return type(value)(map(cls.close, value))
        return value

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = {name: cls.open(value) for name, value in (kwargs or {}).items()}
        return cls.close(func(*map(cls.open, args), **kwargs))


def raw(value: Any) -> Any:
    return Held.open(value).numpy() if isinstance(value, (tl.Tensor, Held)) else value
