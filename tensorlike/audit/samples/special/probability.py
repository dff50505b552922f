"""Samples of the functions of probability, incomplete gamma functions and zeta."""

from __future__ import annotations

from collections.abc import Iterator

from ..elementwise.operands import pairs, singles
from ..sample import BITS, FLOATING, Make, SampleInput, samples

_REAL = (*FLOATING, *BITS)


@samples(
    "tensorlike.special.ndtr", "tensorlike.special.log_ndtr", "tensorlike.special.erfcx", dtypes=_REAL, tolerance=1e-5
)
def _normal(make: Make) -> Iterator[SampleInput]:
    yield from singles(make, -2, 2)


@samples("tensorlike.special.ndtri", dtypes=_REAL, tolerance=1e-5)
def _normal_quantile(make: Make) -> Iterator[SampleInput]:
    yield from singles(make, 0.1, 0.9)


@samples("tensorlike.special.entr", dtypes=_REAL)
def _entropy(make: Make) -> Iterator[SampleInput]:
    yield from singles(make, 0.2, 3)


@samples("tensorlike.special.xlog1py", dtypes=_REAL)
def _xlog1py(make: Make) -> Iterator[SampleInput]:
    yield from pairs(make, (0.2, 2), (-0.5, 2))
    yield SampleInput(make(2, low=0.2, high=2), 1.5)
    yield SampleInput(1.5, make(2, low=0.2, high=2), broadcasts=True)


_SHAPES = (((2, 3), (2, 3), False), ((2, 3), (3,), False), ((), (2,), True), ((0, 3), (3,), False))


# Only the second operand has a derivative.
@samples("tensorlike.special.zeta", dtypes=_REAL, tolerance=1e-5)
def _zeta(make: Make) -> Iterator[SampleInput]:
    for first, second, larger in _SHAPES:
        order = make(*first, low=2, high=4, requires_grad=False)
        yield SampleInput(order, make(*second, low=1, high=3), broadcasts=larger)
    yield SampleInput(2.5, make(3, low=1, high=3), broadcasts=True)


@samples("tensorlike.igamma", "tensorlike.igammac", tolerance=1e-5)
def _incomplete_gamma(make: Make) -> Iterator[SampleInput]:
    for first, second, larger in _SHAPES:
        order = make(*first, low=1, high=3, requires_grad=False)
        yield SampleInput(order, make(*second, low=0.5, high=3), broadcasts=larger)


@samples("tensorlike.mvlgamma", dtypes=FLOATING, tolerance=1e-5)
def _mvlgamma(make: Make) -> Iterator[SampleInput]:
    for p in (1, 2, 3):
        yield SampleInput(make(2, 3, low=1.5, high=4), p)
    yield SampleInput(make(low=2, high=3), 2)
    yield SampleInput(make(0, 3), 2)
