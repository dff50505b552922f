"""Samples of activations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorlike.tensor import dtypes

from ..sample import FLOATING, REAL, Make, SampleInput, samples

_F = "tensorlike.nn.functional"


def _plain(make: Make) -> Iterator[SampleInput]:
    """Several shapes; the kinks of piecewise functions are off the grid that `distinct` draws from."""
    for shape in ((3, 4), (), (0, 3)):
        values = make.distinct(*shape)
        if make.dtype.kind == "f":
            values._tl_data[...] = values._tl_data + 0.21
        yield SampleInput(values)
    if not make.requires_grad and make.dtype.kind == "f":
        odd = make(8)
        odd._tl_data[:] = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 3.0, -3.0, 100.0])
        yield SampleInput(odd)


def _with(make: Make, *args: Any, **kwargs: Any) -> SampleInput:
    values = make.distinct(2, 5)
    if make.dtype.kind == "f":
        values._tl_data[...] = values._tl_data + 0.21
    return SampleInput(values, *args, **kwargs)


@samples("tensorlike.relu", "tensorlike.relu_", f"{_F}.relu", f"{_F}.relu_", f"{_F}.relu6", dtypes=REAL)
def _relu(make: Make) -> Iterator[SampleInput]:
    yield from _plain(make)


@samples(
    f"{_F}.hardswish", f"{_F}.selu", f"{_F}.selu_", "tensorlike.selu", "tensorlike.selu_",
    f"{_F}.silu", f"{_F}.mish", f"{_F}.logsigmoid",
    f"{_F}.tanhshrink", f"{_F}.softsign",
)  # fmt: skip
def _without_parameters(make: Make) -> Iterator[SampleInput]:
    yield from _plain(make)


# PyTorch has no second derivative of it.
@samples(f"{_F}.hardsigmoid", gradgradcheck=False)
def _hardsigmoid(make: Make) -> Iterator[SampleInput]:
    yield from _plain(make)


@samples(f"{_F}.threshold", f"{_F}.threshold_", "tensorlike.threshold", "tensorlike.threshold_", dtypes=REAL)
def _threshold(make: Make) -> Iterator[SampleInput]:
    yield _with(make, 1, 20)
    yield _with(make, threshold=0, value=5)
    yield SampleInput(make(), 0, 1)


@samples(f"{_F}.hardtanh", f"{_F}.hardtanh_", dtypes=(*FLOATING, "int32", "int64"))
def _hardtanh(make: Make) -> Iterator[SampleInput]:
    yield from _plain(make)
    yield _with(make, -2, 1)
    yield _with(make, min_val=0, max_val=2)


@samples(f"{_F}.leaky_relu", f"{_F}.leaky_relu_")
def _leaky_relu(make: Make) -> Iterator[SampleInput]:
    yield from _plain(make)
    yield _with(make, 0.2)
    yield _with(make, negative_slope=0.5)


@samples(f"{_F}.hardshrink", f"{_F}.softshrink", "tensorlike.hardshrink")
def _shrink(make: Make) -> Iterator[SampleInput]:
    yield from _plain(make)
    yield _with(make, 1)
    yield _with(make, lambd=0.1)


@samples("tensorlike.prelu", f"{_F}.prelu")
def _prelu(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 4), make(4))
    yield SampleInput(make(3, 4), make(1))
    yield SampleInput(make(2, 3, 4), weight=make(3))
    yield SampleInput(make(5), make())
    yield SampleInput(make(0, 3), make(3))


@samples(f"{_F}.gelu")
def _gelu(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 4))
    yield SampleInput(make())
    yield SampleInput(make(0, 3))
    yield SampleInput(make(3, 4), approximate="tanh")


@samples(f"{_F}.elu", f"{_F}.elu_", f"{_F}.celu", f"{_F}.celu_", "tensorlike.celu", "tensorlike.celu_")
def _elu(make: Make) -> Iterator[SampleInput]:
    yield from _plain(make)
    yield _with(make, 0.5)
    yield _with(make, alpha=2.0)
    # Far above zero, where the exponential that is not used is infinite.
    yield SampleInput(make(2, 3, low=700, high=900))


@samples(f"{_F}.softplus")
def _softplus(make: Make) -> Iterator[SampleInput]:
    yield from _plain(make)
    yield _with(make, 2)
    yield _with(make, beta=0.5, threshold=0.3)


@samples(f"{_F}.glu")
def _glu(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 4))
    yield SampleInput(make(4, 3), 0)
    yield SampleInput(make(2, 4, 3), dim=-2)
    yield SampleInput(make(3, 0))


@samples(f"{_F}.softmax", f"{_F}.softmin", f"{_F}.log_softmax")
def _softmax(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 4), 1)
    yield SampleInput(make(2, 3, 4), dim=0)
    yield SampleInput(make(3, 4), -1, 5)
    yield SampleInput(make(3, 4), dim=-1, dtype=dtypes.float64)
    yield SampleInput(make(), 0)


_RANDOM = "the draws are random"


@samples(f"{_F}.gumbel_softmax", gradcheck=False, deterministic=False, reason=_RANDOM)
def _gumbel_softmax(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 4))
    yield SampleInput(make(3, 4), 0.5, True)
    yield SampleInput(make(3, 4), tau=2.0, hard=True, eps=1e-9, dim=0)


@samples(f"{_F}.rrelu", f"{_F}.rrelu_", "tensorlike.rrelu", "tensorlike.rrelu_")
def _rrelu(make: Make) -> Iterator[SampleInput]:
    yield from _plain(make)
    yield _with(make, 0.25, 0.5)
    yield _with(make, lower=0.5, upper=0.5, training=True)
