"""Samples of queries of sizes."""

from __future__ import annotations

from collections.abc import Iterator

from ..sample import ALL, Make, SampleInput, samples


@samples("tensorlike.numel", "tensorlike.Tensor.nelement", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make())
    yield SampleInput(make(0, 3))


@samples("tensorlike.is_same_size", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make(2, 3))
    yield SampleInput(make(2, 3), make(3))
    yield SampleInput(make(), make(1))
