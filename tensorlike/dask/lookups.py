"""Elements by index tensors in chunks, along one dimension."""

from __future__ import annotations

import itertools
from typing import Any

import dask.array as da
import numpy as np
from dask.array.core import normalize_chunks
from dask.highlevelgraph import HighLevelGraph
from dask.tokenize import tokenize

from tensorlike._originals import tl
from tensorlike.autograd.grad_mode import recording_block
from tensorlike.dispatch.operation import Form
from tensorlike.operations.indexing import gather
from tensorlike.tensor import Tensor
from tensorlike.tensor.dims import one_dim

from .chunked import chunked, is_chunked, numpy_meta, rule
from .mapping import array_of, on_chunks
from .recording import arguments, kept, step
from .shaping import like, reshaped
from .tasks import ChunkCall, ChunkFunction, Place
from .tree import Sum, tree


def picked_rows(form: Form, tensor: Tensor, index: Any, dim: int) -> Any:
    """Return the elements at the places of an index tensor along one dimension."""
    array = tensor._tl_data.array
    size = array.shape[dim]
    rows = _numbers(form, index)
    if rows is None:
        return _picked_lazily(form, tensor, index, dim)
    if rows.size and (rows.min() < -size or rows.max() >= size):
        bad = int(rows[(rows < -size) | (rows >= size)].reshape(-1)[0])
        raise IndexError(f"index {bad} is out of bounds for dimension {dim} with size {size}")
    flat = (rows.reshape(-1) % size) if size else rows.reshape(-1)
    if not flat.size:
        found = array[(slice(None),) * dim + (slice(0, 0),)]
    else:
        found = _gathered(array, flat, dim)
    result = step("IndexBackward0", like(tensor, found), (tensor,), lambda grad: _scattered(grad, flat, dim, size))
    if rows.ndim == 1:
        return result
    shape = tuple(array.shape)
    return reshaped(result, (*shape[:dim], *rows.shape, *shape[dim + 1 :]))


def _numbers(form: Form, index: Any) -> Any:
    """Return the numbers of an ordinary index tensor; None for one in chunks."""
    return None if is_chunked(index) else np.asarray(index.detach()._tl_data).astype(np.int64)


def _gathered(array: da.Array, rows: np.ndarray[Any, Any], dim: int) -> Any:
    """Return the dask array of rows: each block of the result takes its rows from the blocks that have them."""
    starts = np.cumsum([0, *array.chunks[dim]])
    largest = max(max(array.chunks[dim]), 1)
    chunks = normalize_chunks((largest,), (len(rows),), dtype=array.dtype)[0]
    name = "index-" + tokenize(array, rows, dim)
    others = [range(n) for d, n in enumerate(array.numblocks) if d != dim]
    graph: dict[Any, Any] = {}
    begin = 0
    for number, count in enumerate(chunks):
        wanted = rows[begin : begin + count]
        begin += count
        owners = np.searchsorted(starts, wanted, side="right") - 1
        sources = sorted({int(o) for o in owners})
        offsets = {o: k for k, o in enumerate(sources)}
        local = [(wanted[owners == o] - starts[o]) for o in sources]
        # Where each wanted row is among the rows of all sources, one after the other.
        places = np.empty(len(wanted), np.int64)
        first = 0
        for o in sources:
            places[owners == o] = np.arange(first, first + int((owners == o).sum()))
            first += int((owners == o).sum())
        call = ChunkCall(_PickRows(dim, local, places), (tuple(Place(k) for k in range(len(sources))), {}), "index")
        for rest in itertools.product(*others):
            out = (*rest[:dim], number, *rest[dim:])
            graph[(name, *out)] = (call, out, *[(array.name, *rest[:dim], o, *rest[dim:]) for o in offsets])
    layer = HighLevelGraph.from_collections(name, graph, dependencies=[array])
    return da.Array(
        layer, name, (*array.chunks[:dim], chunks, *array.chunks[dim + 1 :]), dtype=array.dtype,
        meta=numpy_meta(array.ndim, array.dtype),
    )  # fmt: skip


