"""Reductions in chunks: each chunk is reduced by itself, and what comes of it is combined in a tree.

What a chunk leaves for the combination (a partial sum, or the sum with the count for a mean) is made by public
functions and has the reduced dimensions, of size 1.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import dask.array as da
from dask.array.reductions import reduction
from dask.core import flatten

import tensorlike as tl
from tensorlike.autograd.grad_mode import grad_enabled, recording_block
from tensorlike.dispatch.operation import Form, operation_of
from tensorlike.tensor.ops.linalg import diagonals
from tensorlike.tensor.ops.linalg import norms as linalg_norms
from tensorlike.tensor.ops.reductions import minmax, norms, softmax, statistics, sums
from tensorlike.tensor.tensor import Tensor

from .chunked import called, chunked, is_chunked, name_of, numpy_meta, refused, rule
from .mapping import on_chunks
from .recording import arguments, computed, record, step
from .tasks import ChunkCall, ChunkFunction, Place

__all__ = ["Sum", "reduced", "tree"]


class _Step(ChunkFunction):
    """One step of a reduction, as dask calls it: combines nested lists of partial results, and may finish them."""

    def __init__(self, combine: Any, finish: Any, name: str, dims: tuple[int, ...], keepdim: bool) -> None:
        self.combine, self.finish, self.name, self.dims, self.keepdim = combine, finish, name, dims, keepdim

    def __call__(self, partials: Any, axis: Any = None, keepdims: bool = True, **unused: Any) -> Any:
        return ChunkCall(self._finished, ((partials,), {}), self.name)(())

    def _finished(self, partials: Any) -> Any:
        found = list(flatten(partials)) if isinstance(partials, list) else [partials]
        total = functools.reduce(self.combine, found)
        if self.finish is None:
            return total
        result = self.finish(total)
        return result if self.keepdim else result.squeeze(self.dims)


def _identity(partial: Any, axis: Any = None, keepdims: bool = True) -> Any:
    return partial


class Partials:
    """Keeps several tensors that a chunk leaves one value."""

    __slots__ = ("values",)

    def __init__(self, *values: Any) -> None:
        self.values = values

    def __reduce__(self) -> tuple[Any, ...]:
        return (Partials, self.values)


def tree(
    name: str,
    tensor: Any,
    dims: Sequence[int],
    keepdim: bool,
    first: Callable[..., Any],
    combine: Callable[[Any, Any], Any],
    finish: Callable[[Any], Any],
    dtype: Any,
    *,
    takes_index: bool = False,
) -> Any:
    """Return the dask array of a reduction over `dims`, of which there is at least one.

    `first(chunk)` makes what a chunk leaves, `combine` one of two of these, `finish` the result of the last.
    """
    array = tensor._tl_data.array
    dims = tuple(dims)
    numbers = tuple(range(array.ndim))
    partials = on_chunks(
        ChunkCall(first, ((Place(0),), {}), name, takes_index), [array], array.dtype, indices=[numbers], result=numbers,
        adjust=dict.fromkeys(dims, 1),
    )  # fmt: skip
    # dask makes the tree from the number of chunks alone; it never looks at one.
    found = reduction(
        partials, _identity, _Step(combine, finish, name, dims, keepdim),
        axis=dims, keepdims=keepdim, dtype=dtype, combine=_Step(combine, None, name, dims, True), name=name,
        concatenate=False, meta=numpy_meta(array.ndim - (0 if keepdim else len(dims)), dtype),
    )  # fmt: skip
    return da.Array(found.dask, found.name, found.chunks, dtype=dtype, meta=numpy_meta(found.ndim, dtype))


# ------------------------------------------------------------------------------------------------ partial results


class _Call(ChunkFunction):
    """A public function with options, for the chunks of a reduction."""

    def __init__(self, function: Callable[..., Any], *rest: Any, **options: Any) -> None:
        self.function, self.rest, self.options = function, rest, options

    def __call__(self, *tensors: Any) -> Any:
        return self.function(*tensors, *self.rest, **self.options)


class _To(ChunkFunction):
    """Converts the last partial result to the dtype of the result."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype

    def __call__(self, value: Any) -> Any:
        return value.to(self.dtype)


