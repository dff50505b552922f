"""Samples of inverses, solutions of equations, determinants, and least squares."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorlike.tensor.creation.from_data import tensor

from ..sample import COMPLEX, FLOATING, Make, SampleInput, samples
from .decompositions import hermitian, spread, well_conditioned

INEXACT = (*FLOATING, *COMPLEX)


@samples("tensorlike.linalg.inv_ex", dtypes=INEXACT)
def _inv_ex(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(well_conditioned(make, 3, 3), check_errors=True)
    yield SampleInput(well_conditioned(make, 2, 2, 2))
    yield SampleInput(make(2, 0, 0))


@samples("tensorlike.linalg.inv", "tensorlike.inverse", dtypes=INEXACT)
def _inv(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(well_conditioned(make, 3, 3))
    yield SampleInput(well_conditioned(make, 2, 2, 2))
    yield SampleInput(make(0, 0))
    yield SampleInput(make(2, 0, 0))


@samples("tensorlike.linalg.det", "tensorlike.det", dtypes=INEXACT, reference=np.linalg.det)
def _det(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 3))
    yield SampleInput(make(2, 2, 2))
    yield SampleInput(well_conditioned(make, 1, 1))
    yield SampleInput(make(0, 0))
    yield SampleInput(make(2, 0, 0))


@samples("tensorlike.linalg.slogdet", "tensorlike.slogdet", dtypes=INEXACT)
def _slogdet(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(well_conditioned(make, 3, 3))
    yield SampleInput(well_conditioned(make, 2, 2, 2))
    yield SampleInput(make(0, 0))


@samples("tensorlike.logdet", dtypes=INEXACT)
def _logdet(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(well_conditioned(make, 3, 3))
    yield SampleInput(well_conditioned(make, 2, 2, 2))


@samples("tensorlike.linalg.solve_ex", dtypes=INEXACT)
def _solve_ex(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(well_conditioned(make, 3, 3), make(3, 2), check_errors=True)
    yield SampleInput(well_conditioned(make, 2, 1, 2, 2), make(3, 2, 1), name="batches broadcast")
    yield SampleInput(well_conditioned(make, 3, 3), make(2, 3), left=False)


@samples("tensorlike.linalg.solve", dtypes=INEXACT)
def _solve(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(well_conditioned(make, 3, 3), make(3, 2))
    yield SampleInput(well_conditioned(make, 3, 3), make(3), name="a vector")
    yield SampleInput(well_conditioned(make, 2, 3, 3), make(2, 3), name="a vector for each matrix")
    yield SampleInput(well_conditioned(make, 2, 3, 3), make(3), name="one vector for all matrices")
    yield SampleInput(well_conditioned(make, 3, 3), make(2, 3, 1), name="one matrix for all columns")
    yield SampleInput(well_conditioned(make, 2, 1, 2, 2), make(3, 2, 1), name="batches broadcast")
    yield SampleInput(well_conditioned(make, 3, 3), make(2, 3), left=False)
    yield SampleInput(make(0, 0), make(0, 2))


@samples("tensorlike.linalg.solve_triangular", dtypes=INEXACT)
def _solve_triangular(make: Make) -> Iterator[SampleInput]:
    for upper in (True, False):
        yield SampleInput(well_conditioned(make, 3, 3), make(3, 2), upper=upper)
        yield SampleInput(well_conditioned(make, 3, 3), make(2, 3), upper=upper, left=False)
        yield SampleInput(make(3, 3, low=-1, high=1), make(3, 2), upper=upper, unitriangular=True)
    yield SampleInput(well_conditioned(make, 2, 3, 3), make(2, 3, 1), upper=True)
    yield SampleInput(well_conditioned(make, 3, 3), make(5, 3, 1), upper=False, name="one matrix for a large batch")
    yield SampleInput(well_conditioned(make, 2, 1, 2, 2), make(3, 2, 1), upper=False, name="batches broadcast")
    yield SampleInput(make(0, 0), make(0, 2), upper=True)


@samples("tensorlike.triangular_solve", dtypes=INEXACT)
def _old_triangular_solve(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 2), well_conditioned(make, 3, 3))
    yield SampleInput(make(3, 2), well_conditioned(make, 3, 3), False, True)
    yield SampleInput(make(2, 3, 1), make(3, 3, low=-1, high=1), unitriangular=True)


@samples("tensorlike.linalg.pinv", dtypes=INEXACT)
def _pinv(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(spread(make, 3, 3))
    yield SampleInput(spread(make, 4, 2))
    yield SampleInput(spread(make, 2, 2, 4), rtol=1e-3)
    yield SampleInput(spread(make, 2, 3, 2), atol=1e-3)
    yield SampleInput(spread(make, 2, 3, 2, requires_grad=False), atol=tensor([0.5, 3.5]), rtol=tensor([1e-3, 0.0]))
    yield SampleInput(make(0, 3))
    yield SampleInput(make(2, 3, 0))
    if not make.requires_grad:
        # The gradient is that of a Hermitian matrix.
        yield SampleInput(hermitian(make, 3, 3), hermitian=True)
        yield SampleInput(hermitian(make, 3, 3), rtol=0.6, hermitian=True)


@samples("tensorlike.pinverse", dtypes=INEXACT)
def _pinverse(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(spread(make, 3, 2))
    yield SampleInput(spread(make, 2, 3), 1e-3)


# PyTorch's drivers use different algorithms.
@samples("tensorlike.linalg.lstsq", dtypes=INEXACT)
def _lstsq(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(spread(make, 4, 2), make(4, 3))
    yield SampleInput(spread(make, 2, 4), make(2, 1))
    yield SampleInput(spread(make, 4, 2), make(4), name="a vector")
    yield SampleInput(spread(make, 2, 4, 2), make(2, 4), name="a vector for each matrix")
    yield SampleInput(spread(make, 2, 3, 3), make(2, 3, 1), 1e-6)
    for driver in ("gels", "gelsd", "gelss", "gelsy"):
        yield SampleInput(spread(make, 4, 2, requires_grad=False), make(4, 3, requires_grad=False), driver=driver)


@samples("tensorlike.linalg.matrix_rank", dtypes=INEXACT)
def _matrix_rank(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(spread(make, 3, 3))
    yield SampleInput(spread(make, 2, 2, 4), rtol=0.6)
    yield SampleInput(spread(make, 3, 2), atol=3.0)
    yield SampleInput(spread(make, 2, 3, 2), atol=tensor([0.5, 3.5]), rtol=tensor([1e-3, 0.0]))
    yield SampleInput(hermitian(make, 3, 3), hermitian=True)
    yield SampleInput(make(0, 3))
    yield SampleInput(make(2, 3, 0))


@samples("tensorlike.linalg.cond", dtypes=INEXACT)
def _cond(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(spread(make, 3, 3))
    yield SampleInput(spread(make, 4, 2), 2)
    yield SampleInput(spread(make, 2, 2, 4), -2)
    for p in ("fro", "nuc", 1, -1, float("inf"), -float("inf")):
        yield SampleInput(spread(make, 3, 3), p)
    yield SampleInput(make(2, 0, 0))
