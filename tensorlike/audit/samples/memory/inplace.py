"""Samples of in-place operations."""

from __future__ import annotations

from collections.abc import Iterator

from ..sample import ALL, Make, SampleInput, samples


@samples("tensorlike.fill", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), 1)
    yield SampleInput(make(2, 3), make())
    yield SampleInput(make(), True)
    yield SampleInput(make(0, 3), 2)


@samples("tensorlike.fill_", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), 1)
    yield SampleInput(make(2, 3), make())


@samples("tensorlike.zero_", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make())
    yield SampleInput(make(0, 3))


@samples("tensorlike.Tensor.copy_", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make(2, 3))
    yield SampleInput(make(2, 3), make(3))
    yield SampleInput(make(2, 3), make())
    yield SampleInput(make(2, 3), make(2, 1, dtype="int64", low=0))
    yield SampleInput(make(0, 3), make(3))


@samples(
    "tensorlike.Tensor.resize_",
    dtypes=ALL,
    gradcheck=False,
    reason="refuses tensors that require grad",
)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3, requires_grad=False), 3, 2)
    yield SampleInput(make(2, 3, requires_grad=False), (2, 2))
    yield SampleInput(make(requires_grad=False), 1)


@samples(
    "tensorlike.Tensor.resize_as_",
    dtypes=ALL,
    gradcheck=False,
    reason="refuses tensors that require grad",
)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3, requires_grad=False), the_template=make(3, 2, requires_grad=False))
    yield SampleInput(make(2, 3, requires_grad=False), the_template=make(2, requires_grad=False))


@samples("tensorlike.Tensor.set_", dtypes=ALL, gradcheck=False, reason="changes the memory, which has no gradient")
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3, requires_grad=False), make(2, requires_grad=False))
    yield SampleInput(make(2, 3, requires_grad=False), make(requires_grad=False))
    yield SampleInput(make(2, 3, requires_grad=False), make(1, requires_grad=False), 1, (0,), (3,))
    yield SampleInput(make(2, 3, requires_grad=False))
