"""Samples of normalization."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..sample import FLOATING, Make, SampleInput, samples

_F = "tensorlike.nn.functional"


def _statistics(make: Make, channels: int) -> tuple[Any, Any]:
    return make(channels, requires_grad=False), make(channels, low=0.5, high=2, requires_grad=False)


@samples(f"{_F}.batch_norm")
def _batch_norm(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(4, 3), None, None, training=True)
    yield SampleInput(make(2, 3, 4), None, None, make(3), make(3), True)
    yield SampleInput(make(2, 3, 2, 4), None, None, weight=make(3), training=True, eps=0.1, momentum=0.5)
    yield SampleInput(make(4, 3), *_statistics(make, 3))
    yield SampleInput(make(2, 3, 4), *_statistics(make, 3), make(3), make(3), False, 0.2, 1e-3)
    yield SampleInput(make(1, 3, 2, 2), *_statistics(make, 3), bias=make(3))


@samples(f"{_F}.layer_norm")
def _layer_norm(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), (3,))
    yield SampleInput(make(2, 3, 4), (3, 4), make(3, 4), make(3, 4))
    yield SampleInput(make(2, 3, 4), [4], make(4), None, 1e-2)
    yield SampleInput(make(2, 3), normalized_shape=(3,), bias=make(3), eps=0.1)
    yield SampleInput(make(5), (5,), make(5))
    yield SampleInput(make(0, 3), (3,), make(3), make(3))


@samples(f"{_F}.rms_norm", "tensorlike.rms_norm", dtypes=(*FLOATING, "complex64", "complex128"))
def _rms_norm(make: Make) -> Iterator[SampleInput]:
    # Not around zero: the mean of squares of complex numbers may vanish.
    yield SampleInput(make(2, 3, low=1, high=2), (3,))
    yield SampleInput(make(2, 3, 4, low=1, high=2), (3, 4), make(3, 4))
    yield SampleInput(make(2, 3, low=1, high=2), [3], weight=make(3), eps=0.1)


@samples(f"{_F}.group_norm")
def _group_norm(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 4), 2)
    yield SampleInput(make(2, 6, 3), 3, make(6), make(6))
    yield SampleInput(make(2, 4, 2, 2), num_groups=1, weight=make(4), eps=0.1)
    yield SampleInput(make(1, 2, 3), 2, make(2), bias=make(2))


@samples(f"{_F}.instance_norm")
def _instance_norm(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3, 4))
    yield SampleInput(make(2, 3, 2, 3), None, None, make(3), make(3), True, 0.3, 0.1)
    yield SampleInput(make(2, 3, 4), *_statistics(make, 3), weight=make(3), use_input_stats=False)
    yield SampleInput(make(1, 2, 5), bias=make(2), eps=1e-2)


@samples(f"{_F}.local_response_norm")
def _local_response_norm(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 5, 3), 3)
    yield SampleInput(make(2, 4, 2, 3), 2, 0.5, 0.6, 2.0)
    yield SampleInput(make(1, 3, 2), size=5, alpha=0.1, beta=0.5, k=0.5)


@samples(f"{_F}.normalize", dtypes=(*FLOATING, "complex128"))
def _normalize(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make(2, 3, 4), 1.0, -1)
    yield SampleInput(make(3, 4), p=3.0, dim=0, eps=0.5)
    yield SampleInput(make(5), dim=0)
