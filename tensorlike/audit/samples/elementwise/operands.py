"""Shared by the samples of elementwise functions: shapes of one or two operands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..sample import Make, SampleInput


def in_floats(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a NumPy function as a reference for small integers too, for which NumPy answers in half precision."""

    def reference(*operands: Any) -> Any:
        return function(*(np.asarray(o, np.float64) if np.asarray(o).dtype.kind in "biu" else o for o in operands))

    return reference


def singles(make: Make, low: float | None = None, high: float | None = None, **options: Any) -> Iterator[SampleInput]:
    """Yield one operand in several shapes, with elements from `low` to `high`."""
    for shape in ((2, 3), (), (0, 3), (1,)):
        yield SampleInput(make(*shape, low=low, high=high), **options)
    yield SampleInput(make(3, 2, low=low, high=high, contiguous=False), **options)


def pairs(
    make: Make,
    first: tuple[float | None, float | None] = (None, None),
    second: tuple[float | None, float | None] = (None, None),
    *,
    mixed: bool = True,
    **options: Any,
) -> Iterator[SampleInput]:
    """Yield two operands that broadcast in several ways, each with elements in its own range."""

    def one(*shape: int, **more: Any) -> Any:
        return make(*shape, low=first[0], high=first[1], **more)

    def other(*shape: int, **more: Any) -> Any:
        return make(*shape, low=second[0], high=second[1], **more)

    yield SampleInput(one(2, 3), other(2, 3), **options)
    yield SampleInput(one(2, 3), other(3), **options)
    yield SampleInput(one(2, 3), other(2, 1, contiguous=False), **options)
    yield SampleInput(one(2, 1), other(3), broadcasts=True, **options)
    yield SampleInput(one(), other(), **options)
    yield SampleInput(one(3), other(), **options)
    yield SampleInput(one(), other(2), broadcasts=True, **options)
    yield SampleInput(one(0, 3), other(3), **options)
    if mixed:
        yield SampleInput(one(2), other(2, dtype="float32"), **options)
        yield SampleInput(one(2), other(2, dtype="int64"), **options)
        yield SampleInput(one(2), other(dtype="float64"), **options)


def with_numbers(
    make: Make, *numbers: float, low: float | None = None, high: float | None = None
) -> Iterator[SampleInput]:
    """Yield an operand with each of `numbers`."""
    for number in numbers:
        yield SampleInput(make(2, 3, low=low, high=high), number)
    yield SampleInput(make(low=low, high=high), numbers[0])
