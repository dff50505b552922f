"""Samples of logic on elements and on their bits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..sample import ALL, BITS, INTEGERS, Make, SampleInput, samples
from .operands import pairs, singles, with_numbers


@samples("tensorlike.logical_and", dtypes=ALL, reference=np.logical_and)
def _logical_and(make: Make) -> Iterator[SampleInput]:
    yield from pairs(make)


@samples("tensorlike.logical_or", dtypes=ALL, reference=np.logical_or)
def _logical_or(make: Make) -> Iterator[SampleInput]:
    yield from pairs(make)


@samples("tensorlike.logical_xor", dtypes=ALL, reference=np.logical_xor)
def _logical_xor(make: Make) -> Iterator[SampleInput]:
    yield from pairs(make)


@samples("tensorlike.logical_not", dtypes=ALL, reference=np.logical_not)
def _logical_not(make: Make) -> Iterator[SampleInput]:
    yield from singles(make)


@samples("tensorlike.bitwise_and", "tensorlike.bitwise_or", "tensorlike.bitwise_xor", dtypes=BITS)
def _bitwise_and(make: Make) -> Iterator[SampleInput]:
    yield from pairs(make, mixed=False)
    yield from with_numbers(make, 3, True)
    yield SampleInput(make(3), make(3, dtype="int64"))


@samples("tensorlike.bitwise_not", dtypes=BITS, reference=np.bitwise_not)
def _bitwise_not(make: Make) -> Iterator[SampleInput]:
    yield from singles(make)


@samples("tensorlike.bitwise_left_shift", "tensorlike.bitwise_right_shift", dtypes=INTEGERS)
def _shift(make: Make) -> Iterator[SampleInput]:
    yield from pairs(make, first=(0, 5), second=(0, 5), mixed=False)
    yield from with_numbers(make, 3, 0)
    yield SampleInput(make(3), make(3, low=0, high=7, dtype="int64"))
