"""Samples of the masked reductions and normalizations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tensorlike.tensor.creation.from_data import tensor
from tensorlike.tensor.dtypes import complex128, float64

from ..sample import COMPLEX, FLOATING, INTEGERS, Make, SampleInput, samples

_NUMBERS = (*FLOATING, *COMPLEX, "int32", "int64")


def _wide(make: Make) -> Any:
    """Return the widest dtype of the kind of sums of the samples' dtype."""
    return complex128 if make.dtype.kind == "c" else float64


def _mask(*values: object) -> Any:
    return tensor(list(values))


def _some() -> Any:
    """Return a mask of (2, 3) with a True in each row and column."""
    return _mask([True, False, True], [True, True, False])


@samples("tensorlike.masked.sum", "tensorlike.masked.prod", dtypes=(*_NUMBERS, "uint8", "bool"))
def _sum(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make(2, 3), mask=_some())
    yield SampleInput(make(2, 3), 1, mask=_mask([True, False, True], [False, False, False]), keepdim=True)
    yield SampleInput(make(2, 3, 2), (0, -1), mask=_mask([True, False], [True, True], [False, True]))
    yield SampleInput(make(0, 3), 0, mask=_mask(True, False, True))
    yield SampleInput(make(), mask=_mask(True)[0])
    yield SampleInput(make(2, 3), dtype=_wide(make), mask=_some())


@samples("tensorlike.masked.amax", "tensorlike.masked.amin", dtypes=(*FLOATING, *INTEGERS))
def _extremes(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make.distinct(2, 3))
    yield SampleInput(make.distinct(2, 3), mask=_some())
    yield SampleInput(make.distinct(2, 3), 1, mask=_some(), keepdim=True)
    yield SampleInput(make.distinct(2, 3, 2), (0, -1), mask=_mask([True, False], [True, True], [False, True]))
    yield SampleInput(make.distinct(0, 3), 1)
    yield SampleInput(make.distinct())
    yield SampleInput(make(2, 3), dtype=_wide(make), mask=_some())


@samples(
    "tensorlike.masked.argmax", "tensorlike.masked.argmin", dtypes=(*FLOATING, *INTEGERS), gradcheck=False,
    reason="Positions have no derivative.",
)  # fmt: skip
def _places(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make.distinct(2, 3))
    yield SampleInput(make.distinct(2, 3), mask=_some())
    yield SampleInput(make.distinct(2, 3), 1, mask=_some(), keepdim=True)
    yield SampleInput(make.distinct(0, 3), 1)
    yield SampleInput(make(2, 3), dtype=_wide(make), mask=_some())


@samples("tensorlike.masked.logsumexp", dtypes=(*FLOATING, *COMPLEX, "int64"))
def _logsumexp(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make(2, 3), mask=_some())
    yield SampleInput(make(2, 3), 1, mask=_some(), keepdim=True)
    if make.dtype.kind != "i":
        yield SampleInput(make(0, 3), 1)
    yield SampleInput(make(2, 3), dim=1, dtype=_wide(make), mask=_some())


@samples("tensorlike.masked.mean", dtypes=(*FLOATING, *COMPLEX))
def _mean(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make(2, 3), mask=_some())
    yield SampleInput(make(2, 3), 1, mask=_some(), keepdim=True)
    yield SampleInput(make(2, 3, 2), (0, -1), mask=_mask([True, False], [True, True], [False, True]))
    yield SampleInput(make(0, 3), 1)
    yield SampleInput(make(2, 3), dtype=_wide(make), mask=_some())


@samples("tensorlike.masked.var", "tensorlike.masked.std", dtypes=_NUMBERS)
def _var(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make.distinct(2, 3))
    yield SampleInput(make.distinct(2, 3), 1, False, mask=_some())
    yield SampleInput(make.distinct(2, 3), 1, mask=_some(), keepdim=True, correction=1)
    yield SampleInput(make.distinct(2, 3, 2), (0, -1), True, mask=_mask([True, False], [True, True], [False, True]))
    yield SampleInput(make.distinct(0, 3), 1)
    yield SampleInput(make(2, 3), dtype=_wide(make), mask=_some())


@samples("tensorlike.masked.norm", dtypes=FLOATING)
def _norm(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), mask=_some())
    yield SampleInput(make(2, 3), 1.0, 1, mask=_some(), keepdim=True)
    yield SampleInput(make(2, 3), 3.0, (0, 1), mask=_some())
    yield SampleInput(make.distinct(2, 3), float("inf"), 0, mask=_some())
    yield SampleInput(make(0, 3), 2.0, 0)
    yield SampleInput(make(2, 3), dtype=_wide(make), mask=_some())


@samples("tensorlike.masked.normalize", dtypes=(*FLOATING, *COMPLEX))
def _normalize(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), 2.0, 1)
    yield SampleInput(make(2, 3), 1.0, 0, mask=_some())
    yield SampleInput(make(2, 3), 2.0, 1, eps=0.5, mask=_some())
    yield SampleInput(make(0, 3), 2.0, 1)
    yield SampleInput(make(2, 3), 1.0, 1, dtype=_wide(make), mask=_some())


@samples("tensorlike.masked.median", dtypes=(*FLOATING, "int64"))
def _median(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make.distinct(2, 3))
    yield SampleInput(make.distinct(2, 3), 1, mask=_some())
    yield SampleInput(make.distinct(2, 3), 0, mask=_some(), keepdim=True)
    yield SampleInput(make.distinct(2, 3), 1, dtype=_wide(make), mask=_some())


@samples("tensorlike.masked.cumsum", "tensorlike.masked.cumprod", dtypes=_NUMBERS)
def _scans(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), 1)
    yield SampleInput(make(2, 3), 0, mask=_some())
    yield SampleInput(make(2, 3), -1, mask=_mask(True, False, True))
    yield SampleInput(make(0, 3), 0)
    yield SampleInput(make(), 0)
    yield SampleInput(make(2, 3), 1, dtype=_wide(make), mask=_some())


@samples("tensorlike.masked.softmax", "tensorlike.masked.softmin", "tensorlike.masked.log_softmax")
def _softmax(make: Make) -> Iterator[SampleInput]:
    # The logarithm of an empty sum is -inf, and differences of it are NaN: these masks select everything.
    yield SampleInput(make(2, 3), 1)
    yield SampleInput(make(2, 3), 0, mask=_some() | True)
    yield SampleInput(make(0, 3), 0)
    yield SampleInput(make(), 0)
    if not make.requires_grad:
        yield SampleInput(make(2, 3), 1, mask=_some())
        yield SampleInput(make(2, 3), -1, mask=_mask(True, False, True))
    yield SampleInput(make(2, 3), 1, dtype=_wide(make))


@samples("tensorlike.masked.logaddexp", dtypes=FLOATING)
def _logaddexp(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make(2, 3))
    yield SampleInput(make(2, 3), make(3))
    if not make.requires_grad:
        yield SampleInput(make(2, 3), make(2, 3), input_mask=_some())
        yield SampleInput(make(2, 3), make(3), input_mask=_some(), other_mask=_mask(True, True, False))
    yield SampleInput(make(2, 3), make(2, 3), dtype=_wide(make))
