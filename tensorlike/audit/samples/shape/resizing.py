"""Samples of `resize`, `slice_inverse` and `index`."""

from __future__ import annotations

from collections.abc import Iterator

from ..sample import COMPLEX, FLOATING, Make, SampleInput, samples


@samples(
    "tensorlike.slice_inverse", dtypes=(*FLOATING, *COMPLEX, "int64"), gradcheck=False,
    reason="It reads the memory around its operand.",
)  # fmt: skip
def _slice_inverse(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(6, requires_grad=False), make(6, requires_grad=False))
    yield SampleInput(make(2, 3, requires_grad=False), make(3, requires_grad=False), 0, 1, 2)
    yield SampleInput(make(2, 3, requires_grad=False), make(2, 3, requires_grad=False), dim=1, start=0, end=2, step=2)


@samples("tensorlike.Tensor.resize", dtypes=(*FLOATING, *COMPLEX, "int64", "bool"))
def _resize(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), 3, 2)
    yield SampleInput(make(6), 1, 6, 1)
    yield SampleInput(make(0, 3), 0)


@samples("tensorlike.Tensor.resize_as", dtypes=(*FLOATING, *COMPLEX, "int64", "bool"))
def _resize_as(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make(3, 2, requires_grad=False))
    yield SampleInput(make(), make(1, 1, requires_grad=False))
    yield SampleInput(make(0, 3), make(0, requires_grad=False))


@samples("tensorlike.Tensor.index", dtypes=(*FLOATING, *COMPLEX, "int64", "bool"))
def _index(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), 1, 2)
    yield SampleInput(make(2, 3, 4), [0, 2], [1, slice(0, 2)])
    yield SampleInput(make(2, 3), (1,), (make.integers(4, high=3),))
    yield SampleInput(make(2, 0), 0, 1)
