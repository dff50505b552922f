"""Samples of covariances and correlations."""

from __future__ import annotations

from collections.abc import Iterator

from ..sample import COMPLEX, FLOATING, Make, SampleInput, samples

_INEXACT = (*FLOATING, *COMPLEX)


@samples("tensorlike.cov", dtypes=_INEXACT, tolerance=1e-5)
def _cov(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 5))
    yield SampleInput(make(4))
    yield SampleInput(make(2, 4, contiguous=False), correction=0)
    yield SampleInput(make(2, 4), fweights=make.integers(4, low=1, high=4))
    yield SampleInput(make(2, 4), aweights=make(4, low=1, high=2, dtype="float64", requires_grad=False))


@samples("tensorlike.corrcoef", dtypes=_INEXACT, tolerance=1e-5)
def _corrcoef(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 5))
    yield SampleInput(make(2, 4, contiguous=False))