class Sum(ChunkFunction):
    """Adds a chunk up along dimensions, or converts the last sum to the dtype of the result."""

    def __init__(self, dims: tuple[int, ...] | None, dtype: Any) -> None:
        self.dims, self.dtype = dims, dtype

    def __call__(self, tensor: Any) -> Any:
        if self.dims is None or all(tensor.shape[d] == 1 for d in self.dims):
            return tensor if tensor.dtype == self.dtype else tensor.to(self.dtype)
        return tensor.sum(self.dims, True, dtype=self.dtype)


class _Flat(ChunkFunction):
    """Reduces a chunk to one number by a function that takes one dimension at a time."""

    def __init__(self, function: Callable[..., Any], dims: tuple[int, ...], options: dict[str, Any]) -> None:
        self.function, self.dims, self.options = function, dims, options

    def __call__(self, tensor: Any) -> Any:
        for d in self.dims:
            tensor = self.function(tensor, d, True, **self.options)
        return tensor


def reduced(form: Form, given: dict[str, Any]) -> tuple[Any, tuple[int, ...], bool, Any]:
    """Return the tensor, the dimensions to reduce, `keepdim` and a sample of the result of a reduction.

    The errors of its arguments are those of the function.
    """
    tensor = given["input"]
    if not is_chunked(tensor):
        raise refused(form, "its first operand is an ordinary tensor")
    sample = called(form.operation.function, (tensor,), {k: v for k, v in given.items() if k != "input"})
    dim, ndim = given.get("dim"), tensor._tl_data.ndim
    dims = range(ndim) if dim is None or dim == () or dim == [] else dim if isinstance(dim, (tuple, list)) else (dim,)
    wanted = tuple(sorted({int(d) % ndim for d in dims})) if ndim else ()
    return tensor, wanted, bool(given.get("keepdim", False)), sample


def by_parts(
    form: Form, given: dict[str, Any], first: Callable[..., Any] | None, combine: Any, finish: Any = None
) -> Any:
    """Return the result of a reduction whose partial results are of the function itself, or of `first`."""
    tensor, dims, keepdim, sample = reduced(form, given)
    if not dims:
        rest = {k: v for k, v in given.items() if k != "input"}
        call = ChunkCall(form.operation.function, ((Place(0),), rest), name_of(form))
        return chunked(on_chunks(call, [tensor._tl_data.array], sample._tl_data.dtype), sample)
    assert first is not None
    found = tree(
        name_of(form), tensor, dims, keepdim, first, combine, finish or _To(sample.dtype), sample._tl_data.dtype
    )
    return chunked(found, sample)


def _wide(dtype: Any) -> Any:
    """Return the dtype in which half precision is summed."""
    return tl.float32 if dtype in (tl.float16, tl.bfloat16) else dtype


@computed(sums.sum, sums.nansum)
def _sum(form: Form, given: dict[str, Any]) -> Any:
    _, dims, _, sample = reduced(form, given)
    return by_parts(form, given, _Call(form.operation.function, dims, True, dtype=_wide(sample.dtype)), _Call(tl.add))


