"""Samples of the larger and the smaller of two, and of bounds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..base import REAL, Make, SampleInput, samples
from .operands import pairs, with_numbers

__all__: list[str] = []

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


@samples("tensorlike.clamp", dtypes=REAL)
def _clamp(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), 0, 2)
    yield SampleInput(make(2, 3), min=1)
    yield SampleInput(make(2, 3), max=1)
    yield SampleInput(make(2, 3), 2, 1)
    yield SampleInput(make(), 0.5, 1.5)
    yield SampleInput(make(0, 3), 0, 1)
    yield SampleInput(make(2, 3), make(3), make(2, 3))
    yield SampleInput(make(2, 3), min=make(2, 1))
    yield SampleInput(make(2, 3), max=make(3))


@samples("tensorlike.clamp_min", "tensorlike.clamp_max", dtypes=REAL)
def _clamp_min(make: Make) -> Iterator[SampleInput]:
    yield from pairs(make, mixed=False)
    yield from with_numbers(make, 1, 0.5)
