"""Samples of what is computed from sampled values: differences, histograms, segments, hashes, draws."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

from ..base import COMPLEX, FLOATING, INTEGERS, Make, SampleInput, samples

__all__: list[str] = []

_NO_DERIVATIVE = "There is no derivative, as in PyTorch: backward says so."


@samples("tensorlike.gradient", dtypes=(*FLOATING, *COMPLEX, "int32", "int64"))
def _gradient(make: Make) -> Iterator[SampleInput]:
    from tensorlike import tensor

    points = tensor([0.0, 1.0, 3.0, 4.5])
    yield SampleInput(make(5))
    yield SampleInput(make(3, 4))
    yield SampleInput(make(3, 4), dim=1, edge_order=2)
    yield SampleInput(make(2, 3, 4), dim=(2, -2), spacing=[2.0, 0.5])
    yield SampleInput(make(3, 4), spacing=2.0, dim=(0,))
    yield SampleInput(make(2, 4), spacing=(tensor([1.0, 1.5]), points))
    yield SampleInput(make(4, 2), spacing=(points,), dim=0, edge_order=2)
    yield SampleInput(make(2, 0), dim=0)
    yield SampleInput(make(), name="no dimension")


@samples("tensorlike.histogram", gradcheck=False, reason=_NO_DERIVATIVE)
def _histogram(make: Make) -> Iterator[SampleInput]:
    edges = make(0, requires_grad=False).new_tensor([-2.0, -1.0, 0.5, 3.0])
    yield SampleInput(make(20, requires_grad=False))
    yield SampleInput(make(4, 5, requires_grad=False), 6)
    yield SampleInput(make(20, requires_grad=False), edges)
    weight = make(20, requires_grad=False)
    yield SampleInput(make(20, requires_grad=False), 5, range=(-1.0, 2.0), weight=weight)
    yield SampleInput(make(20, requires_grad=False), 4, range=(-3.0, 3.0), density=True)
    weight = make(4, 5, low=0, requires_grad=False)
    yield SampleInput(make(4, 5, requires_grad=False), edges, weight=weight, density=True)
    yield SampleInput(make(requires_grad=False), 3, name="no dimension")
    yield SampleInput(make(0, requires_grad=False), 3, name="no elements")


@samples("tensorlike.histogramdd", gradcheck=False, reason=_NO_DERIVATIVE)
def _histogramdd(make: Make) -> Iterator[SampleInput]:
    edges = make(0, requires_grad=False).new_tensor([-2.0, -1.0, 0.5, 3.0])
    yield SampleInput(make(20, 2, requires_grad=False), 3)
    yield SampleInput(make(4, 5, 2, requires_grad=False), [2, 3])
    yield SampleInput(make(20, 2, requires_grad=False), [edges, edges[1:]], weight=make(20, requires_grad=False))
    yield SampleInput(make(20, 3, requires_grad=False), (2, 1, 2), range=(-1.0, 2.0, -3.0, 3.0, 0.0, 2.0))
    yield SampleInput(make(20, 1, requires_grad=False), 4, range=[-3.0, 3.0], density=True)
    yield SampleInput(make(0, 2, requires_grad=False), 2, name="no points")


@samples("tensorlike.segment_reduce")
def _segment_reduce(make: Make) -> Iterator[SampleInput]:
    from tensorlike import tensor

    offsets = tensor([0, 2, 2, 5])
    for reduce in ("sum", "mean", "max", "min", "prod"):
        # Of nothing some are infinite or NaN, and differences of it NaN.
        lengths = tensor([2, 0, 3] if reduce in ("sum", "prod") or not make.requires_grad else [2, 3])
        # Second derivatives of products are wrong where a factor is zero, as those of scatter_reduce are.
        data = make.distinct if reduce != "prod" else functools.partial(make, low=0.5)
        yield SampleInput(data(5), reduce, lengths=lengths)
        yield SampleInput(data(5, 2), reduce, offsets=offsets, initial=0.25)
    yield SampleInput(make.distinct(2, 4), "mean", lengths=tensor([[1, 3], [2, 2]]), axis=1)
    yield SampleInput(make.distinct(2, 4, 2), "max", offsets=tensor([[0, 1, 4], [0, 2, 4]]), axis=1)
    yield SampleInput(make.distinct(5), "sum", lengths=tensor([1, 2]), unsafe=True, name="not PyTorch's to check")
    yield SampleInput(make(0, 2), "max", lengths=tensor([0, 0]), initial=1, name="no elements")


@samples(
    "tensorlike.hash_tensor", dtypes=(*FLOATING, *INTEGERS, "bool"), gradcheck=False,
    reason="Hashes have no derivative.",
)  # fmt: skip
def _hash_tensor(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(7))
    yield SampleInput(make(2, 3))
    yield SampleInput(make(2, 3, 5), 1)
    yield SampleInput(make(2, 3, 5), (0, -1), keepdim=True)
    yield SampleInput(make(3, 2), dim=0, keepdim=True, mode=np.int64(0))
    yield SampleInput(make(3, 0), 0, name="no elements")
    yield SampleInput(make(), name="no dimension")


@samples("tensorlike.binomial", gradcheck=False, deterministic=False, reason="Each call draws other numbers.")
def _binomial(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(5, low=0, high=9), make(5, low=0, high=1))
    yield SampleInput(make(2, 3, low=0, high=9), make(2, 3, low=0, high=1), generator=None)
    yield SampleInput(make(0), make(0))
    yield SampleInput(make(low=2, high=9), make(low=0, high=1), name="no dimension")


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
