"""Samples of reshaping and of the order of dimensions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorlike.tensor import dtypes

from ..sample import ALL, Make, SampleInput, samples


@samples("tensorlike.clone", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make(2, 3).expand(2, 2, 3))
    yield SampleInput(make())
    yield SampleInput(make(0, 3))


@samples("tensorlike.Tensor.contiguous", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make(2, 3).t())
    yield SampleInput(make())
    yield SampleInput(make(0, 3))


@samples("tensorlike.reshape", dtypes=ALL, reference=np.reshape)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), (3, 2))
    yield SampleInput(make(2, 3), (-1,))
    yield SampleInput(make(2, 3), [1, -1, 2])
    yield SampleInput(make(2, 3).t(), (6,))
    yield SampleInput(make(), (1, 1))
    yield SampleInput(make(1), ())
    yield SampleInput(make(0, 3), (3, -1))


@samples("tensorlike.Tensor.view", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), 3, 2)
    yield SampleInput(make(2, 3), -1)
    yield SampleInput(make(2, 3), (6, 1))
    yield SampleInput(make(), 1)
    yield SampleInput(make(0, 3), 3, 0)
    yield SampleInput(make(2, 3), size=(3, 2))
    yield SampleInput(make(2, 8), dtypes.uint8)
    yield SampleInput(make(2, 8), dtype=dtypes.uint8)


@samples("tensorlike.Tensor.view_as", "tensorlike.Tensor.reshape_as", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make(3, 2, requires_grad=False))
    yield SampleInput(make(), make(1, 1, requires_grad=False))
    yield SampleInput(make(0, 3), make(2, 0, requires_grad=False))


@samples("tensorlike.flatten", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3, 2))
    yield SampleInput(make(2, 3, 2), 1)
    yield SampleInput(make(2, 3, 2), 0, 1)
    yield SampleInput(make(2, 3, 2), start_dim=-2, end_dim=-2)
    yield SampleInput(make())
    yield SampleInput(make(2, 0), 0)


@samples("tensorlike.unflatten", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 6), 1, (2, 3))
    yield SampleInput(make(2, 6), -1, (-1, 2))
    yield SampleInput(make(4), 0, [2, 1, 2])
    yield SampleInput(make(2, 0), 1, (0, 3))


@samples("tensorlike.ravel", dtypes=ALL, reference=np.ravel)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make(2, 3).t())
    yield SampleInput(make())
    yield SampleInput(make(0, 3))


@samples("tensorlike.permute", dtypes=ALL, reference=np.transpose)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3, 4), (2, 0, 1))
    yield SampleInput(make(2, 3), (-1, 0))
    yield SampleInput(make(2, 3), (0, 1))
    yield SampleInput(make(), ())
    yield SampleInput(make(0, 3), (1, 0))


@samples("tensorlike.transpose", "tensorlike.swapaxes", "tensorlike.swapdims", dtypes=ALL, reference=np.swapaxes)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3, 4), 0, 2)
    yield SampleInput(make(2, 3), -1, 0)
    yield SampleInput(make(2, 3), 1, 1)
    yield SampleInput(make(0, 3), 0, 1)
    yield SampleInput(make(3, 3), 0, 1, name="square")


@samples("tensorlike.t", dtypes=ALL, reference=np.transpose)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make(3))
    yield SampleInput(make())
    yield SampleInput(make(3, 3), name="square")


@samples("tensorlike.adjoint", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make(2, 1, 3))
    yield SampleInput(make(0, 3))
    yield SampleInput(make(3, 3), name="square")


@samples("tensorlike.movedim", dtypes=ALL, reference=np.moveaxis)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3, 4), 0, 2)
    yield SampleInput(make(2, 3, 4), -1, 0)
    yield SampleInput(make(2, 3, 4), (0, 1), (1, 2))
    yield SampleInput(make(2, 0), 0, 1)


@samples("tensorlike.squeeze", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(1, 3, 1))
    yield SampleInput(make(1, 3, 1), 0)
    yield SampleInput(make(1, 3, 1), 1)
    yield SampleInput(make(1, 3, 1), (0, -1))
    yield SampleInput(make())
    yield SampleInput(make(1, 0))


@samples("tensorlike.unsqueeze", dtypes=ALL, reference=np.expand_dims)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), 0)
    yield SampleInput(make(2, 3), 1)
    yield SampleInput(make(2, 3), -1)
    yield SampleInput(make(), 0)
    yield SampleInput(make(0), -2)
