"""Samples of powers and roots."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..sample import ALL, NUMERIC, Make, SampleInput, samples
from .operands import in_floats, pairs, singles, with_numbers


@samples("tensorlike.pow", dtypes=NUMERIC)
def _pow(make: Make) -> Iterator[SampleInput]:
    yield from pairs(make, first=(0.2, 3), second=(0, 2))
    yield from with_numbers(make, 2, 3, 0, 0.5, low=0.2)
    yield SampleInput(make(4, low=1), -1.0)
    if make.dtype.kind == "i":
        yield SampleInput(make(5, low=-2, high=2), make(5))
    if make.dtype.kind == "c":
        yield SampleInput(make(3, low=0.2), 1 - 0.5j)


@samples("tensorlike.float_power", dtypes=ALL)
def _float_power(make: Make) -> Iterator[SampleInput]:
    yield from pairs(make, first=(0.2, 3), second=(0, 2), mixed=False)
    yield from with_numbers(make, 2, 0.5, low=0.2)


@samples("tensorlike.Tensor.float_power_", dtypes=("float64", "complex128"))
def _float_power_(make: Make) -> Iterator[SampleInput]:
    """Give operands of the dtype of the result, which the target must have."""
    yield from (sample for sample in _float_power(make) if not sample.broadcasts)


@samples("tensorlike.square", dtypes=ALL)
def _square(make: Make) -> Iterator[SampleInput]:
    yield from singles(make)


@samples("tensorlike.sqrt", dtypes=ALL, reference=in_floats(np.sqrt))
def _sqrt(make: Make) -> Iterator[SampleInput]:
    yield from singles(make, 0.2)


@samples("tensorlike.rsqrt", "tensorlike.reciprocal", dtypes=ALL)
def _rsqrt(make: Make) -> Iterator[SampleInput]:
    yield from singles(make, 0.2)
