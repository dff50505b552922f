"""Extremes and their places in chunks: `argmax`, and `max` along a dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorlike._originals import tl
from tensorlike.autograd.grad_mode import recording_block
from tensorlike.dispatch.operation import Form, operation_of
from tensorlike.operations.reductions import minmax
from tensorlike.tensor.tensor import Tensor

from .chunked import called, chunked, name_of, rule
from .creation import arange
from .mapping import on_chunks
from .recording import arguments, computed, step
from .tasks import ChunkCall, ChunkFunction, Place
from .tree import Partials, tree


class _Found(ChunkFunction):
    """The extreme of a chunk and its place in the whole, along a dimension or in the order of all elements."""

    def __init__(self, largest: bool, dim: int | None, shape: tuple[int, ...], starts: Any) -> None:
        self.largest, self.dim, self.shape, self.starts = largest, dim, shape, starts

    def __call__(self, index: tuple[int, ...], tensor: Tensor) -> Any:
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


def _located(name: str, tensor: Tensor, dim: int | None, keepdim: bool, largest: bool) -> Any:
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


def _nonempty_place(form: Form, tensor: Tensor, dim: int | None) -> None:
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

    def backward(grad: Tensor) -> Any:
        kept = grad if keepdim else grad.unsqueeze(where)
        chosen = index if keepdim else index.unsqueeze(where)
        line = [1] * len(shape)
        line[where] = shape[where]
        numbers = arange(shape[where], chunks=(tensor._tl_data.array.chunks[where],)).reshape(line)
        return tl.where(numbers == chosen, kept, kept.new_zeros(()))

    name = "MaxBackward0" if largest else "MinBackward0"
    return type(sample)((step(name, found, (tensor,), backward), index))
