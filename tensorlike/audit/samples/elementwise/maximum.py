"""Samples of the larger and the smaller of two."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..sample import REAL, Make, SampleInput, samples
from .operands import pairs

_ORDERED = (*REAL, "bool")


def _with_nan(make: Make) -> Iterator[SampleInput]:
    yield from pairs(make)
    if make.dtype.kind == "f":
        first, second = make(4, requires_grad=False), make(4, requires_grad=False)
        first._tl_data[:2] = np.nan
        second._tl_data[1:3] = np.nan
        yield SampleInput(first, second)


@samples("tensorlike.maximum", dtypes=_ORDERED, reference=np.maximum)
def _maximum(make: Make) -> Iterator[SampleInput]:
    yield from _with_nan(make)


@samples("tensorlike.minimum", dtypes=_ORDERED, reference=np.minimum)
def _minimum(make: Make) -> Iterator[SampleInput]:
    yield from _with_nan(make)


@samples("tensorlike.fmax", dtypes=_ORDERED, reference=np.fmax)
def _fmax(make: Make) -> Iterator[SampleInput]:
    yield from _with_nan(make)


@samples("tensorlike.fmin", dtypes=_ORDERED, reference=np.fmin)
def _fmin(make: Make) -> Iterator[SampleInput]:
    yield from _with_nan(make)
