"""Samples of rounding, and of keeping elements finite."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorlike.autograd.base import wrap

from ..base import ALL, FLOATING, REAL, Make, SampleInput, samples
from .operands import singles

__all__: list[str] = []


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


@samples("tensorlike.nan_to_num", dtypes=ALL)
def _nan_to_num(make: Make) -> Iterator[SampleInput]:
    if make.dtype.kind == "c" and make.requires_grad:
        # PyTorch refuses to record it, so there is nothing to compare with.
        make = Make(str(make.dtype))
    yield from singles(make)
    odd = make(4, requires_grad=False)
    if make.dtype.kind in "fc":
        odd._tl_data[:3] = (np.nan, np.inf, -np.inf)
    yield SampleInput(odd)
    yield SampleInput(odd, 1.0, posinf=2.0, neginf=-3.0)
