"""Samples of detaching, and of queries of devices and memory."""

from __future__ import annotations

from collections.abc import Iterator

from ..sample import ALL, Make, SampleInput, samples


@samples("tensorlike.detach", dtypes=ALL, gradcheck=False, reason="the result has no history")
def _detach(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make())


@samples("tensorlike.get_device", dtypes=ALL)
def _get_device(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2))


@samples("tensorlike.Tensor.is_set_to", dtypes=ALL, gradcheck=False, reason="the answer is no tensor")
def _is_set_to(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make(2, 3))
