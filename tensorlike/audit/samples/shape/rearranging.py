"""Samples of parts and reorderings of tensors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..sample import ALL, Make, SampleInput, samples


@samples("tensorlike.select", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), 0, 1)
    yield SampleInput(make(2, 3), -1, -1)
    yield SampleInput(make(3), 0, 2)


@samples("tensorlike.narrow", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 5), 1, 1, 3)
    yield SampleInput(make(5), 0, -2, 2)
    yield SampleInput(make(5), 0, make.integers(), 1)
    yield SampleInput(make(5), 0, 5, 0)


@samples("tensorlike.Tensor.unfold", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(5), 0, 2, 1)
    yield SampleInput(make(2, 5), 1, 3, 2)
    yield SampleInput(make(4, 2), -2, 2, 2)
    yield SampleInput(make(), 0, 1, 1)


@samples("tensorlike.as_strided", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(6).clone(), (2, 2), (1, 2))
    yield SampleInput(make(6).clone(), (2, 3), (0, 1), 2)
    yield SampleInput(make(6).clone(), (3, 3), (1, 1), 1)
    yield SampleInput(make(6).clone(), (), (), 3)


@samples("tensorlike.flip", dtypes=ALL, reference=np.flip)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), (0,))
    yield SampleInput(make(2, 3), (0, -1))
    yield SampleInput(make(2, 3), [1])
    yield SampleInput(make(0, 2), (1,))


@samples("tensorlike.fliplr", dtypes=ALL, reference=np.fliplr)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make(2, 3, 2))
    yield SampleInput(make(0, 3))


@samples("tensorlike.flipud", dtypes=ALL, reference=np.flipud)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make(3))
    yield SampleInput(make(0))


@samples("tensorlike.roll", dtypes=ALL, reference=np.roll)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), 1)
    yield SampleInput(make(2, 3), 1, 1)
    yield SampleInput(make(2, 3), (1, -1), (0, 1))
    yield SampleInput(make(2, 3), 5, 0)
    yield SampleInput(make(), 1)
    yield SampleInput(make(0, 3), 1)


@samples("tensorlike.rot90", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make(2, 3), 2)
    yield SampleInput(make(2, 3, 2), -1, (1, 2))
    yield SampleInput(make(2, 3), k=3, dims=[1, 0])
