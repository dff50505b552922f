"""Samples of the copying forms of view operations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..sample import ALL, INTEGERS, Make, SampleInput, samples


def _made(make: Make, *shape: int) -> Any:
    # PyTorch has no derivative of these for complex numbers.
    return make(*shape, requires_grad=False if make.dtype.kind == "c" else None)


@samples("tensorlike.select_scatter", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(_made(make, 2, 3), _made(make, 3), 0, 1)
    yield SampleInput(_made(make, 2, 3), _made(make, 2), -1, -1)
    yield SampleInput(_made(make, 3), _made(make), 0, 0)


@samples("tensorlike.slice_scatter", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(_made(make, 5), _made(make, 5))
    yield SampleInput(_made(make, 5), _made(make, 2), 0, 1, 3)
    yield SampleInput(_made(make, 2, 5), _made(make, 2, 2), dim=1, start=0, end=-1, step=2)


@samples("tensorlike.as_strided_scatter", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(6, requires_grad=False), make(2, 2), (2, 2), (1, 2))
    yield SampleInput(make(6).clone(), make(2), (2,), (3,), 1, name="not in PyTorch: its gradient keeps the wrong part")


@samples("tensorlike.narrow_copy", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 5), 1, 1, 3)
    yield SampleInput(make(5), 0, -2, 2)


@samples("tensorlike.unsafe_split", "tensorlike.unsafe_chunk", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(5), 2)
    yield SampleInput(make(2, 5), 3, 1)


@samples("tensorlike.unsafe_split_with_sizes", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(5), [2, 3])
    yield SampleInput(make(2, 5), [1, 4], 1)


@samples("tensorlike.unravel_index", dtypes=INTEGERS)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(4, low=0, high=5), (2, 3))
    yield SampleInput(make(2, 2, low=0, high=5), 6)
    yield SampleInput(make(low=0, high=5), (2, 1, 3))
