"""Arguments that are one number or one for each dimension."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["repeated"]


def repeated(value: Any, count: int) -> tuple[Any, ...]:
    """Return `value` as a tuple: itself if it is iterable, else `count` times.

    >>> repeated(3, 2), repeated([1, 2], 2)
    ((3, 3), (1, 2))
    """
    return tuple(value) if isinstance(value, Iterable) else (value,) * count


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """Return the function that makes a tuple of `n` of one value, and a tuple of what is iterable."""

    def parse(x: Any) -> tuple[Any, ...]:
        return repeated(x, n)

    parse.__name__ = name
    return parse


#: PyTorch's names, which other libraries import.
_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")
