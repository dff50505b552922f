"""Samples of indexing."""

from __future__ import annotations

from collections.abc import Iterator

from tensorlike.tensor.creation import filled

from ..sample import ALL, Make, SampleInput, samples


@samples("tensorlike.Tensor.__getitem__", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), 0)
    yield SampleInput(make(3), -1)
    yield SampleInput(make(5), slice(1, None, 2))
    yield SampleInput(make(2, 3, 2), (slice(None), 1))
    yield SampleInput(make(2, 3, 2), (Ellipsis, 0))
    yield SampleInput(make(2, 3), (None, 0, slice(1, 3)))
    yield SampleInput(make(), ())
    yield SampleInput(make(2, 3), make.integers(4, high=2))
    yield SampleInput(make(2, 3), (make.integers(2, 2, high=2), make.integers(2)))
    yield SampleInput(make(2, 3, 2), (0, slice(None), make.integers(3, high=2)))
    yield SampleInput(make(2, 3, 2), (make.integers(2, high=2), slice(None), make.integers(2, high=2)))
    yield SampleInput(make(2, 3), make.bools(2, 3))
    yield SampleInput(make(2, 3), (slice(None), make.bools(3)))
    yield SampleInput(make(2, 3), [1, 0, 1])
    yield SampleInput(make(2, 3), [True, False])
    yield SampleInput(make(2, 3), True)
    yield SampleInput(make(2, 3), make.integers(high=2))
    yield SampleInput(make(0, 3), slice(None))
    yield SampleInput(make(2, 3), make.integers(0))


@samples("tensorlike.Tensor.__setitem__", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), 0, 1)
    yield SampleInput(make(2, 3), 0, make(3))
    yield SampleInput(make(2, 3), (slice(None), 1), make(1, 2))
    yield SampleInput(make(2, 3), (slice(None), slice(0, 3, 2)), make(2, 1))
    yield SampleInput(make(2, 3), Ellipsis, make())
    yield SampleInput(make(), (), 1)
    yield SampleInput(make(2, 3), make.integers(1, high=2), make(3))
    yield SampleInput(make(2, 3), (filled.tensor([0, 1]), filled.tensor([2, 0])), make(2))
    yield SampleInput(make(2, 3, 2), (0, slice(None), filled.tensor([1, 0])), make(3, 2))
    yield SampleInput(make(2, 3), make.bools(2, 3), 1)
    yield SampleInput(make(2, 3), filled.tensor([True, False]), make(3))
    yield SampleInput(make(0, 3), slice(None), 1)


@samples("tensorlike.index_put", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), (filled.tensor([0, 1]), filled.tensor([2, 0])), make(2))
    yield SampleInput(make(2, 3), (make.integers(4, high=2),), make(3), True)
    yield SampleInput(make(2, 3), (make.bools(2, 3),), make())
    yield SampleInput(make(3), [make.integers(2, 2)], make(2, 2), accumulate=True)
    yield SampleInput(make(2, 3), (make.integers(0),), make(0, 3))
