"""Samples of the error function, the gamma function and their relatives."""

from __future__ import annotations

from collections.abc import Iterator

from ..elementwise.operands import singles
from ..sample import BITS, FLOATING, Make, SampleInput, samples

_REAL = (*FLOATING, *BITS)


@samples("tensorlike.erf", "tensorlike.erfc", dtypes=_REAL)
def _erf(make: Make) -> Iterator[SampleInput]:
    yield from singles(make)


@samples("tensorlike.erfinv", dtypes=_REAL)
def _erfinv(make: Make) -> Iterator[SampleInput]:
    yield from singles(make, -0.8, 0.8)


@samples("tensorlike.lgamma", "tensorlike.digamma", dtypes=_REAL)
def _lgamma(make: Make) -> Iterator[SampleInput]:
    yield from singles(make, 0.3, 4)


# PyTorch's trigamma function is accurate to nine digits.
@samples("tensorlike.polygamma", dtypes=_REAL, tolerance=2e-5)
def _polygamma(make: Make) -> Iterator[SampleInput]:
    for n in (0, 1, 2, 3):
        yield SampleInput(n, make(2, 3, low=0.5, high=4))
    yield SampleInput(1, make(low=1))
    yield SampleInput(2, make(0, 3))


@samples("tensorlike.Tensor.polygamma", dtypes=_REAL, tolerance=2e-5)
def _polygamma_method(make: Make) -> Iterator[SampleInput]:
    for n in (0, 1, 2, 3):
        yield SampleInput(make(2, 3, low=0.5, high=4), n)
    yield SampleInput(make(low=1), 1)
