"""Samples of random sampling."""

from __future__ import annotations

from collections.abc import Iterator

from tensorlike.tensor import dtypes

from ..sample import ALL, COMPLEX, FLOATING, INTEGERS, REAL, Make, SampleInput, samples

_RANDOM = "the values are random; tests/random and tests/distributions look at their distributions"
_CONTINUOUS = (*FLOATING, *COMPLEX)


@samples(
    "tensorlike.rand_like", "tensorlike.randn_like",
    dtypes=_CONTINUOUS, gradcheck=False, deterministic=False, reason=_RANDOM,
)  # fmt: skip
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make())
    yield SampleInput(make(0, 2))
    yield SampleInput(make(2, 3), dtype=dtypes.float64, requires_grad=True)


@samples("tensorlike.randint_like", dtypes=(*REAL, "bool"), gradcheck=False, deterministic=False, reason=_RANDOM)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), 2)
    yield SampleInput(make(), 1, 2)
    yield SampleInput(make(0, 2), low=0, high=2)
    yield SampleInput(make(2, 3), -5, 5, dtype=dtypes.int16)


@samples("tensorlike.normal", dtypes=_CONTINUOUS, gradcheck=False, deterministic=False, reason=_RANDOM)
def _(make: Make) -> Iterator[SampleInput]:
    real = {"complex64": "float32", "complex128": "float64"}.get(str(make.dtype), str(make.dtype))
    # PyTorch refuses to differentiate complex random sampling.
    live = make.requires_grad and make.dtype.kind != "c"
    mean = make(2, 3, requires_grad=live)
    yield SampleInput(mean, 2.0)
    yield SampleInput(mean)
    yield SampleInput(mean, make(2, 3, low=0.5, high=2, dtype=real, requires_grad=live))
    wide = make(3, low=0.5, high=2, dtype=real, requires_grad=live)
    yield SampleInput(make(2, 1, requires_grad=live), wide, broadcasts=True)
    yield SampleInput(make(requires_grad=live), 0.0)
    if make.dtype.kind == "f":
        yield SampleInput(1.5, make(3, low=0.5, high=2))
    yield SampleInput(1.5, 2.0, (2, 3), dtype=dtypes.float64)
    yield SampleInput(0.0, 1.0, size=())


@samples("tensorlike.bernoulli", dtypes=FLOATING, gradcheck=False, deterministic=False, reason=_RANDOM)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3, low=0, high=1))
    yield SampleInput(make(low=0, high=1))
    yield SampleInput(make(0, 2))
    yield SampleInput(make(2, 3), 0.3)
    yield SampleInput(make(2, 3), p=1.0)


@samples("tensorlike.poisson", dtypes=FLOATING, gradcheck=False, deterministic=False, reason=_RANDOM)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3, low=0, high=9))
    yield SampleInput(make(low=0, high=9))
    yield SampleInput(make(0, 2))


@samples("tensorlike.multinomial", dtypes=FLOATING, gradcheck=False, deterministic=False, reason=_RANDOM)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(4, low=0.1, high=1), 2)
    yield SampleInput(make(3, 4, low=0.1, high=1), 4)
    yield SampleInput(make(3, 4, low=0.1, high=1), 7, True)
    yield SampleInput(make(0, 4), num_samples=2, replacement=True)


@samples("tensorlike.Tensor.uniform_", dtypes=_CONTINUOUS, gradcheck=False, deterministic=False, reason=_RANDOM)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make(), -1, 2.5)
    yield SampleInput(make(0, 2), to=3)
    yield SampleInput(make(2, 3, contiguous=False), 1.0)


@samples("tensorlike.Tensor.normal_", dtypes=_CONTINUOUS, gradcheck=False, deterministic=False, reason=_RANDOM)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make(), -1, 2.5)
    yield SampleInput(make(0, 2), std=0.0)
    yield SampleInput(make(2, 3, contiguous=False), mean=4)


@samples("tensorlike.Tensor.random_", dtypes=(*REAL, "bool"), gradcheck=False, deterministic=False, reason=_RANDOM)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make(), 2)
    yield SampleInput(make(0, 2), to=2)
    yield SampleInput(make(2, 3, contiguous=False), 1, 2)


@samples(
    "tensorlike.Tensor.bernoulli_",
    dtypes=tuple(d for d in ALL if d not in COMPLEX), gradcheck=False, deterministic=False, reason=_RANDOM,
)  # fmt: skip
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make(), 0.25)
    yield SampleInput(make(2, 3), make(3, low=0, high=1, dtype="float64", requires_grad=False))
    yield SampleInput(make(0, 2), p=1)


@samples("tensorlike.Tensor.exponential_", dtypes=FLOATING, gradcheck=False, deterministic=False, reason=_RANDOM)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make(), 2.5)
    yield SampleInput(make(0, 2), lambd=0.1)


@samples(
    "tensorlike.Tensor.geometric_",
    dtypes=(*FLOATING, *INTEGERS), gradcheck=False, deterministic=False, reason=_RANDOM,
)  # fmt: skip
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), 0.5)
    yield SampleInput(make(), 0.9)
    yield SampleInput(make(0, 2), p=0.2)


@samples("tensorlike.Tensor.cauchy_", dtypes=FLOATING, gradcheck=False, deterministic=False, reason=_RANDOM)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make(), 1, 2)
    yield SampleInput(make(0, 2), median=1.5, sigma=0.5)


@samples("tensorlike.Tensor.log_normal_", dtypes=FLOATING, gradcheck=False, deterministic=False, reason=_RANDOM)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make(), 0, 1)
    yield SampleInput(make(0, 2), mean=-1.5, std=0.5)
