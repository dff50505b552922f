"""Samples of Bessel functions and Airy's."""

from __future__ import annotations

from collections.abc import Iterator

from ..elementwise.operands import singles
from ..sample import BITS, FLOATING, Make, SampleInput, samples

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
