"""Samples of conversions to other dtypes, and to Python and NumPy."""

from __future__ import annotations

from collections.abc import Iterator

from tensorlike.tensor import dtypes

from ..sample import ALL, BITS, REAL, Make, SampleInput, samples


@samples(
    "tensorlike.Tensor.float",
    "tensorlike.Tensor.half",
    dtypes=ALL,
    gradcheck=False,
    reason="finite differences need the double precision that the result no longer has",
)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make())
    yield SampleInput(make(0))


@samples(
    "tensorlike.Tensor.double",
    "tensorlike.Tensor.bool",
    "tensorlike.Tensor.cdouble",
    "tensorlike.Tensor.cpu",
    dtypes=ALL,
)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make())
    yield SampleInput(make(0))


@samples(
    "tensorlike.Tensor.cfloat",
    dtypes=ALL,
    gradcheck=False,
    reason="finite differences need the double precision that the result no longer has",
)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make())


@samples(
    "tensorlike.Tensor.int",
    "tensorlike.Tensor.long",
    "tensorlike.Tensor.short",
    "tensorlike.Tensor.char",
    "tensorlike.Tensor.byte",
    dtypes=ALL,
)
def _(make: Make) -> Iterator[SampleInput]:
    # Converting negative numbers to an unsigned dtype is undefined in C.
    yield SampleInput(make(2, 3, low=0, high=3))
    yield SampleInput(make(low=0, high=3))


@samples(
    "tensorlike.Tensor.to",
    dtypes=ALL,
    gradcheck=False,
    reason="single precision among the targets; the conversions it stands for are checked on their own",
)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), dtypes.float64)
    yield SampleInput(make(2, 3), dtypes.float32)
    yield SampleInput(make(2, 3), dtypes.complex128)
    yield SampleInput(make(2, 3), "cpu")
    yield SampleInput(make(2, 3), "cpu", dtypes.float64)
    yield SampleInput(make(2, 3), "cpu", dtypes.float64, False, True)
    yield SampleInput(make(2, 3), dtype=dtypes.bool)
    yield SampleInput(make(2, 3), device="cpu", dtype=dtypes.float64, copy=True)
    yield SampleInput(make(2, 3), make(1, dtype="float64", requires_grad=False))
    yield SampleInput(make(2, 3), tensor=make(1, dtype="float64", requires_grad=False))
    yield SampleInput(make(), copy=True)


@samples(
    "tensorlike.Tensor.type",
    dtypes=ALL,
    gradcheck=False,
    reason="single precision among the targets; the conversions it stands for are checked on their own",
)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make(2, 3), dtypes.float32)
    yield SampleInput(make(2, 3), dtype=dtypes.complex128)
    yield SampleInput(make(2, 3), dtypes.float64, non_blocking=True)


@samples("tensorlike.Tensor.type_as", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make(1, dtype="float64", requires_grad=False))
    yield SampleInput(make(2, 3), other=make(1, dtype="complex128", requires_grad=False))
    yield SampleInput(make(2, 3), make(1, requires_grad=False))


@samples("tensorlike.Tensor.item", "tensorlike.Tensor.__bool__", "tensorlike.Tensor.__complex__", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make())
    yield SampleInput(make(1))
    yield SampleInput(make(1, 1, 1))


@samples("tensorlike.Tensor.__float__", "tensorlike.Tensor.__int__", dtypes=(*REAL, "bool"))
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make())
    yield SampleInput(make(1, 1))


@samples("tensorlike.Tensor.__index__", dtypes=BITS)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make())
    yield SampleInput(make(1))


@samples("tensorlike.Tensor.tolist", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make())
    yield SampleInput(make(2, 0))


@samples("tensorlike.Tensor.numpy", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3, requires_grad=False))
    yield SampleInput(make(requires_grad=False))
    yield SampleInput(make(2, 3), force=True)


@samples("tensorlike.Tensor.__array__", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3, requires_grad=False))
    yield SampleInput(make(requires_grad=False))
    yield SampleInput(make(2, 3, requires_grad=False), dtype="complex128")
    yield SampleInput(make(2, 3, requires_grad=False), copy=True, name="not in PyTorch: NumPy 2 asks so")
    yield SampleInput(make(2, 3, requires_grad=False), None, copy=False, name="not in PyTorch: NumPy 2 asks so")


@samples("tensorlike.Tensor.detach", dtypes=ALL)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make())
