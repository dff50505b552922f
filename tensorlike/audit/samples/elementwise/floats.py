"""Samples of `frexp`, `nextafter` and `nan_to_num`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..sample import ALL, Make, SampleInput, samples
from .operands import singles

_NONE = "PyTorch gives it no derivative"
_SHAPES = (((2, 3), (2, 3), False), ((2, 3), (3,), False), ((), (2,), True), ((0, 3), (3,), False))


@samples("tensorlike.nextafter", reference=np.nextafter, gradcheck=False, reason=_NONE)
def _nextafter(make: Make) -> Iterator[SampleInput]:
    for first, second, larger in _SHAPES:
        one, other = make(*first, requires_grad=False), make(*second, requires_grad=False)
        yield SampleInput(one, other, broadcasts=larger)


@samples("tensorlike.frexp")
def _frexp(make: Make) -> Iterator[SampleInput]:
    yield from singles(make, 1.1, 1.9)


@samples("tensorlike.nan_to_num", dtypes=ALL)
def _nan_to_num(make: Make) -> Iterator[SampleInput]:
    if make.dtype.kind == "c" and make.requires_grad:
        # PyTorch refuses to record it, so there is nothing to compare with.
        make = Make(str(make.dtype))
    yield from singles(make)
    odd = make(4, requires_grad=False)
    if make.dtype.kind in "fc":
        odd._tl_data[:3] = (np.nan, np.inf, -np.inf)
    yield SampleInput(odd)
    yield SampleInput(odd, 1.0, posinf=2.0, neginf=-3.0)
