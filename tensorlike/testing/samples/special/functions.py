"""Samples of Bessel functions, orthogonal polynomials, and the functions of probability."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..base import BITS, FLOATING, Make, SampleInput, samples
from ..elementwise.operands import pairs, singles

__all__: list[str] = []

_REAL = (*FLOATING, *BITS)
_NONE = "PyTorch gives it no derivative"


@samples("tensorlike.i0", "tensorlike.special.i1", dtypes=_REAL, tolerance=1e-6)
def _exponential_bessel(make: Make) -> Iterator[SampleInput]:
    yield from singles(make)


# The scaled ones have a kink at 0.
@samples("tensorlike.special.i0e", "tensorlike.special.i1e", dtypes=_REAL, tolerance=1e-6)
def _scaled_bessel(make: Make) -> Iterator[SampleInput]:
    yield from singles(make, 0.2, 4)


@samples(
    *(
        f"tensorlike.special.{name}"
        for name in (
            "bessel_j0", "bessel_j1", "modified_bessel_i0", "modified_bessel_i1", "spherical_bessel_j0", "airy_ai",
        )
    ),
    dtypes=_REAL,
    gradcheck=False,
    tolerance=1e-5,
    reason=_NONE,
)  # fmt: skip
def _bessel(make: Make) -> Iterator[SampleInput]:
    yield from singles(make)


@samples(
    *(
        f"tensorlike.special.{name}"
        for name in (
            "bessel_y0", "bessel_y1", "modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0",
            "scaled_modified_bessel_k1",
        )
    ),
    dtypes=_REAL,
    gradcheck=False,
    tolerance=1e-5,
    reason=_NONE,
)  # fmt: skip
def _second_kind(make: Make) -> Iterator[SampleInput]:
    yield from singles(make, 0.3, 4)


_KINDS = "tuvw"


@samples(
    *(f"tensorlike.special.chebyshev_polynomial_{kind}" for kind in _KINDS),
    *(f"tensorlike.special.shifted_chebyshev_polynomial_{kind}" for kind in _KINDS),
    *(
        f"tensorlike.special.{name}"
        for name in ("hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p")
    ),
    dtypes=FLOATING,
    gradcheck=False,
    tolerance=2e-5,
    reason=_NONE,
)
def _polynomials(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3, low=0.1, high=0.9), make.integers(2, 3, low=0, high=5))
    yield SampleInput(make(3, low=0.1, high=0.9), make(2, 1, low=0, high=4), broadcasts=True)
    yield SampleInput(make(2, low=0.1, high=0.9), 3)
    yield SampleInput(make(2, low=0.1, high=0.9), -1)
    yield SampleInput(make(low=0.1, high=0.9), 2)
    yield SampleInput(make(0, 3, low=0.1, high=0.9), make.integers(3))


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


@samples("tensorlike.nextafter", reference=np.nextafter, gradcheck=False, reason=_NONE)
def _nextafter(make: Make) -> Iterator[SampleInput]:
    for first, second, larger in _SHAPES:
        one, other = make(*first, requires_grad=False), make(*second, requires_grad=False)
        yield SampleInput(one, other, broadcasts=larger)


@samples("tensorlike.frexp")
def _frexp(make: Make) -> Iterator[SampleInput]:
    yield from singles(make, 1.1, 1.9)


@samples("tensorlike.special.softmax", "tensorlike.special.log_softmax")
def _softmax(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), 1)
    yield SampleInput(make(2, 3), dim=0, dtype=make(dtype="float64").dtype)
    yield SampleInput(make(), 0)


@samples("tensorlike.special.logsumexp")
def _logsumexp(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), 1)
    yield SampleInput(make(2, 3), (0, 1), keepdim=True)
    yield SampleInput(make(), 0)
