"""Samples of orthogonal polynomials."""

from __future__ import annotations

from collections.abc import Iterator

from ..sample import FLOATING, Make, SampleInput, samples

_NONE = "PyTorch gives it no derivative"


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
