"""Samples of diagonals and triangles."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorlike.tensor import dtypes

from ..sample import ALL, NUMERIC, Make, SampleInput, samples


@samples("tensorlike.tril", dtypes=ALL, reference=np.tril)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 3))
    yield SampleInput(make(2, 3), 1)
    yield SampleInput(make(2, 3, 2), -1)
    yield SampleInput(make(0, 3))


@samples("tensorlike.triu", dtypes=ALL, reference=np.triu)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 3))
    yield SampleInput(make(2, 3), 1)
    yield SampleInput(make(2, 3, 2), -1)
    yield SampleInput(make(0, 3))


@samples("tensorlike.tril_indices", "tensorlike.triu_indices", dtypes=("int64",))
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(3, 3)
    yield SampleInput(2, 4, 1)
    yield SampleInput(4, 2, offset=-1, dtype=dtypes.int32)
    yield SampleInput(0, 3)


@samples("tensorlike.diagonal", dtypes=ALL, reference=np.diagonal)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 3))
    yield SampleInput(make(2, 3), 1)
    yield SampleInput(make(2, 3, 2), -1, 1, 2)
    yield SampleInput(make(2, 3, 2), 1, 2, 0)
    yield SampleInput(make(2, 3), 7)


@samples("tensorlike.diag_embed", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3))
    yield SampleInput(make(2, 3), 1)
    yield SampleInput(make(2, 3), -1, 0, 2)
    yield SampleInput(make(2, 3), offset=1, dim1=2, dim2=0)


@samples("tensorlike.diag", dtypes=ALL, reference=np.diag)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3))
    yield SampleInput(make(2), -1)
    yield SampleInput(make(2, 3))
    yield SampleInput(make(3, 2), 1)
    yield SampleInput(make(3, 3), name="square")


@samples("tensorlike.diagflat", dtypes=ALL, reference=np.diagflat)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3))
    yield SampleInput(make(2, 2), 1)
    yield SampleInput(make())


@samples("tensorlike.trace", dtypes=NUMERIC)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 3))
    yield SampleInput(make(2, 3))
    yield SampleInput(make(0, 0))


@samples("tensorlike.diagonal_scatter", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 3), make(3))
    yield SampleInput(make(2, 3), make(2), 1)
    yield SampleInput(make(2, 3, 2), make(2, 2), -1, 1, 2)


@samples("tensorlike.Tensor.fill_diagonal_", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 3), 1)
    yield SampleInput(make(2, 3), 1)
    yield SampleInput(make(7, 3), 1, True)
    yield SampleInput(make(2, 2, 2), 1)
