"""Samples of variances, medians, modes and quantiles."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorlike.autograd.tensor_base import wrap

from ..sample import COMPLEX, FLOATING, REAL, Make, SampleInput, samples


@samples("tensorlike.var", "tensorlike.std", "tensorlike.var_mean", "tensorlike.std_mean", dtypes=(*FLOATING, *COMPLEX))
def _var(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 4))
    yield SampleInput(make(3, 4), 0)
    yield SampleInput(make(3, 4), False)
    yield SampleInput(make(3, 4), -1, False, True)
    yield SampleInput(make(2, 3, 4), dim=(0, -1))
    yield SampleInput(make(2, 3, 4), (0, 1), keepdim=True, correction=0)
    yield SampleInput(make(3, 4), 1, correction=1.5)
    yield SampleInput(make(3, 4), unbiased=False)
    yield SampleInput(make(3, 0), 0)


@samples("tensorlike.median", "tensorlike.nanmedian", dtypes=REAL)
def _median(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make.distinct(5))
    yield SampleInput(make.distinct(3, 4))
    yield SampleInput(make.distinct(3, 4), 0)
    yield SampleInput(make.distinct(3, 4), -1, True)
    yield SampleInput(make.distinct(2, 3, 5), dim=1, keepdim=False)
    yield SampleInput(make.distinct())
    yield SampleInput(make.distinct(), 0)
    yield SampleInput(make.distinct(0, 3), 1)
    if make.dtype.kind == "f" and not make.requires_grad:
        holes = make.distinct(3, 5)
        holes._tl_data[0, 1] = holes._tl_data[0, 3] = holes._tl_data[2, 4] = np.nan
        yield SampleInput(holes)
        yield SampleInput(holes, 1)


@samples("tensorlike.mode", dtypes=(*REAL, "bool"))
def _mode(make: Make) -> Iterator[SampleInput]:
    values = make.random.integers(0, 3, (4, 5)) * 1.5
    repeated = wrap(values.astype(make.dtype))
    if make.requires_grad and make.dtype.kind == "f":
        repeated = make.distinct(4, 5)
    yield SampleInput(repeated)
    yield SampleInput(repeated, 0)
    yield SampleInput(repeated, dim=1, keepdim=True)
    yield SampleInput(make.distinct())
    yield SampleInput(make.distinct(0, 3), 1)


@samples("tensorlike.quantile", "tensorlike.nanquantile", dtypes=FLOATING)
def _quantile(make: Make) -> Iterator[SampleInput]:
    many = wrap(np.array([0.0, 0.31, 0.77, 1.0], make.dtype))
    yield SampleInput(make.distinct(5), 0.3)
    yield SampleInput(make.distinct(3, 4), 0.3, 0)
    yield SampleInput(make.distinct(3, 4), many, 1, True)
    yield SampleInput(make.distinct(3, 4), many, keepdim=True)
    yield SampleInput(make.distinct(3, 4), wrap(np.array(0.4, make.dtype)), dim=-1)
    yield SampleInput(make.distinct(), 0.5, 0)
    for interpolation in ("linear", "lower", "higher", "midpoint", "nearest"):
        yield SampleInput(make.distinct(3, 6), many, dim=-1, interpolation=interpolation)
    if not make.requires_grad:
        holes = make.distinct(3, 5)
        holes._tl_data[0, 1] = holes._tl_data[0, 3] = holes._tl_data[2, 4] = np.nan
        yield SampleInput(holes, many, 1)
