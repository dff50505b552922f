"""Objects that a package is provided with by those above it.

# Note [Provided from above]
Imports point one way, and a package still calls functions of packages above it: the engine adds arrays, dispatch runs
the default implementation of Tensor. Such a package has one `Provided` object with an attribute for each of them, which
the package above sets when it is imported. It is set once, and again only by the same module: an interrupt may end an
import, which then starts anew. An attribute that was not set raises when it is called; where None has a meaning, as
before transforms are used, the class sets it in `__init__`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


class _Unset:
    """Stands for what was not set."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *args: int, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"{self._name} is not set: import tensorlike.tensor, which provides it")

    def __getattr__(self, name: str) -> NoReturn:
        self()


class Provided:
    """The base of the objects that hold what is provided; a subclass names the attributes in `__slots__`."""

    # Calling what a slot holds takes 8 ns more than calling a global.
    __slots__ = ()

    def __init__(self) -> None:
        name: str
        for name in type(self).__slots__:
            object.__setattr__(self, name, _Unset(f"{type(self).__name__}.{name}"))

    def __setattr__(self, name: str, value: Any) -> None:
        found = getattr(self, name)
        if found is not None and type(found) is not _Unset and _origin(found) != _origin(value):
            raise RuntimeError(f"{type(self).__name__}.{name} is set already")
        object.__setattr__(self, name, value)


def _origin(value: Callable[..., Any]) -> tuple[str | None, str | None]:
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    return getattr(value, "__module__", None), name
