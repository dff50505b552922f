"""Samples of queries of memory, and of writing the results of a Python function."""

from __future__ import annotations

from collections.abc import Iterator

from tensorlike.tensor import dtypes

from ..sample import ALL, NUMERIC, Make, SampleInput, samples


@samples("tensorlike.is_inference", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make())


@samples("tensorlike.Tensor.dim_order", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    # Test harnesses change the memory layout of operands; with one dimension there is one order.
    yield SampleInput(make(3))
    yield SampleInput(make())
    yield SampleInput(make(3), ambiguity_check=True)


@samples(
    "tensorlike.Tensor.module_load",
    dtypes=ALL,
    gradcheck=False,
    reason="the result is detached",
)
def _(make: Make) -> Iterator[SampleInput]:
    # Without `assign` it writes to the tensor, which harnesses expect of names with an underscore only.
    yield SampleInput(make(2, 3, requires_grad=False), make(2, 3, requires_grad=False), True)
    yield SampleInput(make(2, 3, requires_grad=False), make(4, requires_grad=False), assign=True)


def _plus_one(value: object) -> object:
    return value + 1  # type: ignore[operator]


def _sum(first: int, *others: int) -> int:
    return first + sum(others)


_OF_NUMBERS = {"dtypes": NUMERIC, "gradcheck": False, "reason": "refuses tensors that require grad"}


@samples("tensorlike.Tensor.apply_", **_OF_NUMBERS)  # type: ignore[arg-type]
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3, requires_grad=False), _plus_one)
    yield SampleInput(make(requires_grad=False), _plus_one)
    yield SampleInput(make(0, 3, requires_grad=False), _plus_one)


@samples("tensorlike.Tensor.map_", **_OF_NUMBERS)  # type: ignore[arg-type]
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3, requires_grad=False), make(2, 3, requires_grad=False), _sum)
    yield SampleInput(make(2, 3, requires_grad=False), make(3, requires_grad=False), _sum)


@samples("tensorlike.Tensor.map2_", **_OF_NUMBERS)  # type: ignore[arg-type]
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(*(make(2, 3, requires_grad=False) for _ in range(3)), _sum)
    yield SampleInput(make(2, 3, requires_grad=False), make(3, requires_grad=False), make(requires_grad=False), _sum)


@samples(
    "tensorlike.Tensor.new_empty_strided",
    dtypes=ALL,
    gradcheck=False,
    deterministic=False,
    reason="the elements are not set",
)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2), (2, 3), (1, 2))
    yield SampleInput(make(2), (2, 0), (3, 1), dtype=dtypes.float64)
