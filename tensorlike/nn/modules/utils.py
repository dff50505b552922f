"""Arguments that are one number or one for each dimension."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["repeated"]


def repeated(value: Any, count: int) -> tuple[Any, ...]:
    """Return `value` as a tuple: itself if it is iterable, else `count` times.

    >>> repeated(3, 2), repeated([1, 2], 2)
    ((3, 3), (1, 2))
    """
    return tuple(value) if isinstance(value, Iterable) else (value,) * count
