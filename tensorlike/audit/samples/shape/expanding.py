"""Samples of expanding, repeating, and grids."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..sample import ALL, NUMERIC, Make, SampleInput, samples


@samples("tensorlike.Tensor.expand", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3), 2, 3)
    yield SampleInput(make(3, 1), (-1, 2))
    yield SampleInput(make(2, 1, 3), 2, 2, 2, 3)
    yield SampleInput(make(2, 3), 2, 3)
    yield SampleInput(make(), 2)
    yield SampleInput(make(1), 0)


@samples("tensorlike.Tensor.expand_as", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3), make(2, 3, requires_grad=False))
    yield SampleInput(make(), make(2, requires_grad=False))
    yield SampleInput(make(1, 3), make(0, 3, requires_grad=False))


@samples("tensorlike.broadcast_to", dtypes=ALL, reference=np.broadcast_to)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3), (2, 3))
    yield SampleInput(make(2, 1), (2, 3))
    yield SampleInput(make(), (2, 2))
    yield SampleInput(make(1), (0,))


@samples("tensorlike.broadcast_tensors", dtypes=ALL, reference=np.broadcast_arrays)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3), make(2, 1))
    yield SampleInput(make(), make(2), make(1, 1))
    yield SampleInput(make(2, 3))
    yield SampleInput(make(0, 3), make(3))


@samples("tensorlike.Tensor.repeat", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3), 2)
    yield SampleInput(make(2, 3), 2, 2)
    yield SampleInput(make(2, 1), (2, 1, 3))
    yield SampleInput(make(), 3)
    yield SampleInput(make(2), 0)
    yield SampleInput(make(0, 2), 2, 2)


@samples("tensorlike.tile", dtypes=ALL, reference=np.tile)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3), (2,))
    yield SampleInput(make(2, 3), (2,))
    yield SampleInput(make(2, 1), (2, 1, 3))
    yield SampleInput(make(), (3,))
    yield SampleInput(make(2), (0,))


@samples("tensorlike.repeat_interleave", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3), 2)
    yield SampleInput(make(2, 3), 2)
    yield SampleInput(make(2, 3), 2, 1)
    yield SampleInput(make(2, 3), make.integers(2), 0)
    yield SampleInput(make(2, 3), make.integers(1, low=2), dim=-1, output_size=6)
    yield SampleInput(make(), 2)
    yield SampleInput(make(3), 0)
    yield SampleInput(make.integers(3))


@samples("tensorlike.meshgrid", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3), make(2), indexing="ij")
    yield SampleInput(make(3), make(2), make(2), indexing="xy")
    yield SampleInput(make(), make(2), indexing="ij")
    yield SampleInput(make(3), indexing="xy")
    yield SampleInput(make(0), make(2), indexing="ij")


@samples("tensorlike.cartesian_prod", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3), make(2))
    yield SampleInput(make(2), make(1), make(2))
    yield SampleInput(make(3))
    yield SampleInput(make(0), make(2))


@samples("tensorlike.combinations", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(4))
    yield SampleInput(make(4), 3)
    yield SampleInput(make(3), 2, True)
    yield SampleInput(make(3), r=1, with_replacement=True)
    yield SampleInput(make(2), 3)


@samples("tensorlike.atleast_1d", "tensorlike.atleast_2d", "tensorlike.atleast_3d", dtypes=NUMERIC)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make())
    yield SampleInput(make(3))
    yield SampleInput(make(2, 3))
    yield SampleInput(make(2, 1, 3))
    yield SampleInput(make(), make(2))
