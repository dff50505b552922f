"""Samples of exponentials and logarithms."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..sample import ALL, BITS, COMPLEX, FLOATING, Make, SampleInput, samples
from .operands import in_floats, pairs, singles, with_numbers


@samples("tensorlike.exp", dtypes=ALL, reference=in_floats(np.exp))
def _exp(make: Make) -> Iterator[SampleInput]:
    yield from singles(make)


@samples("tensorlike.expm1", dtypes=ALL, reference=in_floats(np.expm1))
def _expm1(make: Make) -> Iterator[SampleInput]:
    yield from singles(make)


@samples("tensorlike.exp2", "tensorlike.sigmoid", dtypes=ALL)
def _exp2(make: Make) -> Iterator[SampleInput]:
    yield from singles(make)


@samples("tensorlike.log", dtypes=ALL, reference=in_floats(np.log))
def _log(make: Make) -> Iterator[SampleInput]:
    yield from singles(make, 0.2)


@samples("tensorlike.log2", dtypes=ALL, reference=in_floats(np.log2))
def _log2(make: Make) -> Iterator[SampleInput]:
    yield from singles(make, 0.2)


@samples("tensorlike.log10", dtypes=ALL, reference=in_floats(np.log10))
def _log10(make: Make) -> Iterator[SampleInput]:
    yield from singles(make, 0.2)


@samples("tensorlike.log1p", dtypes=ALL, reference=in_floats(np.log1p))
def _log1p(make: Make) -> Iterator[SampleInput]:
    yield from singles(make, -0.7)


@samples("tensorlike.logaddexp", dtypes=(*FLOATING, *COMPLEX))
def _logaddexp(make: Make) -> Iterator[SampleInput]:
    yield from pairs(make, (-1, 1), (-1, 1), mixed=False)


@samples("tensorlike.logaddexp2", dtypes=FLOATING, reference=np.logaddexp2)
def _logaddexp2(make: Make) -> Iterator[SampleInput]:
    yield from pairs(make, mixed=False)


@samples("tensorlike.xlogy", dtypes=(*FLOATING, *BITS))
def _xlogy(make: Make) -> Iterator[SampleInput]:
    yield from pairs(make, second=(0.2, 3))
    yield from with_numbers(make, 2, 0.5)
    zero = make(3, requires_grad=False)
    zero._tl_data[:2] = 0
    yield SampleInput(zero, make(3, low=0.2))


@samples("tensorlike.logit", dtypes=(*FLOATING, *BITS))
def _logit(make: Make) -> Iterator[SampleInput]:
    yield from singles(make, 0.1, 0.9)
    yield from singles(make, -1, 2, eps=0.2)


@samples("tensorlike.ldexp", dtypes=(*FLOATING, *COMPLEX, "int64", "int32"))
def _ldexp(make: Make) -> Iterator[SampleInput]:
    yield from pairs(make, mixed=False)
    yield SampleInput(make(2, 3), make(3, low=0, dtype="int64"))
