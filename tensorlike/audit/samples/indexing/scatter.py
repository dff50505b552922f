"""Samples of scattering, adding, copying and filling by index tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tensorlike.tensor.creation import filled

from ..sample import ALL, FLOATING, INTEGERS, NUMERIC, REAL, Make, SampleInput, samples


def index_of(values: Sequence[Any] | int) -> Any:
    return filled.tensor(values)


@samples("tensorlike.index_add", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), 0, make.integers(4, high=2), make(4, 3))
    yield SampleInput(make(2, 3), 1, make.integers(2), make(2, 2))
    alpha = True if make.dtype.kind == "b" else 2
    yield SampleInput(make(2, 3), -1, make.integers(2, dtype="int32"), make(2, 2), alpha=alpha)
    yield SampleInput(make(3), 0, make.integers(0), make(0))


@samples("tensorlike.index_copy", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), 0, index_of([1]), make(1, 3))
    yield SampleInput(make(2, 3), -1, index_of([2, 0]), make(2, 2))
    yield SampleInput(make(3), 0, index_of([1]), make(1))


@samples("tensorlike.index_fill", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), 0, index_of([1]), 1)
    yield SampleInput(make(2, 3), 1, index_of([0, 2, 0]), 1)
    yield SampleInput(make(2, 3), -1, index_of([0, 2]), make())


@samples("tensorlike.put", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), index_of([0, 5]), make(2))
    yield SampleInput(make(2, 3), index_of([[0, -1], [1, 0]]), make(2, 2), True)
    yield SampleInput(make(3), index_of([1]), make(1), accumulate=True)


@samples("tensorlike.scatter", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), 1, index_of([[0, 2], [1, 0]]), make(2, 2))
    yield SampleInput(make(2, 3), 0, index_of([[0, 1, 0]]), make(1, 3))
    yield SampleInput(make(2, 3), -1, index_of([[0], [2]]), 1)
    yield SampleInput(make(2, 3), 1, index_of([[0, 2]]), value=1)
    yield SampleInput(make(), 0, index_of(0), make())


@samples(
    "tensorlike.Tensor.scatter",
    dtypes=NUMERIC,
    gradcheck=False,
    reason="the reductions are those of scatter_add and scatter_reduce, whose gradients are checked there",
)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), 1, index_of([[0, 2], [1, 0]]), make(2, 2))
    yield SampleInput(make(2, 3), 1, index_of([[0, 2], [1, 0]]), value=2)
    first, second = make(2, 3, requires_grad=False), make(1, 2, requires_grad=False)
    yield SampleInput(first, 1, index_of([[0, 0]]), second, reduce="add")
    yield SampleInput(first, 1, index_of([[0, 2]]), 2, reduce="multiply")


@samples("tensorlike.scatter_add", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), 1, make.integers(2, 4), make(2, 4))
    yield SampleInput(make(2, 3), 0, make.integers(4, 2, high=2), make(4, 2))
    yield SampleInput(make(3), -1, make.integers(4, dtype="int32"), make(4))
    yield SampleInput(make(), 0, make.integers(high=1), make())


@samples("tensorlike.scatter_reduce", dtypes=REAL)
def _(make: Make) -> Iterator[SampleInput]:
    for reduce in ("sum", "prod", "mean"):
        yield SampleInput(make(2, 3), 1, make.integers(2, 4), make(2, 4), reduce)
        yield SampleInput(make(3), 0, make.integers(4), make(4), reduce, include_self=False)
    for reduce in ("amax", "amin"):
        values = make.distinct(12)
        yield SampleInput(values[:3], 0, make.integers(9), values[3:], reduce)
        yield SampleInput(values[:3], 0, make.integers(9), values[3:], reduce=reduce, include_self=False)


@samples("tensorlike.index_reduce", dtypes=(*FLOATING, *INTEGERS))
def _(make: Make) -> Iterator[SampleInput]:
    for reduce in ("prod", "mean"):
        yield SampleInput(make(2, 3), 1, make.integers(4), make(2, 4), reduce)
        yield SampleInput(make(3), 0, make.integers(4), make(4), reduce, include_self=False)
    for reduce in ("amax", "amin"):
        values = make.distinct(12)
        yield SampleInput(values[:3], 0, make.integers(9), values[3:], reduce)
        yield SampleInput(values[:3], 0, make.integers(9), values[3:], reduce=reduce, include_self=False)
