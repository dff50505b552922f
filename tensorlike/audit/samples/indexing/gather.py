"""Samples of gathering, selecting and taking."""

from __future__ import annotations

from collections.abc import Iterator

from ..sample import ALL, Make, SampleInput, samples
from .scatter import index_of


@samples("tensorlike.index_select", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), 0, make.integers(4, high=2))
    yield SampleInput(make(2, 3), -1, make.integers(2, dtype="int32"))
    yield SampleInput(make(3), 0, make.integers(0))
    yield SampleInput(make(3), 0, make.integers())
    yield SampleInput(make(), 0, make.integers(1, high=1))


@samples("tensorlike.take", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make.integers(2, 2, high=6))
    yield SampleInput(make(2, 3), index_of([-1, 0, 0]))
    yield SampleInput(make(3), make.integers())
    yield SampleInput(make(3), make.integers(0))


@samples("tensorlike.gather", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), 1, make.integers(2, 4))
    yield SampleInput(make(2, 3), 0, make.integers(1, 2, high=2))
    index = make.integers(1, 1, dtype="int32")
    yield SampleInput(make(2, 3), -1, index, sparse_grad=True, name="not in PyTorch: gradients are dense")
    yield SampleInput(make(), 0, make.integers(high=1))
    yield SampleInput(make(2, 3), 1, make.integers(2, 0))


@samples(
    "tensorlike.take_along_dim",
    dtypes=ALL,
)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make.integers(2, 4), 1)
    yield SampleInput(make(2, 3), make.integers(1, 3, high=2), dim=0)
    yield SampleInput(make(1, 3), make.integers(2, 2), 1)
    yield SampleInput(make(2, 3), make.integers(4, high=6))
