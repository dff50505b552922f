"""Samples of norms and products under the names of linear algebra."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tensorlike.tensor.dtypes import complex128, float64

from ..sample import ALL, COMPLEX, FLOATING, NUMERIC, Make, SampleInput, samples
from .decompositions import spread, well_conditioned

INEXACT = (*FLOATING, *COMPLEX)


@samples("tensorlike.linalg.vector_norm", dtypes=INEXACT)
def _vector_norm(make: Make) -> Iterator[SampleInput]:
    wide = complex128 if make.dtype.kind == "c" else float64
    yield SampleInput(make(2, 3))
    yield SampleInput(make())
    yield SampleInput(make(0))
    yield SampleInput(make(2, 3), dim=(0, 1), keepdim=True)
    yield SampleInput(make(2, 3), 2, 1, dtype=wide)
    for order in (1, 1.5, 2.5, 3, 0.5, -1, math.inf, -math.inf):
        yield SampleInput(make(3, 4), order, 1, True)


@samples("tensorlike.linalg.matrix_norm", dtypes=INEXACT)
def _matrix_norm(make: Make) -> Iterator[SampleInput]:
    wide = complex128 if make.dtype.kind == "c" else float64
    for order in ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf):
        yield SampleInput(spread(make, 3, 2), order)
        yield SampleInput(spread(make, 2, 3, 3), order, (2, 0), True)
    yield SampleInput(spread(make, 2, 2, 3), 1, dtype=wide)
    yield SampleInput(spread(make, 2, 2, 3), "nuc", dim=(1, 2), dtype=wide)
    for order in ("fro", "nuc", 1, 2, math.inf):
        yield SampleInput(make(0, 3, requires_grad=False), order)


@samples("tensorlike.linalg.norm", dtypes=INEXACT)
def _norm(make: Make) -> Iterator[SampleInput]:
    wide = complex128 if make.dtype.kind == "c" else float64
    yield SampleInput(make(2, 3, 2))
    yield SampleInput(make())
    yield SampleInput(make(3), 1)
    yield SampleInput(spread(make, 3, 3), 2)
    yield SampleInput(spread(make, 3, 2), "nuc")
    yield SampleInput(make(2, 3, 2), math.inf, 1)
    yield SampleInput(make(2, 3, 2), math.inf, (0, 1), True)
    yield SampleInput(make(2, 3), dim=0, keepdim=True, dtype=wide)
    yield SampleInput(make(2, 3, 2), "fro", (0, 2))


@samples("tensorlike.linalg.matmul", dtypes=NUMERIC)
def _matmul(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make(3, 4))
    yield SampleInput(make(2, 3, 4), make(4))


@samples("tensorlike.linalg.matrix_power", dtypes=INEXACT)
def _matrix_power(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(well_conditioned(make, 3, 3), 3)
    yield SampleInput(well_conditioned(make, 2, 2, 2), -2)
    yield SampleInput(make(2, 2), 0)


@samples("tensorlike.linalg.diagonal", dtypes=ALL)
def _diagonal(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 3))
    yield SampleInput(make(2, 3, 4), offset=1)
    yield SampleInput(make(2, 3, 4), offset=-1, dim1=0, dim2=1)


@samples("tensorlike.linalg.cross", dtypes=NUMERIC)
def _cross(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3), make(3))
    yield SampleInput(make(2, 3), make(1, 3))
    yield SampleInput(make(3, 2), make(3, 2), dim=0)


@samples("tensorlike.linalg.vecdot", dtypes=INEXACT)
def _vecdot(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make(2, 3))
    yield SampleInput(make(3), make(2, 3))
    yield SampleInput(make(2, 3), make(2, 3), dim=0)
    yield SampleInput(make(0), make(0))


@samples("tensorlike.linalg.multi_dot", dtypes=NUMERIC)
def _multi_dot(make: Make) -> Iterator[SampleInput]:
    yield SampleInput([make(2, 3), make(3, 4), make(4, 2)])
    yield SampleInput([make(3), make(3, 4), make(4)])
    yield SampleInput([make(2, 3), make(3)])
    yield SampleInput((make(3), make(3, 4)))


@samples("tensorlike.linalg.tensorinv", dtypes=INEXACT)
def _tensorinv(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(well_conditioned(make, 6, 6, requires_grad=False).reshape(2, 3, 6))
    yield SampleInput(well_conditioned(make, 4, 4, requires_grad=False).reshape(4, 2, 2), ind=1)
    yield SampleInput(well_conditioned(make, 3, 3), 1)


@samples("tensorlike.linalg.tensorsolve", dtypes=INEXACT)
def _tensorsolve(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(well_conditioned(make, 6, 6, requires_grad=False).reshape(2, 3, 6), make(2, 3))
    yield SampleInput(well_conditioned(make, 3, 3), make(3))
    moved = well_conditioned(make, 6, 6, requires_grad=False).reshape(2, 3, 3, 2).movedim((2, 3), (0, 1))
    yield SampleInput(moved.contiguous(), make(2, 3), dims=(0, 1))


@samples("tensorlike.linalg.vander", dtypes=NUMERIC)
def _vander(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3))
    yield SampleInput(make(2, 3), N=4)
    yield SampleInput(make(2, 0), N=2)


@samples("tensorlike.vander", dtypes=NUMERIC)
def _old_vander(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3))
    yield SampleInput(make(3), 2)
    yield SampleInput(make(3), N=4, increasing=True)
    yield SampleInput(make(3), 1)


@samples("tensorlike.linalg.matrix_exp", "tensorlike.matrix_exp", dtypes=INEXACT, tolerance=1e-4)
def _matrix_exp(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 3, low=-1, high=1))
    yield SampleInput(make(2, 2, 2, low=-1, high=1))
    yield SampleInput(make(1, 1, low=-1, high=1))
    yield SampleInput(make(0, 0))
