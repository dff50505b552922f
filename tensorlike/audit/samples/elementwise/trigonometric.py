"""Samples of the functions of angles and of hyperbolas."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..sample import ALL, BITS, FLOATING, Make, SampleInput, samples
from .operands import in_floats, pairs, singles

for _name, _reference in {
    "sin": np.sin,
    "cos": np.cos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
}.items():

    @samples(f"tensorlike.{_name}", dtypes=ALL, reference=in_floats(_reference))
    def _anywhere(make: Make) -> Iterator[SampleInput]:
        yield from singles(make, -1.5, 1.5)


@samples("tensorlike.tan", dtypes=ALL, reference=in_floats(np.tan))
def _tan(make: Make) -> Iterator[SampleInput]:
    yield from singles(make, -1, 1)


@samples("tensorlike.asin", dtypes=ALL, reference=in_floats(np.arcsin))
def _asin(make: Make) -> Iterator[SampleInput]:
    yield from singles(make, -0.8, 0.8)


@samples("tensorlike.acos", dtypes=ALL, reference=in_floats(np.arccos))
def _acos(make: Make) -> Iterator[SampleInput]:
    yield from singles(make, -0.8, 0.8)


@samples("tensorlike.acosh", dtypes=ALL, reference=in_floats(np.arccosh))
def _acosh(make: Make) -> Iterator[SampleInput]:
    yield from singles(make, 1.2, 3)


@samples("tensorlike.atanh", dtypes=ALL, reference=in_floats(np.arctanh))
def _atanh(make: Make) -> Iterator[SampleInput]:
    yield from singles(make, -0.8, 0.8)


@samples("tensorlike.atan2", dtypes=(*FLOATING, *BITS), reference=in_floats(np.arctan2))
def _atan2(make: Make) -> Iterator[SampleInput]:
    yield from pairs(make, mixed=False)
    yield SampleInput(make(3), make(3, dtype="int64"))


@samples("tensorlike.hypot", dtypes=FLOATING, reference=np.hypot)
def _hypot(make: Make) -> Iterator[SampleInput]:
    yield from pairs(make, mixed=False)


@samples("tensorlike.deg2rad", "tensorlike.rad2deg", dtypes=(*FLOATING, *BITS))
def _deg2rad(make: Make) -> Iterator[SampleInput]:
    yield from singles(make)


@samples("tensorlike.sinc", dtypes=ALL)
def _sinc(make: Make) -> Iterator[SampleInput]:
    yield from singles(make)
