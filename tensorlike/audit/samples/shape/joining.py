"""Samples of joining and splitting tensors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..sample import ALL, Make, SampleInput, samples


@samples("tensorlike.cat", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput([make(2, 3), make(1, 3)])
    yield SampleInput((make(2, 3), make(2, 1), make(2, 3)), 1)
    yield SampleInput([make(2), make(3)], dim=-1)
    yield SampleInput([make(2, 3)])
    yield SampleInput([make(0, requires_grad=False), make(2, 3)])
    yield SampleInput([make(0, 3), make(2, 3)])
    yield SampleInput([make(2), make(3, dtype="float64")])


@samples("tensorlike.stack", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput([make(2, 3), make(2, 3)])
    yield SampleInput([make(2, 3), make(2, 3)], 1)
    yield SampleInput((make(), make(), make()), dim=-1)
    yield SampleInput([make(0, 2), make(0, 2)])
    yield SampleInput([make(2), make(2, dtype="float64")])


@samples("tensorlike.hstack", "tensorlike.vstack", "tensorlike.dstack", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput([make(3), make(3)])
    yield SampleInput((make(2, 3), make(2, 3)))
    yield SampleInput([make(), make()])
    yield SampleInput([make(2, 3, 1), make(2, 3, 1)])


@samples("tensorlike.column_stack", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput([make(3), make(3)])
    yield SampleInput([make(3), make(3, 2)])
    yield SampleInput((make(), make()))


@samples("tensorlike.block_diag", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make(1, 2))
    yield SampleInput(make(3), make(), make(2, 0))
    yield SampleInput(make(2, 2))


@samples("tensorlike.split", "tensorlike.Tensor.split", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(5), 2)
    yield SampleInput(make(2, 5), 2, 1)
    yield SampleInput(make(2, 5), [1, 4], -1)
    yield SampleInput(make(5), (0, 5))
    yield SampleInput(make(0, 2), 3)


@samples("tensorlike.split_with_sizes", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(5), [2, 3])
    yield SampleInput(make(2, 5), [1, 4, 0], 1)


@samples("tensorlike.chunk", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(5), 2)
    yield SampleInput(make(2, 5), 3, 1)
    yield SampleInput(make(2, 3), 7, dim=-1)
    yield SampleInput(make(0, 3), 2)


@samples("tensorlike.unbind", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make(2, 3), 1)
    yield SampleInput(make(3))
    yield SampleInput(make(2, 0), -1)


@samples("tensorlike.tensor_split", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(5), 2)
    yield SampleInput(make(2, 5), 3, 1)
    yield SampleInput(make(2, 5), (1, 3), -1)
    yield SampleInput(make(5), make.integers(2, low=1))
    yield SampleInput(make(5), indices=(1, 7))
    yield SampleInput(make(5), sections=5)


@samples("tensorlike.hsplit", dtypes=ALL, reference=np.hsplit)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(4), 2)
    yield SampleInput(make(2, 4), 2)
    yield SampleInput(make(2, 4), [1, 3])


@samples("tensorlike.vsplit", dtypes=ALL, reference=np.vsplit)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(4, 2), 2)
    yield SampleInput(make(3, 2), [1])


@samples("tensorlike.dsplit", dtypes=ALL, reference=np.dsplit)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(1, 2, 4), 2)
    yield SampleInput(make(1, 2, 3), (1,))
