"""Samples of `nn.init`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..sample import Make, SampleInput, samples

PREFIX = "tensorlike.nn.init."
FILLS = "writes to its operand in place, which a leaf that requires grad refuses"
RANDOM = f"fills with random numbers; {FILLS}"


def _matrix(make: Make, rows: int = 4, columns: int = 6) -> Any:
    return make(rows, columns, requires_grad=False)


@samples(PREFIX + "constant_", gradcheck=False, reason=FILLS)
def _constant(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(_matrix(make), 0.5)
    yield SampleInput(make(requires_grad=False), 2.0)


@samples(PREFIX + "ones_", PREFIX + "zeros_", PREFIX + "eye_", gradcheck=False, reason=FILLS)
def _filled(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(_matrix(make))


@samples(PREFIX + "dirac_", gradcheck=False, reason=FILLS)
def _dirac(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(4, 2, 3, requires_grad=False))
    yield SampleInput(make(4, 2, 3, requires_grad=False), 2)


@samples(PREFIX + "uniform_", gradcheck=False, deterministic=False, reason=RANDOM)
def _uniform(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(_matrix(make))
    yield SampleInput(_matrix(make), -1.0, 2.0)


@samples(PREFIX + "normal_", gradcheck=False, deterministic=False, reason=RANDOM)
def _normal(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(_matrix(make))
    yield SampleInput(_matrix(make), 1.0, 2.0)


@samples(PREFIX + "trunc_normal_", gradcheck=False, deterministic=False, reason=RANDOM)
def _truncated(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(_matrix(make))
    yield SampleInput(_matrix(make), 0.5, 2.0, -1.0, 1.0)


@samples(
    PREFIX + "xavier_uniform_", PREFIX + "xavier_normal_", PREFIX + "orthogonal_", gradcheck=False,
    deterministic=False, reason=RANDOM,
)  # fmt: skip
def _with_gain(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(_matrix(make))
    yield SampleInput(_matrix(make), 2.0)


@samples(PREFIX + "kaiming_uniform_", PREFIX + "kaiming_normal_", gradcheck=False, deterministic=False, reason=RANDOM)
def _kaiming(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(_matrix(make))
    yield SampleInput(_matrix(make), 0.1, "fan_out", "relu")


@samples(PREFIX + "sparse_", gradcheck=False, deterministic=False, reason=RANDOM)
def _sparse(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(_matrix(make), 0.5)
    yield SampleInput(_matrix(make), 0.5, 2.0)
