"""Samples of predicates on dtypes."""

from __future__ import annotations

from collections.abc import Iterator

from ..elementwise.operands import singles
from ..sample import ALL, Make, SampleInput, samples


@samples(
    "tensorlike.is_complex",
    "tensorlike.is_floating_point",
    "tensorlike.is_signed",
    "tensorlike.is_conj",
    "tensorlike.is_neg",
    "tensorlike.resolve_conj",
    "tensorlike.resolve_neg",
    dtypes=ALL,
)
def _is_complex(make: Make) -> Iterator[SampleInput]:
    yield from singles(make)


@samples("tensorlike.is_nonzero", dtypes=ALL)
def _is_nonzero(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make())
    yield SampleInput(make(1, 1, low=1))
    zero = make(1, requires_grad=False)
    zero._tl_data[...] = 0
    yield SampleInput(zero)
