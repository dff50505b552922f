"""Samples of rounding."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorlike.autograd.tensor_base import wrap

from ..sample import FLOATING, REAL, Make, SampleInput, samples
from .operands import singles


@samples("tensorlike.floor", dtypes=REAL, reference=np.floor)
def _floor(make: Make) -> Iterator[SampleInput]:
    yield from singles(make)


@samples("tensorlike.ceil", dtypes=REAL, reference=np.ceil)
def _ceil(make: Make) -> Iterator[SampleInput]:
    yield from singles(make)


@samples("tensorlike.trunc", dtypes=REAL, reference=np.trunc)
def _trunc(make: Make) -> Iterator[SampleInput]:
    yield from singles(make)


@samples("tensorlike.round", dtypes=REAL)
def _round(make: Make) -> Iterator[SampleInput]:
    yield from singles(make)
    if make.dtype.kind == "f":
        yield SampleInput(make(3), decimals=2)
        yield SampleInput(make(3, low=10, high=99), decimals=-1)
        if not make.requires_grad:
            yield SampleInput(wrap(np.array([0.5, 1.5, -0.5, 2.5], make.dtype)))


@samples("tensorlike.frac", dtypes=FLOATING)
def _frac(make: Make) -> Iterator[SampleInput]:
    yield from singles(make)
