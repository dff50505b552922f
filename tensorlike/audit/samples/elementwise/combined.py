"""Samples of fused arithmetic."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..sample import BITS, COMPLEX, FLOATING, INTEGERS, NUMERIC, Make, SampleInput, samples
from .operands import pairs


@samples("tensorlike.addcmul", dtypes=NUMERIC)
def _addcmul(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make(2, 3), make(2, 3))
    yield SampleInput(make(2, 3), make(3), make(2, 1), value=2)
    yield SampleInput(make(1), make(3), make(2, 1), value=3 if make.dtype.kind in "iu" else -0.5, broadcasts=True)
    yield SampleInput(make(), make(), make())
    yield SampleInput(make(0, 3), make(3), make(3))


@samples("tensorlike.addcdiv", dtypes=(*FLOATING, *COMPLEX))
def _addcdiv(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make(2, 3), make(2, 3, low=1))
    yield SampleInput(make(2, 3), make(3), make(2, 1, low=1), value=2)
    yield SampleInput(make(1), make(3), make(2, 1, low=1), value=-0.5, broadcasts=True)
    yield SampleInput(make(), make(), make(low=1))
    yield SampleInput(make(0, 3), make(3), make(3))


@samples("tensorlike.lerp", dtypes=(*FLOATING, *COMPLEX))
def _lerp(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make(2, 3), 0.25)
    yield SampleInput(make(2, 3), make(3), 1.5)
    yield SampleInput(make(2, 3), make(3), make(2, 1))
    yield SampleInput(make(2, 1), make(3), make(), broadcasts=True)
    yield SampleInput(make(), make(), 0)
    yield SampleInput(make(0, 3), make(3), 1)


@samples("tensorlike.gcd", dtypes=INTEGERS, reference=np.gcd)
def _gcd(make: Make) -> Iterator[SampleInput]:
    yield from pairs(make, mixed=False)
    yield SampleInput(make(3), make(3, dtype="int64"))


@samples("tensorlike.lcm", dtypes=INTEGERS, reference=np.lcm)
def _lcm(make: Make) -> Iterator[SampleInput]:
    yield from pairs(make, mixed=False)
    yield SampleInput(make(3), make(3, dtype="int64"))


@samples(
    "tensorlike.heaviside",
    dtypes=(*BITS, *FLOATING),
    gradcheck=False,
    reason="PyTorch gives it no derivative: its backward pass raises",
)
def _heaviside(make: Make) -> Iterator[SampleInput]:
    constant = Make(str(make.dtype))
    yield from pairs(constant, mixed=False)
    zeros = constant(4)
    zeros._tl_data[:2] = 0
    yield SampleInput(zeros, constant(4))
