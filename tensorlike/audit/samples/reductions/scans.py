"""Samples of running sums, products and extremes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorlike.tensor.dtypes import complex128, float64

from ..sample import COMPLEX, FLOATING, INTEGERS, NUMERIC, Make, SampleInput, samples


def _along(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 4), 0)
    yield SampleInput(make(3, 4), dim=-1)
    yield SampleInput(make(2, 3, 2, contiguous=False), 1)
    yield SampleInput(make(), 0)
    yield SampleInput(make(0, 3), 0)


def _converted(make: Make) -> SampleInput:
    return SampleInput(make(3, 4), 0, dtype=complex128 if make.dtype.kind == "c" else float64)


@samples("tensorlike.cumsum", dtypes=NUMERIC)
def _cumsum(make: Make) -> Iterator[SampleInput]:
    yield from _along(make)
    yield _converted(make)


@samples("tensorlike.cumprod", dtypes=NUMERIC)
def _cumprod(make: Make) -> Iterator[SampleInput]:
    yield from _along(make)
    yield _converted(make)
    for zeros in ([(0, 1)], [(0, 1), (0, 3)], [(0, 0), (0, 1), (0, 2), (1, 1)]):
        for dim in (0, 1):
            input = make(2, 4)
            for place in zeros:
                input._tl_data[place] = 0
            yield SampleInput(input, dim, name=f"{len(zeros)} zeros")


@samples("tensorlike.cummax", "tensorlike.cummin", dtypes=(*FLOATING, *INTEGERS, "bool"))
def _cummax(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make.distinct(3, 4), 0)
    yield SampleInput(make.distinct(3, 4), dim=-1)
    yield SampleInput(make.distinct(), 0)
    yield SampleInput(make.distinct(0, 3), 1)
    if not make.requires_grad:
        repeated = make(3, 4)
        repeated._tl_data[1] = repeated._tl_data[0]
        if make.dtype.kind == "f":
            repeated._tl_data[1, 1] = repeated._tl_data[1, 2] = np.nan
        yield SampleInput(repeated, 0)
        yield SampleInput(repeated, 1)


@samples("tensorlike.logcumsumexp", dtypes=(*FLOATING, *COMPLEX))
def _logcumsumexp(make: Make) -> Iterator[SampleInput]:
    # Imaginary parts are small enough for the logarithm to stay on its principal branch.
    yield SampleInput(make(3, 4, low=-1, high=1), 0)
    yield SampleInput(make(3, 4, low=-1, high=1), dim=-1)
    yield SampleInput(make(low=-1, high=1), 0)
    yield SampleInput(make(0, 3), 0)
    if make.dtype.kind == "f" and not make.requires_grad:
        extreme = make(5)
        extreme._tl_data[:] = [-np.inf, -1000, 2, 1000, np.inf]
        yield SampleInput(extreme, 0)
