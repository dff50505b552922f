"""Samples of the queries of types."""

from __future__ import annotations

from collections.abc import Iterator

from ..sample import ALL, Make, SampleInput, samples


@samples("tensorlike.result_type", dtypes=ALL, gradcheck=False, reason="returns a dtype")
def _result_type(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make(3, dtype="float32"))
    yield SampleInput(make(2, 3), 2.5)
    yield SampleInput(make(), make(2, dtype="int32"))
    yield SampleInput(1, make(2))
