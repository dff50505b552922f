"""Samples of signs and absolute values."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorlike.autograd.tensor_base import wrap

from ..sample import ALL, BITS, FLOATING, NUMERIC, REAL, Make, SampleInput, samples
from .operands import pairs, singles, with_numbers


@samples("tensorlike.neg", dtypes=NUMERIC, reference=np.negative)
def _neg(make: Make) -> Iterator[SampleInput]:
    yield from singles(make)


@samples("tensorlike.positive", dtypes=NUMERIC, reference=np.positive)
def _positive(make: Make) -> Iterator[SampleInput]:
    yield from singles(make)


# Complex ones are tested elsewhere: they have no in-place form.
@samples("tensorlike.abs", dtypes=REAL, reference=np.absolute)
def _abs(make: Make) -> Iterator[SampleInput]:
    yield from singles(make)


@samples("tensorlike.sign", dtypes=(*REAL, "bool"))
def _sign(make: Make) -> Iterator[SampleInput]:
    yield from singles(make)


@samples("tensorlike.sgn", dtypes=ALL)
def _sgn(make: Make) -> Iterator[SampleInput]:
    yield from singles(make)


@samples("tensorlike.signbit", dtypes=(*REAL, "bool"))
def _signbit(make: Make) -> Iterator[SampleInput]:
    yield from singles(make)
    if make.dtype.kind == "f":
        yield SampleInput(wrap(np.array([0.0, -0.0, np.inf, -np.inf], make.dtype)))


@samples("tensorlike.copysign", dtypes=(*FLOATING, *BITS))
def _copysign(make: Make) -> Iterator[SampleInput]:
    yield from pairs(make)
    yield from with_numbers(make, -1, 2.5)
