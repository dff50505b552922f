"""Samples of pooling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..sample import FLOATING, Make, SampleInput, samples

_F = "tensorlike.nn.functional"
_MAX = (*FLOATING, "int32", "int64", "uint8")


def _max(make: Make, count: int) -> Iterator[SampleInput]:
    long = (5, 4, 4)[:count]
    yield SampleInput(make.distinct(2, 3, *long), 2)
    yield SampleInput(make.distinct(2, *long), (3, 2, 2)[:count], (2, 1, 2)[:count], 1)
    yield SampleInput(make.distinct(1, 2, *long), kernel_size=2, stride=1, dilation=2)
    yield SampleInput(make.distinct(1, 2, *long), 2, 3, 1, 1, True)
    yield SampleInput(make.distinct(1, 2, *long), 2, ceil_mode=True, return_indices=True)
    yield SampleInput(make.distinct(0, 2, *long), 2)
    if make.dtype.kind == "f" and not make.requires_grad:
        holes = make.distinct(1, 1, *long)
        holes._tl_data[..., 1] = np.nan
        yield SampleInput(holes, 2, 1)
        yield SampleInput(make(1, 1, *long)._tl_zeros((1, 1, *long), make.dtype), 2, return_indices=True)


@samples(f"{_F}.max_pool1d", f"{_F}.max_pool1d_with_indices", dtypes=FLOATING)
def _max_pool1d(make: Make) -> Iterator[SampleInput]:
    yield from _max(make, 1)


@samples(f"{_F}.max_pool2d", f"{_F}.max_pool2d_with_indices", dtypes=_MAX)
def _max_pool2d(make: Make) -> Iterator[SampleInput]:
    yield from _max(make, 2)


@samples(f"{_F}.max_pool3d", f"{_F}.max_pool3d_with_indices", dtypes=_MAX)
def _max_pool3d(make: Make) -> Iterator[SampleInput]:
    yield from _max(make, 3)


def _places(make: Make, *shape: int, volume: int) -> Any:
    """Return indices into a flattened output, different within each channel."""
    lead, count = shape[:2], int(np.prod(shape[2:]))
    index = np.stack([make.random.permutation(volume)[:count] for _ in range(int(np.prod(lead)))])
    tensor = make.integers(1)
    tensor._tl_data = index.reshape(shape)
    return tensor


@samples(f"{_F}.max_unpool1d")
def _max_unpool1d(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3, 3), _places(make, 2, 3, 3, volume=6), 2)
    yield SampleInput(make(2, 3, 3), _places(make, 2, 3, 3, volume=5), 3, 2, 1)
    yield SampleInput(make(1, 2, 2), _places(make, 1, 2, 2, volume=5), kernel_size=2, output_size=(5,))


@samples(f"{_F}.max_unpool2d")
def _max_unpool2d(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3, 2, 2), _places(make, 2, 3, 2, 2, volume=16), 2)
    yield SampleInput(make(1, 1, 2, 2), _places(make, 1, 1, 2, 2, volume=9), 3, 2, 1)
    yield SampleInput(make(1, 2, 2, 2), _places(make, 1, 2, 2, 2, volume=20), 2, output_size=(5, 4))


@samples(f"{_F}.max_unpool3d")
def _max_unpool3d(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(1, 2, 1, 2, 2), _places(make, 1, 2, 1, 2, 2, volume=32), 2)
    yield SampleInput(make(1, 1, 2, 2, 2), _places(make, 1, 1, 2, 2, 2, volume=27), 3, 2, 1, (3, 3, 3))


def _average(make: Make, count: int) -> Iterator[SampleInput]:
    long = (5, 4, 4)[:count]
    yield SampleInput(make(2, 3, *long), 2)
    yield SampleInput(make(2, *long), (3, 2, 2)[:count], (2, 1, 2)[:count], 1)
    yield SampleInput(make(1, 2, *long), 2, 3, 1, True)
    yield SampleInput(make(1, 2, *long), kernel_size=3, stride=2, padding=1, count_include_pad=False)
    yield SampleInput(make(1, 2, *long), 3, 2, 1, True, False)
    if count > 1:
        yield SampleInput(make(1, 2, *long), 2, 1, divisor_override=3)


@samples(f"{_F}.avg_pool1d", "tensorlike.avg_pool1d")
def _avg_pool1d(make: Make) -> Iterator[SampleInput]:
    yield from _average(make, 1)


@samples(f"{_F}.avg_pool2d")
def _avg_pool2d(make: Make) -> Iterator[SampleInput]:
    yield from _average(make, 2)


@samples(f"{_F}.avg_pool3d")
def _avg_pool3d(make: Make) -> Iterator[SampleInput]:
    yield from _average(make, 3)


def _power(make: Make, count: int) -> Iterator[SampleInput]:
    long = (5, 4, 4)[:count]
    # All positive: the root of a sum of zero has no derivative.
    yield SampleInput(make(2, 3, *long, low=0.5, high=2), 2, 2)
    yield SampleInput(make(2, 3, *long, low=0.5, high=2), 3.0, kernel_size=3, stride=1)
    yield SampleInput(make(2, *long, low=0.5, high=2), 2, (2,) * count if count > 1 else 2, 3, True)


@samples(f"{_F}.lp_pool1d")
def _lp_pool1d(make: Make) -> Iterator[SampleInput]:
    yield from _power(make, 1)


@samples(f"{_F}.lp_pool2d")
def _lp_pool2d(make: Make) -> Iterator[SampleInput]:
    yield from _power(make, 2)


@samples(f"{_F}.lp_pool3d")
def _lp_pool3d(make: Make) -> Iterator[SampleInput]:
    yield from _power(make, 3)


def _adaptive(make: Make, count: int, *, indices: bool) -> Iterator[SampleInput]:
    long = (5, 4, 6)[:count]
    yield SampleInput(make.distinct(2, 3, *long), 2)
    yield SampleInput(make.distinct(2, *long), (3, 4, 4)[:count])
    yield SampleInput(make.distinct(1, 2, *long), output_size=(7, 1, 2)[:count])
    if count > 1:
        yield SampleInput(make.distinct(1, 2, *long), (3, None, None)[:count])
    if indices:
        yield SampleInput(make.distinct(1, 2, *long), 3, True)
        yield SampleInput(make.distinct(1, 2, *long), 2, return_indices=True)


@samples(f"{_F}.adaptive_avg_pool1d", "tensorlike.adaptive_avg_pool1d")
def _adaptive_avg_pool1d(make: Make) -> Iterator[SampleInput]:
    yield from _adaptive(make, 1, indices=False)


@samples(f"{_F}.adaptive_avg_pool2d")
def _adaptive_avg_pool2d(make: Make) -> Iterator[SampleInput]:
    yield from _adaptive(make, 2, indices=False)


@samples(f"{_F}.adaptive_avg_pool3d")
def _adaptive_avg_pool3d(make: Make) -> Iterator[SampleInput]:
    yield from _adaptive(make, 3, indices=False)


@samples(f"{_F}.adaptive_max_pool1d", f"{_F}.adaptive_max_pool1d_with_indices")
def _adaptive_max_pool1d(make: Make) -> Iterator[SampleInput]:
    yield from _adaptive(make, 1, indices=True)


@samples(f"{_F}.adaptive_max_pool2d", f"{_F}.adaptive_max_pool2d_with_indices")
def _adaptive_max_pool2d(make: Make) -> Iterator[SampleInput]:
    yield from _adaptive(make, 2, indices=True)


@samples(f"{_F}.adaptive_max_pool3d", f"{_F}.adaptive_max_pool3d_with_indices")
def _adaptive_max_pool3d(make: Make) -> Iterator[SampleInput]:
    yield from _adaptive(make, 3, indices=True)
