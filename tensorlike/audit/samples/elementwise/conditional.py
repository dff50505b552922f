"""Samples of choosing by a condition."""

from __future__ import annotations

from collections.abc import Iterator

from ..sample import ALL, Make, SampleInput, samples


@samples("tensorlike.where", dtypes=ALL)
def _where(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make.bools(2, 3), make(2, 3), make(2, 3))
    yield SampleInput(make.bools(2, 1), make(3), make(2, 3))
    yield SampleInput(make.bools(3), make(2, 1), make())
    yield SampleInput(make.bools(2, 3), make(2, 3), 2)
    yield SampleInput(make.bools(2, 3), 0.5, make(2, 3))
    yield SampleInput(make.bools(2, 3), input=make(3), other=make(3, dtype="float64", requires_grad=False))
    yield SampleInput(make.bools(), make(), make())
    yield SampleInput(make.bools(0, 3), make(3), make(3))


@samples("tensorlike.Tensor.where", dtypes=ALL)
def _where_method(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make.bools(2, 3), make(2, 3))
    yield SampleInput(make(3), make.bools(2, 1), make(2, 3))
    yield SampleInput(make(2, 3), make.bools(3), 2)
    yield SampleInput(make(), make.bools(), make())
