"""Samples of random counts of successes."""

from __future__ import annotations

from collections.abc import Iterator

from ..sample import Make, SampleInput, samples


@samples("tensorlike.binomial", gradcheck=False, deterministic=False, reason="Each call draws other numbers.")
def _binomial(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(5, low=0, high=9), make(5, low=0, high=1))
    yield SampleInput(make(2, 3, low=0, high=9), make(2, 3, low=0, high=1), generator=None)
    yield SampleInput(make(0), make(0))
    yield SampleInput(make(low=2, high=9), make(low=0, high=1), name="no dimension")
