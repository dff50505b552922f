"""Samples of functions that keep elements between bounds."""

from __future__ import annotations

from collections.abc import Iterator

from ..sample import REAL, Make, SampleInput, samples
from .operands import pairs, with_numbers


@samples("tensorlike.clamp", dtypes=REAL)
def _clamp(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), 0, 2)
    yield SampleInput(make(2, 3), min=1)
    yield SampleInput(make(2, 3), max=1)
    yield SampleInput(make(2, 3), 2, 1)
    yield SampleInput(make(), 0.5, 1.5)
    yield SampleInput(make(0, 3), 0, 1)
    yield SampleInput(make(2, 3), make(3), make(2, 3))
    yield SampleInput(make(2, 3), min=make(2, 1))
    yield SampleInput(make(2, 3), max=make(3))


@samples("tensorlike.clamp_min", "tensorlike.clamp_max", dtypes=REAL)
def _clamp_min(make: Make) -> Iterator[SampleInput]:
    yield from pairs(make, mixed=False)
    yield from with_numbers(make, 1, 0.5)
