"""Mean and variance in chunks: each chunk leaves its count, its mean and its sum of squared differences."""

from __future__ import annotations

import warnings
from typing import Any

from tensorlike._originals import tl
from tensorlike.autograd.grad_mode import recording_block
from tensorlike.dispatch.operation import Form, operation_of
from tensorlike.operations.reductions import statistics, sums
from tensorlike.tensor.dtypes import dtype as Dtype

from .chunked import called, chunked, dims_of, name_of, refused
from .recording import computed
from .reductions import by_parts, reduced
from .tasks import ChunkFunction
from .tree import Partials, tree, wide


class _SumAndCount(ChunkFunction):
    def __init__(self, dims: tuple[int, ...], dtype: Dtype) -> None:
        self.dims, self.dtype = dims, dtype

    def __call__(self, tensor: Any) -> Any:
        count = 1
        for d in self.dims:
            count *= tensor.shape[d]
        return Partials(tensor.sum(self.dims, True, dtype=self.dtype), count)


def _added(one: Partials, other: Partials) -> Partials:
    return Partials(one.values[0] + other.values[0], one.values[1] + other.values[1])


class _Divided(ChunkFunction):
    def __init__(self, dtype: Dtype) -> None:
        self.dtype = dtype

    def __call__(self, partial: Partials) -> Any:
        total, count = partial.values
        return (total / count if count else total * float("nan")).to(self.dtype)


@computed(sums.mean)
def _mean(form: Form, given: dict[str, Any]) -> Any:
    _, dims, _, sample = reduced(form, given)
    return by_parts(form, given, _SumAndCount(dims, wide(sample.dtype)), _added, _Divided(sample.dtype))


class _Moments(ChunkFunction):
    """The count, the mean and the sum of squared differences from it, of a chunk."""

    def __init__(self, dims: tuple[int, ...], dtype: Dtype) -> None:
        self.dims, self.dtype = dims, dtype

    def __call__(self, tensor: Any) -> Any:
        count = 1
        for d in self.dims:
            count *= tensor.shape[d]
        tensor = tensor.to(self.dtype)
        if not count:
            nothing = tensor.sum(self.dims, True)
            return Partials(0, nothing, nothing.real if nothing.is_complex() else nothing)
        mean = tensor.mean(self.dims, True)
        away = tensor - mean
        squares = (away * away.conj()).real if away.is_complex() else away * away
        return Partials(count, mean, squares.sum(self.dims, True))


def _merged(one: Partials, other: Partials) -> Partials:
    """Combine the moments of two parts without losing digits to a large mean."""
    (n, mean, squares), (m, mean2, squares2) = one.values, other.values
    if not n or not m:
        return one if n else other
    away = mean2 - mean
    total = n + m
    square = (away * away.conj()).real if away.is_complex() else away * away
    return Partials(total, mean + away * (m / total), squares + squares2 + square * (n * m / total))


class _Spread(ChunkFunction):
    """Makes the variance or the standard deviation, with the mean where that is asked for, of moments."""

    def __init__(self, root: bool, mean: bool, correction: float, dtype: Dtype, mean_dtype: Dtype) -> None:
        self.root, self.mean, self.correction, self.dtype, self.mean_dtype = root, mean, correction, dtype, mean_dtype

    def __call__(self, partial: Partials) -> Any:
        count, mean, squares = partial.values
        left = max(count - self.correction, 0)
        found = squares / left if left else tl.where(squares == 0, float("nan"), float("inf"))
        found = found.sqrt() if self.root else found
        found = found.to(self.dtype)
        return Partials(found, mean.to(self.mean_dtype)) if self.mean else found


@computed(statistics.var, statistics.std, statistics.var_mean, statistics.std_mean)
def _variance(form: Form, given: dict[str, Any]) -> Any:
    operation = form.operation
    given = dict(given)
    dim, correction = given.get("dim"), given.get("correction")
    unbiased = given.get("unbiased")
    if isinstance(dim, bool):
        given["dim"], unbiased = None, dim
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    tensor = given["input"]
    with warnings.catch_warnings():
        # A sample has too few elements for a variance.
        warnings.simplefilter("ignore")
        sample = called(operation.function, (tensor,), {
            "dim": given["dim"], "keepdim": given.get("keepdim", False), "correction": correction,
        })  # fmt: skip
    both = isinstance(sample, tuple)
    one = sample[0] if both else sample
    if tensor._tl_data.ndim == 0:
        raise refused(form, "one number has no variance")
    dims, keepdim = dims_of(tensor, given["dim"]), bool(given.get("keepdim", False))
    root = operation in (operation_of(statistics.std), operation_of(statistics.std_mean))
    dtype = sample[1].dtype if both else tensor.dtype

    def made(mean: bool) -> Any:
        finish = _Spread(root, mean, correction, one.dtype, dtype)
        first = _Moments(dims, wide(tensor.dtype))
        return finish, first

    finish, first = made(False)
    spread = chunked(tree(name_of(form), tensor, dims, keepdim, first, _merged, finish, one._tl_data.dtype), one)
    if not both:
        return spread
    with recording_block(False):
        mean = tensor.detach().mean(dims, keepdim)
    return (spread, mean)
