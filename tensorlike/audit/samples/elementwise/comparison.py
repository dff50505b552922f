"""Samples of comparisons, and of tests for nan and infinity."""

from __future__ import annotations

import builtins
from collections.abc import Iterator

import numpy as np

from tensorlike.autograd.tensor_base import wrap

from ..sample import ALL, BITS, FLOATING, REAL, Make, SampleInput, samples
from .operands import pairs, singles, with_numbers

_ORDERED = (*REAL, "bool")


def _with_ties(make: Make, *, numbers: bool = True) -> Iterator[SampleInput]:
    yield from pairs(make)
    same = make(2, 3)
    yield SampleInput(same, wrap(same._tl_data.copy()))
    if numbers:
        yield from with_numbers(make, 2, 0.5, True)
    if make.dtype.kind in "fc":
        odd = make(4, requires_grad=False)
        odd._tl_data[:3] = (np.nan, np.inf, -np.inf)
        yield SampleInput(odd, wrap(odd._tl_data.copy()))


@samples("tensorlike.eq", dtypes=ALL, reference=np.equal)
def _eq(make: Make) -> Iterator[SampleInput]:
    yield from _with_ties(make)


@samples("tensorlike.ne", dtypes=ALL, reference=np.not_equal)
def _ne(make: Make) -> Iterator[SampleInput]:
    yield from _with_ties(make)


@samples("tensorlike.lt", dtypes=_ORDERED, reference=np.less)
def _lt(make: Make) -> Iterator[SampleInput]:
    yield from _with_ties(make)


@samples("tensorlike.le", dtypes=_ORDERED, reference=np.less_equal)
def _le(make: Make) -> Iterator[SampleInput]:
    yield from _with_ties(make)


@samples("tensorlike.gt", dtypes=_ORDERED, reference=np.greater)
def _gt(make: Make) -> Iterator[SampleInput]:
    yield from _with_ties(make)


@samples("tensorlike.ge", dtypes=_ORDERED, reference=np.greater_equal)
def _ge(make: Make) -> Iterator[SampleInput]:
    yield from _with_ties(make)


@samples("tensorlike.equal", dtypes=ALL, reference=np.array_equal)
def _equal(make: Make) -> Iterator[SampleInput]:
    same = make(2, 3)
    yield SampleInput(same, wrap(same._tl_data.copy()))
    yield SampleInput(make(2, 3), make(2, 3))
    yield SampleInput(make(2, 3), make(3))
    yield SampleInput(make(0), make(0))
    yield SampleInput(make(), make())


@samples("tensorlike.isclose", "tensorlike.allclose", dtypes=ALL)
def _isclose(make: Make) -> Iterator[SampleInput]:
    yield from pairs(make, mixed=False)
    near = make(2, 3, requires_grad=False)
    other = wrap(near._tl_data.copy())
    if make.dtype.kind in "fc":
        other._tl_data[0] *= 1 + 1e-4
        other._tl_data[1, 1] = near._tl_data[1, 1] = np.nan
        other._tl_data[1, 2] = near._tl_data[1, 2] = np.inf
    yield SampleInput(near, other)
    yield SampleInput(near, other, rtol=1e-3)
    yield SampleInput(near, other, 1e-3, 1e-3, True)
    yield SampleInput(near, other, atol=2.0)
    yield SampleInput(near, other, rtol=0, atol=0, equal_nan=True)


def _odd(make: Make) -> Iterator[SampleInput]:
    yield from singles(make)
    if make.dtype.kind in "fc":
        odd = make(5, requires_grad=False)
        odd._tl_data[:3] = (np.nan, np.inf, -np.inf)
        yield SampleInput(odd)
    if make.dtype.kind == "c":
        odd = make(4, requires_grad=False)
        odd._tl_data[:3] = (builtins.complex(1, np.inf), builtins.complex(np.nan, 0), 2)
        yield SampleInput(odd)


@samples("tensorlike.isnan", dtypes=ALL, reference=np.isnan)
def _isnan(make: Make) -> Iterator[SampleInput]:
    yield from _odd(make)


@samples("tensorlike.isinf", dtypes=ALL, reference=np.isinf)
def _isinf(make: Make) -> Iterator[SampleInput]:
    yield from _odd(make)


@samples("tensorlike.isfinite", dtypes=ALL, reference=np.isfinite)
def _isfinite(make: Make) -> Iterator[SampleInput]:
    yield from _odd(make)


@samples("tensorlike.isreal", dtypes=ALL, reference=np.isreal)
def _isreal(make: Make) -> Iterator[SampleInput]:
    yield from _odd(make)


@samples("tensorlike.isposinf", "tensorlike.isneginf", dtypes=(*FLOATING, *BITS))
def _isposinf(make: Make) -> Iterator[SampleInput]:
    yield from _odd(make)