@rule(sums.prod)
def _prod(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    tensor, dims, keepdim, sample = reduced(form, given)
    result = by_parts(form, given, _Flat(tl.prod, dims, {"dtype": _wide(sample.dtype)}), _Call(tl.mul))

    def backward(grad: Any) -> Any:
        if grad_enabled():
            # Beside two zeros the first derivative is zero and the second is not.
            raise refused(form, "its derivative has none of its own: leave create_graph out")
        value = tensor.detach().to(sample.dtype)
        zero = value == 0
        others = value.masked_fill(zero, 1)
        product, count = others, zero.to(tl.int64)
        for d in dims:
            product, count = product.prod(d, keepdim=True), count.sum(d, keepdim=True)
        kept = grad if keepdim or not dims else grad.reshape(tuple(product.shape))
        product = product.conj() if product.is_complex() else product
        others = others.conj() if others.is_complex() else others
        return kept * tl.where(zero, product * (count == 1), (product / others) * (count == 0))

    return step("ProdBackward0", result, (tensor,), backward)


@computed(sums.count_nonzero)
def _count(form: Form, given: dict[str, Any]) -> Any:
    _, dims, _, _ = reduced(form, given)
    return by_parts(form, given, _Counted(dims), _Call(tl.add))


class _Counted(ChunkFunction):
    def __init__(self, dims: tuple[int, ...]) -> None:
        self.dims = dims

    def __call__(self, tensor: Any) -> Any:
        return (tensor != 0).sum(self.dims, True)


@computed(sums.any, sums.all)
def _truth(form: Form, given: dict[str, Any]) -> Any:
    if given.get("dim") in ((), []):
        tensor = given["input"]
        sample = called(form.operation.function, (tensor, ()), {})
        call = ChunkCall(form.operation.function, ((Place(0), ()), {}), name_of(form))
        return chunked(on_chunks(call, [tensor._tl_data.array], sample._tl_data.dtype), sample)
    _, dims, _, _ = reduced(form, given)
    both = tl.logical_and if form.operation is operation_of(sums.all) else tl.logical_or
    return by_parts(form, given, _Call(form.operation.function, dims, True), _Call(both))


def _nonempty(form: Form, tensor: Any, dims: Sequence[int]) -> None:
    """Raise the function's own error for dimensions without elements."""
    shape = tensor._tl_data.array.shape
    if any(shape[d] == 0 for d in dims):
        with recording_block(False):
            form.operation.function(tensor._tl_data.sample.new_zeros(()).expand(shape), dim=tuple(dims))


@computed(minmax.amax, minmax.amin)
def _extreme(form: Form, given: dict[str, Any]) -> Any:
    tensor, dims, _, _ = reduced(form, given)
    _nonempty(form, tensor, dims)
    # A chunk may be empty beside others that are not.
    function = form.operation.function
    pick = tl.maximum if form.operation is operation_of(minmax.amax) else tl.minimum
    return by_parts(form, given, _OrNothing(_Call(function, dims, True), dims), _OrOther(_Call(pick)))


class _OrNothing(ChunkFunction):
    """Reduces a chunk by a function without identity; an empty one leaves None."""

    def __init__(self, function: Any, dims: tuple[int, ...]) -> None:
        self.function, self.dims = function, dims

    def __call__(self, tensor: Any) -> Any:
        return None if any(tensor.shape[d] == 0 for d in self.dims) else self.function(tensor)


class _OrOther(ChunkFunction):
    """Combines two partial results, of which one may be missing."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, one: Any, other: Any) -> Any:
        return other if one is None else one if other is None else self.function(one, other)


@rule(minmax.aminmax)
def _both(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    tensor, dim, keepdim = given["input"], given.get("dim"), bool(given.get("keepdim"))
    sample = called(form.operation.function, (tensor,), {"dim": dim, "keepdim": keepdim})
    dims = () if dim is None else dim
    return type(sample)((tensor.amin(dims, keepdim), tensor.amax(dims, keepdim)))


@computed(softmax.logsumexp)
def _logsumexp(form: Form, given: dict[str, Any]) -> Any:
    _, dims, _, sample = reduced(form, given)
    if not sample.is_floating_point():
        return NotImplemented
    return by_parts(form, given, _LogSum(dims, _wide(sample.dtype)), _Call(tl.logaddexp))


class _LogSum(ChunkFunction):
    def __init__(self, dims: tuple[int, ...], dtype: Any) -> None:
        self.dims, self.dtype = dims, dtype

    def __call__(self, tensor: Any) -> Any:
        tensor = tensor.to(self.dtype)
        if any(tensor.shape[d] == 0 for d in self.dims):
            return tensor.sum(self.dims, True).log()
        return tensor.logsumexp(self.dims, True)


# ---------------------------------------------------------------------------------------------------- mean, variance


class _SumAndCount(ChunkFunction):
    def __init__(self, dims: tuple[int, ...], dtype: Any) -> None:
        self.dims, self.dtype = dims, dtype

    def __call__(self, tensor: Any) -> Any:
        count = 1
        for d in self.dims:
            count *= tensor.shape[d]
        return Partials(tensor.sum(self.dims, True, dtype=self.dtype), count)


def _added(one: Partials, other: Partials) -> Partials:
    return Partials(one.values[0] + other.values[0], one.values[1] + other.values[1])


class _Divided(ChunkFunction):
    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype

    def __call__(self, partial: Partials) -> Any:
        total, count = partial.values
        return (total / count if count else total * float("nan")).to(self.dtype)


@computed(sums.mean)
def _mean(form: Form, given: dict[str, Any]) -> Any:
    _, dims, _, sample = reduced(form, given)
    return by_parts(form, given, _SumAndCount(dims, _wide(sample.dtype)), _added, _Divided(sample.dtype))


class _Moments(ChunkFunction):
    """The count, the mean and the sum of squared differences from it, of a chunk."""

    def __init__(self, dims: tuple[int, ...], dtype: Any) -> None:
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

    def __init__(self, root: bool, mean: bool, correction: float, dtype: Any, mean_dtype: Any) -> None:
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
    _, dims, keepdim, _ = reduced_dims(form, given)
    root = operation in (operation_of(statistics.std), operation_of(statistics.std_mean))
    dtype = sample[1].dtype if both else tensor.dtype

    def made(mean: bool) -> Any:
        finish = _Spread(root, mean, correction, one.dtype, dtype)
        first = _Moments(dims, _wide(tensor.dtype))
        return finish, first

    finish, first = made(False)
    spread = chunked(tree(name_of(form), tensor, dims, keepdim, first, _merged, finish, one._tl_data.dtype), one)
    if not both:
        return spread
    with recording_block(False):
        mean = tensor.detach().mean(dims, keepdim)
    return (spread, mean)


def reduced_dims(form: Form, given: dict[str, Any]) -> tuple[Any, tuple[int, ...], bool, Any]:
    """Return what `reduced` does, without a sample of the result."""
    tensor, dim = given["input"], given.get("dim")
    ndim = tensor._tl_data.ndim
    dims = range(ndim) if dim is None or dim in ((), []) else dim if isinstance(dim, (tuple, list)) else (dim,)
    return tensor, tuple(sorted({int(d) % ndim for d in dims})) if ndim else (), bool(given.get("keepdim", False)), None


# -------------------------------------------------------------------------------------------------- values and places


class _Found(ChunkFunction):
    """The extreme of a chunk and its place in the whole, along a dimension or in the order of all elements."""

    def __init__(self, largest: bool, dim: int | None, shape: tuple[int, ...], starts: Any) -> None:
        self.largest, self.dim, self.shape, self.starts = largest, dim, shape, starts

    def __call__(self, index: tuple[int, ...], tensor: Any) -> Any:
        if tensor.numel() == 0 and (self.dim is None or tensor.shape[self.dim] == 0):
            return None
        offset = [s[i] for s, i in zip(self.starts, index, strict=True)]
        if self.dim is not None:
            values, places = (tl.max if self.largest else tl.min)(tensor, self.dim, True)
            return Partials(values, places + offset[self.dim])
        flat = tensor.reshape(-1)
        value, place = (tl.max if self.largest else tl.min)(flat, 0)
        number, at = int(place), []
        for n in reversed(tensor.shape):
            at.append(number % n)
            number //= n
        whole = 0
        for n, o, a in zip(self.shape, offset, reversed(at), strict=True):
            whole = whole * n + o + a
        ones = (1,) * tensor.dim()
        return Partials(value.reshape(ones), tl.full(ones, whole, dtype=tl.int64, device=place.device))


class _Better(ChunkFunction):
    """Chooses the more extreme of two values, of equal ones the one whose place is first; NaN is the most extreme."""

    def __init__(self, largest: bool) -> None:
        self.largest = largest

    def __call__(self, one: Any, other: Any) -> Any:
        if one is None or other is None:
            return other if one is None else one
        (v, p), (w, q) = one.values, other.values
        better = (w > v) if self.largest else (w < v)
        if v.is_floating_point():
            better = better.logical_and(v.isnan().logical_not()).logical_or(
                w.isnan().logical_and(v.isnan().logical_not())
            )
            same = (w == v).logical_or(w.isnan().logical_and(v.isnan()))
        else:
            same = w == v
        better = better.logical_or(same.logical_and(q < p))
        return Partials(tl.where(better, w, v), tl.where(better, q, p))


class _Only(ChunkFunction):
    """Takes the value or the place."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __call__(self, partial: Partials) -> Any:
        return partial.values[self.number]


def _located(name: str, tensor: Any, dim: int | None, keepdim: bool, largest: bool) -> Any:
    """Return the dask arrays of the extremes and of their places."""
    data = tensor._tl_data
    starts = tuple(tuple(int(s) for s in _starts(c)) for c in data.array.chunks)
    first = _Found(largest, dim, tuple(data.shape), starts)
    dims = tuple(range(data.ndim)) if dim is None else (dim,)
    int64 = tl.int64.numpy_dtype
    return [
        tree(f"{name}-{part}", tensor, dims, keepdim, first, _Better(largest), _Only(number), dtype, takes_index=True)
        for number, (part, dtype) in enumerate((("values", data.dtype), ("indices", int64)))
    ]


def _starts(sizes: Sequence[int]) -> list[int]:
    found = [0]
    for n in sizes:
        found.append(found[-1] + n)
    return found


@computed(minmax.argmax, minmax.argmin)
def _argument(form: Form, given: dict[str, Any]) -> Any:
    tensor, dim = given["input"], given.get("dim")
    sample = called(form.operation.function, (tensor,), {k: v for k, v in given.items() if k != "input"})
    ndim = tensor._tl_data.ndim
    if not ndim:
        call = ChunkCall(form.operation.function, ((Place(0),), {}), name_of(form))
        return chunked(on_chunks(call, [tensor._tl_data.array], sample._tl_data.dtype), sample)
    where = None if dim is None else int(dim) % ndim
    _nonempty_place(form, tensor, where)
    largest = form.operation is operation_of(minmax.argmax)
    _, places = _located(name_of(form), tensor, where, bool(given.get("keepdim")), largest)
    return chunked(places, sample)


def _nonempty_place(form: Form, tensor: Any, dim: int | None) -> None:
    shape = tensor._tl_data.shape
    if (dim is None and 0 in shape) or (dim is not None and shape[dim] == 0):
        with recording_block(False):
            form.operation.function(
                tensor._tl_data.sample.new_zeros(()).expand(shape), *(() if dim is None else (dim,))
            )


@rule(minmax.max, minmax.min)
def _values_and_places(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    tensor, dim, keepdim = given["input"], given.get("dim"), bool(given.get("keepdim", False))
    largest = form.operation is operation_of(minmax.max)
    other = given.get("other") if given.get("other") is not None else dim if isinstance(dim, Tensor) else None
    if other is not None:
        return (tl.maximum if largest else tl.minimum)(tensor, other)
    if dim is None:
        if 0 in tensor._tl_data.array.shape:
            _nonempty_place(form, tensor, None)
        return tensor.amax() if largest else tensor.amin()
    sample = called(form.operation.function, (tensor, dim, keepdim), {})
    if not tensor._tl_data.ndim:
        return type(sample)((tensor.clone(), tensor.detach().new_zeros((), dtype=tl.int64)))
    where = int(dim) % tensor._tl_data.ndim
    _nonempty_place(form, tensor, where)
    values, places = _located(name_of(form), tensor, where, keepdim, largest)
    found, index = chunked(values, sample[0]), chunked(places, sample[1])
    shape = tensor._tl_data.shape

    def backward(grad: Any) -> Any:
        kept = grad if keepdim else grad.unsqueeze(where)
        chosen = index if keepdim else index.unsqueeze(where)
        line = [1] * len(shape)
        line[where] = shape[where]
        from .creation import arange

        numbers = arange(shape[where], chunks=(tensor._tl_data.array.chunks[where],)).reshape(line)
        return tl.where(numbers == chosen, kept, kept.new_zeros(()))

    name = "MaxBackward0" if largest else "MinBackward0"
    return type(sample)((step(name, found, (tensor,), backward), index))


# --------------------------------------------------------------------------------------------------------------- norms


@rule(norms.norm, linalg_norms.vector_norm, norms.vector_norm)
def _norm(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    tensor, *_ = given.values()
    order = given["p"] if "p" in given else given.get("ord", 2)
    if order == "nuc":
        raise refused(form, "the nuclear norm needs the singular values of the whole")
    rest = {k: v for k, v in given.items() if v is not tensor}
    called(form.function, (tensor,), rest)
    wanted = {
        "input": tensor, "ord": 2 if order is None or order == "fro" else order, "dim": given.get("dim"),
        "keepdim": bool(given.get("keepdim")), "dtype": given.get("dtype"),
    }  # fmt: skip
    operation = operation_of(norms.vector_norm)
    result = _vector_norm(form, wanted, called(operation.function, (tensor,), {k: wanted[k] for k in (
        "ord", "dim", "keepdim", "dtype",
    )}))  # fmt: skip
    return record(operation, wanted, result)


def _vector_norm(form: Form, given: dict[str, Any], sample: Any) -> Any:
    tensor = given["input"]
    order = given.get("ord", 2)
    _, dims, keepdim, _ = reduced_dims(form, given)
    if not dims:
        rest = {k: v for k, v in given.items() if k != "input"}
        call = ChunkCall(norms.vector_norm, ((Place(0),), rest), name_of(form))
        return chunked(on_chunks(call, [tensor._tl_data.array], sample._tl_data.dtype), sample)
    finish = _Root(float(order), sample.dtype)
    first = _Powers(float(order), dims, given.get("dtype") or tensor.dtype)
    combine = _Call(tl.maximum if order == float("inf") else tl.minimum if order == float("-inf") else tl.add)
    return chunked(tree(name_of(form), tensor, dims, keepdim, first, combine, finish, sample._tl_data.dtype), sample)


class _Powers(ChunkFunction):
    """The sum of the powers of the absolute values of a chunk."""

    def __init__(self, order: float, dims: tuple[int, ...], dtype: Any) -> None:
        self.order, self.dims, self.dtype = order, dims, dtype

    def __call__(self, tensor: Any) -> Any:
        sizes = tensor.to(_wide(self.dtype)).abs()
        if self.order in (float("inf"), float("-inf")):
            return sizes.amax(self.dims, True) if self.order > 0 else sizes.amin(self.dims, True)
        if self.order == 0:
            return (sizes != 0).to(sizes.dtype).sum(self.dims, True)
        powers = sizes if self.order == 1 else sizes * sizes if self.order == 2 else sizes**self.order
        return powers.sum(self.dims, True)


class _Root(ChunkFunction):
    def __init__(self, order: float, dtype: Any) -> None:
        self.order, self.dtype = order, dtype

    def __call__(self, total: Any) -> Any:
        if self.order not in (0, 1, float("inf"), float("-inf")):
            total = total.sqrt() if self.order == 2 else total ** (1 / self.order)
        return total.to(self.dtype)


@rule(minmax.ties)
def _ties(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    one, other = (*args, *kwargs.values())
    same = one == other
    return same | ((one != one) & (other != other)) if other.is_floating_point() or other.is_complex() else same


@rule(diagonals.trace)
def _trace(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor = args[0] if args else kwargs["input"]
    called(form.function, (tensor,), {})
    return tensor.diagonal().sum()
