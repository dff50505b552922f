"""Samples of the largest and the smallest."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorlike.autograd.tensor_base import wrap

from ..sample import REAL, Make, SampleInput, samples

_ORDERED = (*REAL, "bool")


def _with_nan(make: Make) -> Iterator[SampleInput]:
    if make.dtype.kind == "f" and not make.requires_grad:
        holes = make(3, 4)
        holes._tl_data[1, 2] = holes._tl_data[0, 0] = holes._tl_data[1, 0] = np.nan
        yield SampleInput(holes)
        for keepdim in (False, True):
            yield SampleInput(holes, dim=1, keepdim=keepdim)


def _one_dim(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make.distinct(2, 3), dim=0)
    yield SampleInput(make.distinct(2, 3, 2), dim=-2, keepdim=True)
    yield SampleInput(make.distinct(), dim=0)
    yield SampleInput(make.distinct(0, 3), dim=1)


@samples("tensorlike.amax", "tensorlike.amin", dtypes=_ORDERED)
def _amax(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make.distinct(2, 3))
    yield SampleInput(make.distinct(2, 3), 1)
    yield SampleInput(make.distinct(2, 3, 4), dim=(0, -1))
    yield SampleInput(make.distinct(2, 3, 4), (0, 1), True)
    yield SampleInput(make.distinct())
    yield from _one_dim(make)
    yield from _with_nan(make)


@samples("tensorlike.aminmax", dtypes=_ORDERED)
def _aminmax(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make.distinct(2, 3))
    yield SampleInput(make.distinct())
    yield from _one_dim(make)
    yield from _with_nan(make)


@samples("tensorlike.max", "tensorlike.min", dtypes=_ORDERED)
def _max(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make.distinct(2, 3))
    yield SampleInput(make.distinct())
    yield SampleInput(make.distinct(2, 3), 1)
    yield SampleInput(make.distinct(2, 3), 0, True)
    yield from _one_dim(make)
    yield from _with_nan(make)
    both = make.distinct(2, 2, 3)
    first, second = both._tl_data
    pair = [wrap(first.copy()), wrap(second.copy())]
    if make.requires_grad and make.dtype.kind in "fc":
        for tensor in pair:
            tensor.requires_grad_()
    yield SampleInput(*pair)
    yield SampleInput(pair[0], other=pair[1])


@samples("tensorlike.argmax", "tensorlike.argmin", dtypes=REAL)
def _argmax(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 4))
    yield SampleInput(make(3, 4), 1)
    yield SampleInput(make(3, 4), keepdim=True)
    yield SampleInput(make())
    yield from _one_dim(make)
    yield from _with_nan(make)
