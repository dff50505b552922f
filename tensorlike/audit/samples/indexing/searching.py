"""Samples of distinct elements, positions, and membership."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorlike.autograd.tensor_base import wrap

from ..sample import REAL, Make, SampleInput, samples

_NO_DERIVATIVE = "what is found depends on the input in steps"


def _few(make: Make, *shape: int) -> object:
    return wrap(make.random.integers(0, 3, shape).astype(make.dtype))


def _rising(make: Make, *shape: int) -> object:
    return wrap(np.sort(make.array(*shape), -1))


@samples("tensorlike.unique", dtypes=(*REAL, "bool"), gradcheck=False, reason=_NO_DERIVATIVE)
def _unique(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(_few(make, 6))
    yield SampleInput(_few(make, 3, 4), True, True, True)
    yield SampleInput(_few(make, 3, 4), return_counts=True)
    yield SampleInput(_few(make, 6, 2), return_inverse=True, return_counts=True, dim=0)
    yield SampleInput(_few(make, 2, 6), sorted=False, dim=-1)
    yield SampleInput(_few(make), return_inverse=True)
    yield SampleInput(_few(make, 0), return_inverse=True, return_counts=True)
    yield SampleInput(_few(make, 0, 3), return_inverse=True, dim=0)


@samples("tensorlike.unique_consecutive", dtypes=(*REAL, "bool"), gradcheck=False, reason=_NO_DERIVATIVE)
def _unique_consecutive(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(_few(make, 9))
    yield SampleInput(_few(make, 3, 4), True, True)
    yield SampleInput(_few(make, 6, 2), return_inverse=True, return_counts=True, dim=0)
    yield SampleInput(_few(make, 1, 9), return_counts=True, dim=-1)
    yield SampleInput(_few(make), return_inverse=True)
    yield SampleInput(_few(make, 0), return_inverse=True, return_counts=True)


@samples("tensorlike.searchsorted", dtypes=REAL)
def _searchsorted(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(_rising(make, 6), make(2, 3))
    yield SampleInput(_rising(make, 6), 1)
    yield SampleInput(_rising(make, 2, 6), make(2, 3))
    yield SampleInput(_rising(make, 2, 6), make(2, 3), right=True, out_int32=True)
    yield SampleInput(_rising(make, 2, 3, 6), make(2, 3, 4), side="left")
    yield SampleInput(_rising(make, 2, 3, 6), make(2, 3, 4), side="right")
    yield SampleInput(_rising(make, 6), make(), side="right")
    yield SampleInput(_rising(make, 0), make(2))
    shuffled = make(2, 6)
    yield SampleInput(shuffled, make(2, 3), sorter=wrap(np.argsort(shuffled._tl_data, -1)))


@samples("tensorlike.bucketize", dtypes=REAL)
def _bucketize(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), _rising(make, 6))
    yield SampleInput(make(2, 3), _rising(make, 6), out_int32=True, right=True)
    yield SampleInput(1, _rising(make, 6))
    yield SampleInput(make(0), _rising(make, 6))


@samples("tensorlike.isin", dtypes=REAL)
def _isin(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(_few(make, 3, 4), _few(make, 2))
    yield SampleInput(make.distinct(3, 4), make.distinct(4), assume_unique=True, invert=True)
    yield SampleInput(_few(make, 3, 4), 2)
    yield SampleInput(2, _few(make, 3))
    yield SampleInput(_few(make), _few(make, 0))
