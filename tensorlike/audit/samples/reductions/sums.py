"""Samples of sums, products, means and truth."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorlike.tensor.dtypes import float64

from ..sample import ALL, COMPLEX, FLOATING, NUMERIC, REAL, Make, SampleInput, samples


def _over_dims(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make(2, 3), 0)
    yield SampleInput(make(2, 3), -1, True)
    yield SampleInput(make(2, 3, 4), dim=(0, 2))
    yield SampleInput(make(2, 3, 4, contiguous=False), dim=(-1, 1), keepdim=True)
    yield SampleInput(make(2, 3), dim=None)
    yield SampleInput(make())
    yield SampleInput(make(), 0)
    yield SampleInput(make(), -1, keepdim=True)
    yield SampleInput(make(3, 0), 0)


@samples("tensorlike.sum", dtypes=ALL)
def _sum(make: Make) -> Iterator[SampleInput]:
    yield from _over_dims(make)
    yield SampleInput(make(2, 3), dim=())
    yield SampleInput(make(0))
    yield SampleInput(make(0, 3), 0)
    if make.dtype.kind != "c":
        yield SampleInput(make(2, 3), 1, dtype=float64)


@samples("tensorlike.nansum", dtypes=(*REAL, "bool"))
def _nansum(make: Make) -> Iterator[SampleInput]:
    yield from _over_dims(make)
    yield SampleInput(make(2, 3), 1, dtype=float64)
    if make.dtype.kind == "f" and not make.requires_grad:
        holes = make(3, 4)
        holes._tl_data[1, 2] = holes._tl_data[0, 0] = np.nan
        yield SampleInput(holes)
        yield SampleInput(holes, 1)


@samples("tensorlike.mean", dtypes=(*FLOATING, *COMPLEX))
def _mean(make: Make) -> Iterator[SampleInput]:
    yield from _over_dims(make)
    if make.dtype.kind != "c":
        yield SampleInput(make(2, 3), 1, dtype=float64)


@samples("tensorlike.nanmean", dtypes=FLOATING)
def _nanmean(make: Make) -> Iterator[SampleInput]:
    yield from _over_dims(make)
    yield SampleInput(make(2, 3), 1, dtype=float64)
    if not make.requires_grad:
        holes = make(3, 4)
        holes._tl_data[1, 2] = holes._tl_data[0, 0] = np.nan
        yield SampleInput(holes)
        yield SampleInput(holes, 1, keepdim=True)


@samples("tensorlike.prod", dtypes=ALL)
def _prod(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make(2, 3), 0)
    yield SampleInput(make(2, 3), -1, True)
    yield SampleInput(make())
    yield SampleInput(make(), 0)
    yield SampleInput(make(3, 0), 0)
    yield SampleInput(make(0))
    if make.dtype.kind != "c":
        yield SampleInput(make(2, 3), 1, dtype=float64)
    for zeros in ([(0, 1)], [(0, 1), (0, 2)], [(0, 0), (0, 1), (0, 2), (1, 1)]):
        for arguments in ((), (1,), (0,)):
            input = make(2, 3)
            for place in zeros:
                input._tl_data[place] = 0
            yield SampleInput(input, *arguments, name=f"{len(zeros)} zeros")


@samples("tensorlike.all", "tensorlike.any", dtypes=ALL)
def _truth(make: Make) -> Iterator[SampleInput]:
    yield from _over_dims(make)
    yield SampleInput(make(2, 3), dim=())
    yield SampleInput(make(0))
    yield SampleInput(make(0, 3), 0)


@samples("tensorlike.count_nonzero", dtypes=ALL)
def _count_nonzero(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make(2, 3), 0)
    yield SampleInput(make(2, 3, 4), dim=(0, -1))
    yield SampleInput(make())
    yield SampleInput(make(0, 3), 0)


@samples("tensorlike.Tensor.sum_to_size", dtypes=NUMERIC)
def _sum_to_size(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), 1, 3)
    yield SampleInput(make(2, 3), (2, 1))
    yield SampleInput(make(4, 2, 3), 2, 1)
    yield SampleInput(make(4, 2, 3), ())
    yield SampleInput(make(0, 3), 3)
    if make.dtype.kind in "fc":
        yield SampleInput(make(2, 3), 2, 3)
