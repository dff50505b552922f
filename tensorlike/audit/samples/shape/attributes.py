"""Samples of queries of a tensor's shape and layout."""

from __future__ import annotations

from collections.abc import Iterator

from tensorlike.tensor import dtypes

from ..sample import ALL, Make, SampleInput, samples


@samples("tensorlike.Tensor.size", "tensorlike.Tensor.stride", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make(2, 3), 1)
    yield SampleInput(make(2, 3), dim=-2)
    yield SampleInput(make())


@samples(
    "tensorlike.Tensor.dim",
    "tensorlike.Tensor.get_device",
    "tensorlike.Tensor.element_size",
    "tensorlike.Tensor.storage_offset",
    "tensorlike.Tensor.is_shared",
    "tensorlike.Tensor.is_pinned",
    "tensorlike.is_distributed",
    "tensorlike.Tensor.dense_dim",
    "tensorlike.Tensor.sparse_dim",
    dtypes=ALL,
)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make())
    yield SampleInput(make(2, 0))


@samples("tensorlike.Tensor.to_dense", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make(), masked_grad=False)
    yield SampleInput(make(2), dtypes.float64)


@samples("tensorlike.Tensor.is_contiguous", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    # Test harnesses change the memory layout of operands; a tensor of at most one element is contiguous in any.
    yield SampleInput(make())
    yield SampleInput(make(1, 1))
    yield SampleInput(make(2, 0))


@samples("tensorlike.Tensor.__len__", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make(0, 3))


@samples("tensorlike.Tensor.__reversed__", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make(4))
    yield SampleInput(make())


@samples("tensorlike.Tensor.__contains__", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), 1)
    yield SampleInput(make(2, 3), 99)
    yield SampleInput(make(2, 3), make(low=0, high=1))
    yield SampleInput(make(0), 1)
