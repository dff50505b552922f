"""Samples of histograms and counts."""

from __future__ import annotations

from collections.abc import Iterator

from ..sample import FLOATING, INTEGERS, Make, SampleInput, samples

_NO_DERIVATIVE = "There is no derivative, as in PyTorch: backward says so."


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


@samples("tensorlike.bincount", dtypes=INTEGERS)
def _bincount(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(6, low=0))
    yield SampleInput(make(6, low=0), make(6, dtype="float32"))
    yield SampleInput(make(6, low=0), weights=make(6, dtype="float64"), minlength=12)
    yield SampleInput(make(6, low=0), make(6), 3)
    yield SampleInput(make(0), minlength=3)


@samples("tensorlike.histc", dtypes=FLOATING)
def _histc(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(20))
    yield SampleInput(make(4, 5), 7)
    yield SampleInput(make(4, 5), bins=5, min=-1, max=2)
    yield SampleInput(make(0), 4)