class _PickRows(ChunkFunction):
    """Takes rows of several chunks and puts them in order."""

    def __init__(self, dim: int, local: list[np.ndarray[Any, Any]], places: Any) -> None:
        self.dim, self.local, self.places = dim, local, places

    def __call__(self, *tensors: Tensor) -> Any:
        parts = [t.index_select(self.dim, tl.from_numpy(rows)) for t, rows in zip(tensors, self.local, strict=True)]
        return (parts[0] if len(parts) == 1 else tl.cat(parts, self.dim)).index_select(
            self.dim, tl.from_numpy(self.places)
        )


def _scattered(grad: Any, rows: np.ndarray[Any, Any], dim: int, size: int) -> Any:
    """Return zeros with the rows of `grad` added at their places."""
    order = np.argsort(rows, kind="stable")
    kinds = np.unique(rows)
    if len(kinds) == len(rows):
        # Each place comes at most once: a choice of rows of `grad`, and zeros.
        extended = tl.cat([grad, grad._tl_zeros(_with(grad, dim, 1), grad._tl_data.dtype)], dim)
        source = np.full(size, len(rows), np.int64)
        source[rows] = np.arange(len(rows))
        return tl.index_select(extended, dim, tl.from_numpy(source))
    ordered = grad.index_select(dim, tl.from_numpy(order))
    places = rows[order]
    return _added(ordered, places, dim, size)


def _with(tensor: Tensor, dim: int, size: int) -> tuple[int, ...]:
    shape = list(tensor._tl_data.array.shape)
    shape[dim] = size
    return tuple(shape)


def _added(tensor: Tensor, places: Any, dim: int, size: int) -> Any:
    """Return zeros of `size` rows with those of `tensor` added at `places`, by a sum over the chunks."""
    array = tensor._tl_data.array
    ndim = array.ndim
    starts = tuple(int(n) for n in np.cumsum([0, *array.chunks[dim]]))
    numbers = tuple(range(ndim))
    # Each chunk of rows makes all rows: a dimension more, along which they are added up.
    result = (*numbers[:dim], ndim, dim, *numbers[dim + 1 :])
    call = ChunkCall(_AddRows(dim, places, starts, size), ((Place(0),), {}), "index_backward", True)
    new = on_chunks(
        call, [array], array.dtype, indices=[numbers], result=result, new={ndim: size},
        adjust={dim: (1,) * array.numblocks[dim], ndim: (size,)},
    )  # fmt: skip
    found = chunked(new, tensor._tl_data.sample.unsqueeze(dim))
    with recording_block(False):
        total = found.sum(dim + 1)
    return step("IndexAddBackward0", total, (tensor,), lambda grad: grad.index_select(dim, _tensor(places)))


def _tensor(rows: np.ndarray[Any, Any]) -> Any:
    return tl.from_numpy(rows)


class _AddRows(ChunkFunction):
    """Adds the rows of a chunk into zeros."""

    def __init__(self, dim: int, places: Any, starts: tuple[int, ...], size: int) -> None:
        self.dim, self.places, self.starts, self.size = dim, places, starts, size

    def __call__(self, index: tuple[int, ...], tensor: Tensor) -> Any:
        number = index[self.dim + 1]
        shape = list(tensor.shape)
        rows = self.places[self.starts[number] : self.starts[number + 1]]
        shape[self.dim] = self.size
        return tensor.new_zeros(tuple(shape)).index_add(self.dim, _tensor(rows), tensor).unsqueeze(self.dim + 1)


def _picked_lazily(form: Form, tensor: Tensor, index: Any, dim: int) -> Any:
    """Return elements by an index tensor in chunks: each of its chunks takes what each chunk of the tensor has of it,
    and these are added up.
    """
    if index.dtype.numpy_dtype.kind not in "iu":
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    flat = index if index.dim() == 1 else index.reshape(-1)
    size = tensor.shape[dim]
    before = kept(tensor, array_of(tensor))
    result = _looked_up(before, flat.detach(), dim, size)
    found = step(
        "IndexBackward0", result, (tensor,), lambda grad: _looked_up(grad, flat.detach(), dim, size, back=before)
    )
    shape = tuple(tensor.shape)
    return found if index.dim() == 1 else reshaped(found, (*shape[:dim], *index.shape, *shape[dim + 1 :]))


