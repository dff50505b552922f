"""Samples of reductions of segments."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from tensorlike.tensor.creation.from_data import tensor

from ..sample import Make, SampleInput, samples


@samples("tensorlike.segment_reduce")
def _segment_reduce(make: Make) -> Iterator[SampleInput]:
    offsets = tensor([0, 2, 2, 5])
    for reduce in ("sum", "mean", "max", "min", "prod"):
        # Some reductions of empty segments are infinite or NaN, and their differences NaN.
        lengths = tensor([2, 0, 3] if reduce in ("sum", "prod") or not make.requires_grad else [2, 3])
        # Second derivatives of products are wrong where a factor is zero, as those of scatter_reduce are.
        data = make.distinct if reduce != "prod" else functools.partial(make, low=0.5)
        yield SampleInput(data(5), reduce, lengths=lengths)
        yield SampleInput(data(5, 2), reduce, offsets=offsets, initial=0.25)
    yield SampleInput(make.distinct(2, 4), "mean", lengths=tensor([[1, 3], [2, 2]]), axis=1)
    yield SampleInput(make.distinct(2, 4, 2), "max", offsets=tensor([[0, 1, 4], [0, 2, 4]]), axis=1)
    yield SampleInput(make.distinct(5), "sum", lengths=tensor([1, 2]), unsafe=True, name="not PyTorch's to check")
    yield SampleInput(make(0, 2), "max", lengths=tensor([0, 0]), initial=1, name="no elements")
