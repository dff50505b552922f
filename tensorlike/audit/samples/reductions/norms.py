"""Samples of norms, and of renormalization."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tensorlike.tensor.dtypes import complex128, float64

from ..sample import COMPLEX, FLOATING, Make, SampleInput, samples


@samples("tensorlike.norm", dtypes=(*FLOATING, *COMPLEX))
def _norm(make: Make) -> Iterator[SampleInput]:
    wide = complex128 if make.dtype.kind == "c" else float64
    yield SampleInput(make(2, 3))
    yield SampleInput(make())
    yield SampleInput(make(0))
    yield SampleInput(make(2, 3), "fro", 1)
    yield SampleInput(make(2, 3), "fro", (0, 1), True)
    yield SampleInput(make(2, 3), 2, dim=0, dtype=wide)
    yield SampleInput(make(3, 2), "nuc")
    yield SampleInput(make(2, 3, 2), "nuc", (0, 2), True)
    for p in (1, 1.5, 2, 2.5, 3, 0.5, -1, math.inf, -math.inf):
        yield SampleInput(make(3, 4), p)
        yield SampleInput(make(3, 4), p, 1, True)
    if not make.requires_grad:
        yield SampleInput(make(3, 4), 0, 1)


_INEXACT = (*FLOATING, *COMPLEX)


@samples("tensorlike.dist", dtypes=_INEXACT, tolerance=1e-5)
def _dist(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make(2, 3))
    yield SampleInput(make(2, 3), make(3), 3)
    yield SampleInput(make(2, 3), make(2, 3), p=1)


@samples("tensorlike.renorm", dtypes=_INEXACT, tolerance=1e-5)
def _renorm(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 4), 2, 0, 1.5)
    yield SampleInput(make(2, 3, 2), 3, 1, 2)
    yield SampleInput(make(3, 4), 1, -1, 0.5)
