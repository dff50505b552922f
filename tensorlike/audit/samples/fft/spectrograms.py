"""Samples of short-time Fourier transforms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..sample import COMPLEX, FLOATING, Make, SampleInput, samples


@samples("tensorlike.stft", dtypes=(*FLOATING, *COMPLEX))
def _stft(make: Make) -> Iterator[SampleInput]:
    real = make.dtype.kind != "c"
    given: dict[str, Any] = {"return_complex": True}
    yield SampleInput(make(9), 4, **given)
    yield SampleInput(make(2, 8), 4, 2, 3, make(3, requires_grad=False), **given)
    yield SampleInput(make(8), 4, 1, window=make(4), center=False, **given)
    yield SampleInput(make(8), 4, pad_mode="constant", normalized=True, onesided=False, **given)
    yield SampleInput(make(9), 5, 3, 3, center=False, align_to_window=True, **given)
    yield SampleInput(make(8), 4, 3, pad_mode="replicate", onesided=real, return_complex=False)


@samples("tensorlike.istft", dtypes=COMPLEX)
def _istft(make: Make) -> Iterator[SampleInput]:
    single = make.dtype.itemsize == 8
    part = "float32" if single else "float64"
    window = make(4, dtype=part, low=1, high=2, requires_grad=False)
    yield SampleInput(make(3, 5), 4, window=window)
    yield SampleInput(make(2, 3, 5), 4, 2, window=make(4, dtype=part, low=1, high=2))
    yield SampleInput(make(3, 5), 4, 1, 3, window=window[:3], normalized=True)
    yield SampleInput(make(3, 5), 4, 2, window=window, center=False)
    yield SampleInput(make(3, 4), 5, 2, window=make(5, dtype=part, low=1, high=2), length=7)
    yield SampleInput(make(4, 5), 4, 2, window=window, return_complex=True)
    yield SampleInput(make(4, 5), 4, 2, window=window, onesided=False)
