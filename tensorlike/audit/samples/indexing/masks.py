"""Samples of masks, and of finding elements."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..sample import ALL, Make, SampleInput, samples


@samples("tensorlike.masked_select", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make.bools(2, 3))
    yield SampleInput(make(2, 3), make.bools(3))
    yield SampleInput(make(3), make.bools(2, 1))
    yield SampleInput(make(), make.bools())


@samples("tensorlike.masked_fill", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make.bools(2, 3), 1)
    yield SampleInput(make(2, 3), make.bools(3), make())
    yield SampleInput(make(3), make.bools(2, 1), 1, broadcasts=True)
    yield SampleInput(make(), make.bools(), 1)
    yield SampleInput(make(0, 3), make.bools(3), 1)


@samples("tensorlike.masked_scatter", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make.bools(2, 3), make(6))
    yield SampleInput(make(2, 3), make.bools(3), make(2, 4))
    yield SampleInput(make(3), make.bools(2, 1), make(6), broadcasts=True)


@samples("tensorlike.nonzero", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3, low=0, high=1))
    yield SampleInput(make(2, 3, low=0, high=1), as_tuple=True)
    yield SampleInput(make())
    yield SampleInput(make(0, 3))


@samples("tensorlike.argwhere", dtypes=ALL, reference=np.argwhere)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3, low=0, high=1))
    yield SampleInput(make(4))
    yield SampleInput(make(0, 3))


@samples("tensorlike.nn.functional.one_hot", dtypes=("int64",))
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make.integers(4))
    yield SampleInput(make.integers(2, 2), 5)
    yield SampleInput(make.integers(0), num_classes=2)
    yield SampleInput(make.integers())


@samples("tensorlike.nonzero_static", dtypes=ALL, gradcheck=False, reason="indices have no gradient")
def _nonzero_static(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), size=2)
    yield SampleInput(make(2, 3), size=8, fill_value=-7)
    yield SampleInput(make(0, 3), size=1)
