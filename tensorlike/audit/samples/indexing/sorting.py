"""Samples of sorting, and of the largest, smallest or k-th elements."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..sample import REAL, Make, SampleInput, samples


@samples("tensorlike.sort", "tensorlike.argsort", dtypes=(*REAL, "bool"))
def _sort(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make.distinct(5))
    yield SampleInput(make.distinct(3, 4), 0)
    yield SampleInput(make.distinct(3, 4), -1, True)
    yield SampleInput(make.distinct(2, 3, 4), dim=1, descending=True, stable=True)
    yield SampleInput(make.distinct())
    yield SampleInput(make.distinct(0, 3), 0)
    if not make.requires_grad:
        repeated = make(3, 4)
        repeated._tl_data[1] = repeated._tl_data[0]
        if make.dtype.kind == "f":
            repeated._tl_data[1, 1] = repeated._tl_data[1, 3] = np.nan
        for dim in (0, 1):
            for descending in (False, True):
                yield SampleInput(repeated, dim=dim, descending=descending, stable=True)


@samples("tensorlike.msort", dtypes=(*REAL, "bool"))
def _msort(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make.distinct(5))
    yield SampleInput(make.distinct(3, 4))
    yield SampleInput(make.distinct())
    yield SampleInput(make.distinct(0, 3))


@samples("tensorlike.topk", dtypes=REAL)
def _topk(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make.distinct(5), 2)
    yield SampleInput(make.distinct(3, 40), 3)
    yield SampleInput(make.distinct(40, 3), 2, 0, False)
    yield SampleInput(make.distinct(3, 4), 2, dim=0, largest=False)
    yield SampleInput(make.distinct(3, 4), 1, sorted=False)
    yield SampleInput(make.distinct(3, 4), 0)
    yield SampleInput(make.distinct(), 1)
    if make.dtype.kind == "f" and not make.requires_grad:
        holes = make.distinct(2, 40)
        holes._tl_data[0, 7] = np.nan
        yield SampleInput(holes, 2)
        yield SampleInput(holes, 2, largest=False)


@samples("tensorlike.kthvalue", dtypes=REAL)
def _kthvalue(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make.distinct(5), 2)
    yield SampleInput(make.distinct(3, 4), 3, 0)
    yield SampleInput(make.distinct(3, 4), 1, dim=-1, keepdim=True)
    yield SampleInput(make.distinct(), 1)
    yield SampleInput(make.distinct(0, 3), 1)
    if make.dtype.kind == "f" and not make.requires_grad:
        holes = make.distinct(2, 4)
        holes._tl_data[0, 2] = np.nan
        yield SampleInput(holes, 4)
