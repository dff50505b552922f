"""Samples of differences and of derivatives of sampled functions."""

from __future__ import annotations

from collections.abc import Iterator

from tensorlike.tensor.creation.from_data import tensor

from ..sample import ALL, COMPLEX, FLOATING, Make, SampleInput, samples


@samples("tensorlike.gradient", dtypes=(*FLOATING, *COMPLEX, "int32", "int64"))
def _gradient(make: Make) -> Iterator[SampleInput]:
    points = tensor([0.0, 1.0, 3.0, 4.5])
    yield SampleInput(make(5))
    yield SampleInput(make(3, 4))
    yield SampleInput(make(3, 4), dim=1, edge_order=2)
    yield SampleInput(make(2, 3, 4), dim=(2, -2), spacing=[2.0, 0.5])
    yield SampleInput(make(3, 4), spacing=2.0, dim=(0,))
    yield SampleInput(make(2, 4), spacing=(tensor([1.0, 1.5]), points))
    yield SampleInput(make(4, 2), spacing=(points,), dim=0, edge_order=2)
    yield SampleInput(make(2, 0), dim=0)
    yield SampleInput(make(), name="no dimension")


@samples("tensorlike.diff", dtypes=ALL)
def _diff(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(5))
    yield SampleInput(make(3, 5), 2)
    yield SampleInput(make(3, 4), dim=0)
    yield SampleInput(make(3, 4), 1, 0, make(1, 4), make(2, 4))
    yield SampleInput(make(3, 4), 2, -1, append=make(3, 2))
    yield SampleInput(make(2, 3), 7)
    yield SampleInput(make(2, 3), 0)
    yield SampleInput(make(0))