def _looked_up(tensor: Tensor, index: Any, dim: int, size: int, back: Tensor | None = None) -> Any:
    """Return `tensor[..., index, ...]`, or with `back` the adding up of `tensor` at the places `index` in its shape."""
    ndim = tensor._tl_data.ndim
    source = tensor if back is None else back
    starts = tuple(int(n) for n in np.cumsum([0, *source._tl_data.array.chunks[dim]]))
    own, picked = tuple(range(ndim)), (*range(dim), ndim, *range(dim + 1, ndim))
    call = ChunkCall(_Owned(dim, starts, size, back is not None), ((Place(0), Place(1), Place(2)), {}), "index", True)
    if back is None:
        gone, indices, result = dim, [own, (ndim,), own], (*picked, dim)
    else:
        gone, indices, result = ndim, [picked, (ndim,), own], (*own, ndim)
    parts = on_chunks(
        call, [tensor._tl_data.array, index._tl_data.array, source._tl_data.array], tensor._tl_data.dtype,
        indices=indices, result=result, adjust={gone: 1},
    )  # fmt: skip
    inner = chunked(parts, tensor._tl_data.sample.unsqueeze(-1))
    sample = tensor._tl_data.sample
    total = tree(
        "index", inner, (ndim,), False, Sum(None, sample.dtype), _either, Sum(None, sample.dtype), sample._tl_data.dtype
    )
    return chunked(total, sample)


def _either(one: Tensor, other: Tensor) -> Any:
    return one | other if one.dtype == _bool() else one + other


def _bool() -> Any:
    return tl.bool


class _Owned(ChunkFunction):
    """Takes the elements that one chunk of the source has, zeros for the others, or adds elements up into zeros."""

    def __init__(self, dim: int, starts: tuple[int, ...], size: int, back: bool) -> None:
        self.dim, self.starts, self.size, self.back = dim, starts, size, back

    def __call__(self, place: tuple[int, ...], tensor: Tensor, index: Any, source: Tensor) -> Any:
        if index.numel() and bool(((index < -self.size) | (index >= self.size)).any()):
            raise IndexError(f"index is out of bounds for dimension {self.dim} with size {self.size}")
        block = place[self.dim] if self.back else place[-1]
        first, last = self.starts[block], self.starts[block + 1]
        wanted = tl.where(index < 0, index + self.size, index)
        inside = (wanted >= first) & (wanted < last)
        local = (wanted - first)[inside]
        if self.back:
            found = source.new_zeros(tuple(source.shape), dtype=tensor.dtype)
            rows = inside.nonzero().flatten()
            return found.index_add(self.dim, local, tensor.index_select(self.dim, rows)).unsqueeze(-1)
        shape = list(tensor.shape)
        shape[self.dim] = index.shape[0]
        found = tensor.new_zeros(tuple(shape))
        rows = inside.nonzero().flatten()
        return found.index_copy(self.dim, rows, tensor.index_select(self.dim, local)).unsqueeze(-1)


@rule(gather.index_select)
def _index_select(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    tensor, index = given["input"], given["index"]
    if not is_chunked(tensor):
        tensor = kept(tensor, array_of(tensor))
    ndim = tensor._tl_data.ndim
    where = one_dim(given["dim"], ndim)
    if index.dim() > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if index.dtype.numpy_dtype.kind not in "iu":
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    if not ndim:
        return picked_rows(form, tensor.reshape(1), index.reshape(-1), 0).reshape(())
    if not is_chunked(index) and index.numel():
        rows = np.asarray(index._tl_data)
        if rows.min() < 0:
            raise IndexError(f"index {int(rows.min())} is out of bounds for dimension {where}")
    return picked_rows(form, tensor, index.reshape(-1), where)


@rule(gather.take)
def _take(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    tensor, index = given["input"], given["index"]
    if not is_chunked(tensor):
        tensor = kept(tensor, array_of(tensor))
    return picked_rows(form, tensor.reshape(-1), index, 0)
