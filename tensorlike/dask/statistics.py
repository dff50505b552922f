"""Counting in chunks: histograms, distinct values, and looking values up."""

from __future__ import annotations

from typing import Any

import dask.array as da
from dask.highlevelgraph import HighLevelGraph
from dask.tokenize import tokenize

from tensorlike._originals import tl
from tensorlike.dispatch.operation import Form, operation_of
from tensorlike.tensor.tensor import Tensor

from .chunked import called, chunked, is_chunked, name_of, numpy_meta, refused, rule
from .mapping import mapped, on_chunks
from .recording import arguments
from .tasks import ChunkCall, ChunkFunction, Place
from .tree import Partials, tree


class _Histogram(ChunkFunction):
    """Counts the elements of a chunk in bins."""

    def __init__(self, bins: int, low: float, high: float) -> None:
        self.bins, self.low, self.high = bins, low, high

    def __call__(self, tensor: Any) -> Any:
        return Partials(tensor.histc(self.bins, self.low, self.high))


def _added(one: Partials, other: Partials) -> Partials:
    return Partials(one.values[0] + other.values[0])


def _first(partial: Partials) -> Any:
    return _Kept(partial.values[0])


class _Kept:
    """Keeps a result of another rank from being squeezed."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def squeeze(self, dims: Any) -> Any:
        return self.value


def _overall(name: str, tensor: Tensor, first: Any, combine: Any, finish: Any, size: float, sample: Tensor) -> Any:
    """Return a vector that is computed from all elements, of `size` elements or NaN where that is not known."""
    array = tensor._tl_data.array
    dims = tuple(range(array.ndim))
    if not dims:
        tensor = tensor.reshape(1)
        dims = (0,)
    found = tree(name, tensor, dims, False, first, combine, finish, sample._tl_data.dtype)
    # One block without dimensions, which has one.
    key = f"{name}-{tokenize(found, 'vector')}"
    layer = HighLevelGraph.from_collections(key, {(key, 0): (found.name,)}, dependencies=[found])
    dtype = sample._tl_data.dtype
    return chunked(da.Array(layer, key, ((size,),), dtype=dtype, meta=numpy_meta(1, dtype)), sample)


@rule(tl.histc)
def _histc(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    tensor, bins, low, high = given["input"], given.get("bins", 100), given.get("min", 0), given.get("max", 0)
    sample = called(tl.histc, (tensor, 1, low, high), {})
    if low == high:
        raise refused(form, "the range of the values is not known: give min and max")
    if bins <= 0:
        called(tl.histc, (tensor, bins, low, high), {})
    return _overall("histc", tensor, _Histogram(int(bins), low, high), _added, _first, int(bins), sample)


class _Bincount(ChunkFunction):
    """Counts each number of a chunk."""

    def __init__(self, minlength: int) -> None:
        self.minlength = minlength

    def __call__(self, tensor: Any) -> Any:
        return Partials(tensor.bincount(minlength=self.minlength))


def _added_longer(one: Partials, other: Partials) -> Partials:
    a, b = one.values[0], other.values[0]
    a, b = (a, b) if a.shape[0] >= b.shape[0] else (b, a)
    return Partials(a + tl.nn.functional.pad(b, (0, a.shape[0] - b.shape[0])))


@rule(tl.bincount)
def _bincount(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Count numbers; how many counts there are is known after computing."""
    given = arguments(form, args, kwargs)
    tensor = given["input"]
    if given.get("weights") is not None:
        raise refused(form, "weights have no rule")
    sample = called(tl.bincount, (tensor,), {"minlength": given.get("minlength", 0)})
    return _overall(
        "bincount", tensor, _Bincount(int(given.get("minlength", 0))), _added_longer, _first, float("nan"),
        sample.new_zeros(1),
    )  # fmt: skip


class _Distinct(ChunkFunction):
    """Finds the distinct values of a chunk and how often each occurs."""

    def __call__(self, tensor: Any) -> Any:
        return Partials(*tl.unique(tensor, return_counts=True))


def _united(one: Partials, other: Partials) -> Partials:
    (values, counts), (others, more) = one.values, other.values
    found, places = tl.unique(tl.cat([values, others]), return_inverse=True)
    return Partials(found, counts.new_zeros(found.shape[0]).index_add(0, places, tl.cat([counts, more])))


def _second(partial: Partials) -> Any:
    return _Kept(partial.values[1])


@rule(tl.unique)
def _unique(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Find the distinct values, in order; how many there are is known after computing."""
    given = arguments(form, args, kwargs)
    tensor = next(iter(given.values()))
    if given.get("dim") is not None or given.get("return_inverse"):
        raise refused(form, "dim= and return_inverse= have no rule")
    unknown = float("nan")
    found = _overall("unique", tensor, _Distinct(), _united, _first, unknown, tensor._tl_data.sample.reshape(-1))
    if not given.get("return_counts"):
        return found
    counts = tensor._tl_data.sample.reshape(-1).new_ones(1, dtype=tl.int64)
    return found, _overall("unique_counts", tensor, _Distinct(), _united, _second, unknown, counts)


# -------------------------------------------------------------------------------------------------- looking values up


class _With(ChunkFunction):
    """Calls a function with ordinary tensors that all chunks share."""

    def __init__(self, function: Any, before: tuple[Any, ...], after: tuple[Any, ...], options: dict[str, Any]) -> None:
        self.function, self.before, self.after, self.options = function, before, after, options

    def __call__(self, tensor: Any) -> Any:
        return self.function(*self.before, tensor, *self.after, **self.options)


@rule(tl.bucketize, tl.isin, tl.searchsorted)
def _looked_up(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    names = list(given)
    sought = names[1] if form.operation is operation_of(tl.searchsorted) else names[0]
    table = names[0] if sought == names[1] else names[1]
    values, known = given.pop(sought), given.pop(table)
    if not is_chunked(values) or any(is_chunked(v) for v in (known, *given.values())):
        raise refused(form, "the values are in chunks, and what they are looked up in is an ordinary tensor")
    if form.operation is operation_of(tl.searchsorted) and known.dim() != 1:
        raise refused(form, "it looks up in one sorted vector")
    shared = known.detach().clone() if isinstance(known, Tensor) else known
    rest = {k: v for k, v in given.items() if v is not None}
    before, after = ((shared,), ()) if table == names[0] else ((), (shared,))
    return mapped(name_of(form), _With(form.function, before, after, rest), (values,), {})


@rule(tl.nn.functional.one_hot)
def _one_hot(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    tensor, classes = next(iter(given.values())), int(given.get("num_classes", -1))
    if classes <= 0:
        raise refused(form, "the number of classes is not known: give num_classes")
    sample = form.function(tensor._tl_data.sample * 0, 1)
    numbers = tuple(range(tensor._tl_data.ndim))
    found = on_chunks(
        ChunkCall(form.function, ((Place(0), classes), {}), "one_hot"), [tensor._tl_data.array], sample._tl_data.dtype,
        indices=[numbers], result=(*numbers, len(numbers)), new={len(numbers): classes},
    )  # fmt: skip
    return chunked(found, sample)
