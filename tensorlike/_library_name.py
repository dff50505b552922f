"""The name by which texts call this library: `tensorlike`, and `torch` while it is installed under that name.

Texts are put together from `LIBRARY`, as in `f"{LIBRARY}.float32"`: this is the one place that knows the name.
"""

from __future__ import annotations

import sys
from typing import Any, Final

__all__ = ["LIBRARY", "own_name", "pytorch", "spoken_name"]

_OURS: Final = "tensorlike"


class _LibraryName:
    """The name, which `tensorlike.as_torch` changes."""

    __slots__ = ("name",)

    def __init__(self) -> None:
        self.name = _OURS

    def __str__(self) -> str:
        return self.name


LIBRARY: Final = _LibraryName()


def _renamed(name: str, old: str, new: str) -> str:
    first, dot, rest = name.partition(".")
    return f"{new}{dot}{rest}" if first == old else name


def spoken_name(name: str) -> str:
    """Return a dotted name of this library as texts give it: `torch.add` for `tensorlike.add` while installed so."""
    return _renamed(name, _OURS, LIBRARY.name)


def own_name(name: str) -> str:
    """Return a dotted name that may come from a text as this library itself has it: the reverse of `spoken_name`."""
    return _renamed(name, LIBRARY.name, _OURS)


def pytorch() -> Any:
    """Return PyTorch's own module where it is imported; None also where `torch` is this library."""
    return sys.modules.get("torch") if LIBRARY.name == _OURS else None
