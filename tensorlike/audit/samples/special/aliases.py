"""Samples of functions with another signature in `tensorlike.special`."""

from __future__ import annotations

from collections.abc import Iterator

from ..sample import Make, SampleInput, samples


@samples("tensorlike.special.softmax", "tensorlike.special.log_softmax")
def _softmax(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), 1)
    yield SampleInput(make(2, 3), dim=0, dtype=make(dtype="float64").dtype)
    yield SampleInput(make(), 0)


@samples("tensorlike.special.logsumexp")
def _logsumexp(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), 1)
    yield SampleInput(make(2, 3), (0, 1), keepdim=True)
    yield SampleInput(make(), 0)
