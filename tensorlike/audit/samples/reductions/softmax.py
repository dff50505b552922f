"""Samples of softmax and its relatives."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorlike.tensor.dtypes import float64

from ..sample import ALL, FLOATING, Make, SampleInput, samples


@samples("tensorlike.logsumexp", dtypes=ALL)
def _logsumexp(make: Make) -> Iterator[SampleInput]:
    # Imaginary parts are small enough for the logarithm to stay on its principal branch.
    yield SampleInput(make(3, 4, low=-1, high=1), 0)
    yield SampleInput(make(3, 4, low=-1, high=1), -1, True)
    yield SampleInput(make(2, 3, 4, low=-1, high=1), dim=(0, 2), keepdim=False)
    yield SampleInput(make(low=-1, high=1), 0)
    yield SampleInput(make(3, 0), 0)
    if make.dtype.kind == "f" and not make.requires_grad:
        yield SampleInput(make(0, 3), 0)
        extreme = make(2, 4)
        extreme._tl_data[:] = [[-np.inf, -1000, 1000, 1001], [-np.inf, -np.inf, -np.inf, -np.inf]]
        yield SampleInput(extreme, 1)


@samples("tensorlike.softmax", "tensorlike.log_softmax", dtypes=FLOATING)
def _softmax(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 4), 0)
    yield SampleInput(make(3, 4), dim=-1)
    yield SampleInput(make(2, 3, 4), 1)
    yield SampleInput(make(3, 4), 1, float64)
    yield SampleInput(make(), 0)
    yield SampleInput(make(0, 3), 1)
    yield SampleInput(make(3, 0), 1)
