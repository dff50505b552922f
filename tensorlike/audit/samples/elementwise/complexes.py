"""Samples of complex elements and their parts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..sample import ALL, COMPLEX, FLOATING, Make, SampleInput, samples
from .operands import pairs, singles


@samples("tensorlike.conj", dtypes=(*COMPLEX, "float64", "int64", "bool"), reference=np.conjugate)
def _conj(make: Make) -> Iterator[SampleInput]:
    yield from singles(make)


@samples("tensorlike.conj_physical", dtypes=ALL, reference=np.conjugate)
def _conj_physical(make: Make) -> Iterator[SampleInput]:
    yield from singles(make)


@samples("tensorlike.real", dtypes=ALL, reference=np.real)
def _real(make: Make) -> Iterator[SampleInput]:
    yield from singles(make)


@samples("tensorlike.imag", dtypes=COMPLEX, reference=np.imag)
def _imag(make: Make) -> Iterator[SampleInput]:
    yield from singles(make)


@samples("tensorlike.view_as_real", dtypes=COMPLEX)
def _view_as_real(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make(3, 2, contiguous=False))
    yield SampleInput(make())


@samples("tensorlike.view_as_complex", dtypes=FLOATING)
def _view_as_complex(make: Make) -> Iterator[SampleInput]:
    # The parts must lie next to each other, so that strided operands are refused: one column or contiguous ones.
    yield SampleInput(make(3, 2))
    yield SampleInput(make(2, 3, 2))
    yield SampleInput(make(2))


@samples("tensorlike.complex", "tensorlike.polar", dtypes=FLOATING)
def _complex(make: Make) -> Iterator[SampleInput]:
    yield from pairs(make, first=(0.5, 2), mixed=False)


@samples("tensorlike.angle", dtypes=ALL)
def _angle(make: Make) -> Iterator[SampleInput]:
    yield from singles(make)
