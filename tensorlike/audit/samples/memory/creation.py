"""Samples of creating tensors like another one."""

from __future__ import annotations

from collections.abc import Iterator

from tensorlike.tensor import dtypes

from ..sample import ALL, Make, SampleInput, samples


@samples("tensorlike.zeros_like", "tensorlike.ones_like", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make())
    yield SampleInput(make(0, 2))
    yield SampleInput(make(2, 3), dtype=dtypes.float64, requires_grad=True)


@samples("tensorlike.empty_like", dtypes=ALL, gradcheck=False, deterministic=False, reason="the elements are not set")
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make())
    yield SampleInput(make(2, 3), dtype=dtypes.float64, device="cpu")


@samples("tensorlike.full_like", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), 1)
    yield SampleInput(make(), True)
    yield SampleInput(make(2, 3), fill_value=2.5, dtype=dtypes.float64)


@samples("tensorlike.Tensor.new_zeros", "tensorlike.Tensor.new_ones", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2), (2, 3))
    yield SampleInput(make(2), 2, 3)
    yield SampleInput(make(2), ())
    yield SampleInput(make(2), (2, 0), dtype=dtypes.float64, requires_grad=True)


@samples(
    "tensorlike.Tensor.new_empty", dtypes=ALL, gradcheck=False, deterministic=False, reason="the elements are not set"
)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2), (2, 3))
    yield SampleInput(make(2), 2, 3)
    yield SampleInput(make(2), (2, 0), dtype=dtypes.float64)


@samples("tensorlike.Tensor.new", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2), [1, 0, 1])
    yield SampleInput(make(2), ())
    yield SampleInput(make(2), 2, 0)
    yield SampleInput(make(2))


@samples("tensorlike.Tensor.new_full", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2), (2, 3), 1)
    yield SampleInput(make(2), (), True)
    yield SampleInput(make(2), size=(2, 0), fill_value=2.5, dtype=dtypes.float64)


@samples("tensorlike.Tensor.new_tensor", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2), [[1, 2], [3, 4]])
    yield SampleInput(make(2), True)
    yield SampleInput(make(2), data=[0.0, 1.0], dtype=dtypes.float64, requires_grad=True)
