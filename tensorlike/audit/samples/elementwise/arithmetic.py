"""Samples of sums, products, quotients and remainders."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..sample import ALL, FLOATING, INTEGERS, NUMERIC, REAL, Make, SampleInput, samples
from .operands import in_floats, pairs, with_numbers


def _factor(make: Make) -> float:
    return True if make.dtype.kind == "b" else 2 if make.dtype.kind in "iu" else 2.5


@samples("tensorlike.add", dtypes=ALL)
def _add(make: Make) -> Iterator[SampleInput]:
    yield from pairs(make)
    yield from with_numbers(make, 2, 2.5, True)
    yield SampleInput(make(2, 3), make(3), alpha=_factor(make))
    yield SampleInput(make(2), True if make.dtype.kind == "b" else 3, alpha=_factor(make))
    if make.dtype.kind == "c":
        yield SampleInput(make(2), make(2), alpha=1 - 2j)


@samples("tensorlike.sub", dtypes=NUMERIC)
def _sub(make: Make) -> Iterator[SampleInput]:
    yield from pairs(make)
    yield from with_numbers(make, 2, 2.5)
    yield SampleInput(make(2, 3), make(3), alpha=_factor(make))
    if make.dtype.kind == "c":
        yield SampleInput(make(2), make(2), alpha=1 - 2j)


@samples("tensorlike.rsub", dtypes=NUMERIC)
def _rsub(make: Make) -> Iterator[SampleInput]:
    yield from pairs(make)
    yield from with_numbers(make, 2, 2.5)
    yield SampleInput(make(2, 3), make(3), alpha=_factor(make))


@samples("tensorlike.Tensor.__rsub__", "tensorlike.Tensor.__rtruediv__", dtypes=NUMERIC)
def _reflected(make: Make) -> Iterator[SampleInput]:
    yield from with_numbers(make, 2, 2.5, low=1)


@samples("tensorlike.mul", dtypes=ALL, reference=np.multiply)
def _mul(make: Make) -> Iterator[SampleInput]:
    yield from pairs(make)
    yield from with_numbers(make, 2, 2.5)


@samples("tensorlike.div", dtypes=ALL)
def _div(make: Make) -> Iterator[SampleInput]:
    yield from pairs(make, second=(1, 3))
    yield from with_numbers(make, 2, -2.5)
    if make.dtype.kind in "iuf":
        for mode in ("floor", "trunc"):
            yield SampleInput(make(2, 3), make(3, low=1), rounding_mode=mode)
            yield SampleInput(make(5), 2, rounding_mode=mode)


@samples("tensorlike.true_divide", dtypes=ALL, reference=in_floats(np.true_divide))
def _true_divide(make: Make) -> Iterator[SampleInput]:
    yield from pairs(make, second=(1, 3))
    yield from with_numbers(make, 2, -2.5)


@samples("tensorlike.remainder", dtypes=REAL, reference=np.remainder)
def _remainder(make: Make) -> Iterator[SampleInput]:
    yield from pairs(make, first=(1, None), second=(1, 3))
    yield from with_numbers(make, 2, 2.5)


@samples("tensorlike.fmod", dtypes=REAL, reference=np.fmod)
def _fmod(make: Make) -> Iterator[SampleInput]:
    yield from pairs(make, first=(1, None), second=(1, 3))
    yield from with_numbers(make, 2, 2.5)


@samples(
    "tensorlike.floor_divide",
    dtypes=(*INTEGERS, *FLOATING),
    reference=np.floor_divide,
    gradcheck=False,
    reason="PyTorch gives it no derivative: its backward pass raises",
)
def _floor_divide(make: Make) -> Iterator[SampleInput]:
    # Without requires_grad: there is no backward pass.
    constant = Make(str(make.dtype))
    yield from pairs(constant, first=(1, None), second=(1, 3))
    yield from with_numbers(constant, 2, 2.5)
