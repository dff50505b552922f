"""Shapes in chunks: rechunking, reshaping, the order of dimensions, broadcasting, and what undoes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import dask.array as da
import numpy as np
from dask.array.core import normalize_chunks
from dask.highlevelgraph import HighLevelGraph
from dask.layers import ArrayBlockIdDep, ArrayChunkShapeDep, ArraySliceDep
from dask.tokenize import tokenize

from tensorlike._originals import tl
from tensorlike.autograd.grad_mode import recording_block
from tensorlike.dispatch.operation import CONJUGATED, ORDERED, Form, operation_of
from tensorlike.dispatch.registry import moving
from tensorlike.operations.linalg import diagonals
from tensorlike.operations.memory import placement
from tensorlike.operations.reductions import sums
from tensorlike.operations.shape import expanding, rearranging, reshaping
from tensorlike.operations.shape.joining import cat
from tensorlike.tensor import Tensor
from tensorlike.tensor.dims import dim_tuple, inferred, one_dim, size_argument
from tensorlike.transforms.levels import order_of

from .chunked import ChunksLike, Method, called, chunked, name_of, numpy_meta, refused, rule
from .creation import chunks_for, in_chunks
from .inplace import share
from .mapping import mapped, on_chunks
from .recording import arguments, step
from .tasks import ChunkCall, ChunkFunction, Place


def one_call(name: str, function: Callable[..., Any], tensor: Tensor, *rest: Any, **places: Any) -> Any:
    """Return the dask array of `function(chunk, *rest)` for each chunk of one tensor."""
    call = ChunkCall(function, ((Place(0), *rest), {}), name)
    array = tensor._tl_data.array
    if "indices" not in places:
        numbers = tuple(range(array.ndim))
        places |= {"indices": [numbers], "result": places.get("result", numbers)}
    return on_chunks(call, [array], tensor._tl_data.dtype, **places)


def like(tensor: Tensor, array: da.Array) -> Any:
    """Return a chunked tensor with chunks of the type and dtype that `tensor` has."""
    return chunked(array, tensor._tl_data.sample)


# --------------------------------------------------------------------------------------------------------------- chunks


def rechunked(tensor: Any, chunks: ChunksLike = "auto", options: Any = None) -> Any:
    """Return the tensor in other chunks."""
    array = tensor._tl_data.array
    if any(n != n for n in array.shape):
        tensor._tl_data.shape  # noqa: B018, the error of unknown sizes
    if isinstance(chunks, dict):
        wanted = list(array.chunks)
        for dim, one in chunks.items():
            wanted[one_dim(dim, array.ndim)] = one
        chunks = tuple(wanted)
    found = array.rechunk(chunks_for("rechunk", array.shape, chunks, array.dtype), **(options or {}))
    if found is array:
        return tensor
    before = array.chunks
    result = step("RechunkBackward0", like(tensor, found), (tensor,), lambda grad: rechunked(grad, before))
    return share(result, tensor)


# -------------------------------------------------------------------------------------------------------------- reshape


def reshaped(tensor: Tensor, shape: tuple[int, ...]) -> Any:
    """Return the elements in another shape; chunks that cannot stay are merged, as dask does."""
    before = tensor._tl_data.shape
    array = tensor._tl_data.array
    if before == shape:
        found = array
    elif not shape or 0 in shape or not before:
        # Of one element or none: dask's own reshaping has no chunks to keep.
        whole = array.rechunk(-1)
        numbers = tuple(range(len(before))) if before else ()
        call = ChunkCall(Method.reshape, ((Place(0), shape), {}), "reshape")
        found = _one_block(call, whole, shape, tensor._tl_data.dtype)
        del numbers
    else:
        try:
            found = array.reshape(shape)
        except NotImplementedError:  # dask merges dimensions, and splits them, one at a time.
            found = array.reshape((-1,)).reshape(shape)
    return step("ReshapeAliasBackward0", like(tensor, found), (tensor,), lambda grad: reshaped(grad, before))


def _one_block(call: ChunkCall, array: da.Array, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Return the dask array of one call on the only chunk of an array, whose result has the given shape."""
    name = f"{call.name}-{tokenize(call, array, shape)}"
    graph = {(name, *(0,) * len(shape)): (call, (0,) * len(shape), (array.name, *(0,) * array.ndim))}
    layer = HighLevelGraph.from_collections(name, graph, dependencies=[array])
    return da.Array(layer, name, tuple((n,) for n in shape), dtype=dtype, meta=numpy_meta(len(shape), dtype))


def _wanted(name: str, sizes: Any, tensor: Tensor) -> tuple[int, ...]:
    wanted = size_argument(sizes, name)
    for position, n in enumerate(wanted):
        if n < -1:
            raise RuntimeError(f"{name}(): invalid shape dimension {n} at index {position} of shape {list(wanted)}")
    found: tuple[int, ...] = inferred(wanted, tensor._tl_data.size)
    return found


@rule(reshaping.reshape, Method.view)
def _reshape(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor = args[0] if args else kwargs["input"]
    sizes = args[1:] or tuple(v for k, v in kwargs.items() if k not in ("input", "self"))
    name = name_of(form)
    if len(sizes) == 1 and not isinstance(sizes[0], (int, tuple, list)):
        if getattr(sizes[0], "itemsize", None) != tensor.dtype.itemsize:
            raise refused(form, "a dtype of another size regroups the bytes of neighbours")
        return share(mapped(name, Method.view, (tensor.detach(), sizes[0]), {}), tensor)
    if not sizes:
        raise TypeError(f"{name}() received an invalid combination of arguments: got (), expected sizes")
    return share(reshaped(tensor, _wanted(name, sizes, tensor)), tensor)


@rule(Method.view_as, Method.reshape_as)
def _as_other(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor, other = (*args, *kwargs.values())
    return share(reshaped(tensor, _wanted(name_of(form), tuple(other.shape), tensor)), tensor)


@rule(reshaping.flatten, reshaping.ravel)
def _flatten(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    tensor = given["input"]
    shape = tensor._tl_data.shape
    first, last = one_dim(given.get("start_dim", 0), len(shape)), one_dim(given.get("end_dim", -1), len(shape))
    if first > last:
        called(form.function, (tensor,), {k: v for k, v in given.items() if k != "input"})
    if first == last and shape:
        return tensor
    return share(reshaped(tensor, (*shape[:first], _product(shape[first : last + 1]), *shape[last + 1 :])), tensor)


def _product(sizes: Sequence[int]) -> int:
    count = 1
    for n in sizes:
        count *= n
    return count


@rule(reshaping.unflatten)
def _unflatten(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    tensor = given["input"]
    shape = tensor._tl_data.shape
    where = one_dim(given["dim"], len(shape))
    sizes = size_argument(given["sizes"], "unflatten")
    size = shape[where] if shape else 1
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    try:
        parts = inferred(sizes, size)
    except RuntimeError:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {where} ({size}) in the "
            "input tensor"
        ) from None
    return share(reshaped(tensor, (*shape[:where], *parts, *shape[where + 1 :])), tensor)


# ------------------------------------------------------------------------------------------ the order of the dimensions


def permuted(tensor: Tensor, order: Sequence[int]) -> Any:
    """Return the tensor with its dimensions in another order."""
    back = [0] * len(order)
    for position, d in enumerate(order):
        back[d] = position
    numbers = tuple(range(len(order)))
    found = one_call("permute", Method.permute, tensor, tuple(order), indices=[numbers], result=tuple(order))
    return step("PermuteBackward0", like(tensor, found), (tensor,), lambda grad: permuted(grad, back))


@rule(*moving(ORDERED, CONJUGATED))
def _permute(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor = args[0] if args else next(iter(kwargs.values()))
    result = permuted(tensor, order_of(form, range(2, tensor._tl_data.ndim + 2), args, kwargs))
    return result.conj() if form.operation.dims.kind == CONJUGATED and tensor.is_complex() else share(result, tensor)


@rule(reshaping.squeeze)
def _squeeze(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    tensor = given["input"]
    shape = tensor._tl_data.shape
    dims = range(len(shape)) if given.get("dim") is None else dim_tuple(given["dim"], len(shape))
    wanted = [d for d in (range(len(shape)) if dims is None else dims) if shape[d] == 1]
    if given.get("dim") in ((), []):
        wanted = []
    return share(reshaped(tensor, tuple(n for d, n in enumerate(shape) if d not in wanted)), tensor)


@rule(reshaping.unsqueeze)
def _unsqueeze(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    tensor, dim = given["input"], given["dim"]
    called(form.function, (tensor, dim), {})
    return share(widened(tensor, dim % (tensor._tl_data.ndim + 1)), tensor)


def widened(tensor: Tensor, dim: int) -> Any:
    """Return the tensor with a dimension of size 1 at `dim`."""
    numbers = list(range(tensor._tl_data.ndim))
    result = [*numbers[:dim], len(numbers), *numbers[dim:]]
    found = one_call(
        "unsqueeze",
        Method.unsqueeze,
        tensor,
        dim,
        indices=[tuple(numbers)],
        result=tuple(result),
        new={len(numbers): 1},
    )
    return step("UnsqueezeBackward0", like(tensor, found), (tensor,), lambda grad: grad.squeeze(dim))


# ------------------------------------------------------------------------------------------------------- broadcasting


def expanded(tensor: Tensor, shape: tuple[int, ...], name: str = "expand") -> Any:
    """Return the tensor repeated to a shape that it broadcasts to, in chunks of views."""
    before = tensor._tl_data.shape
    lead = len(shape) - len(before)
    sizes = tuple(before[d - lead] if n == -1 and d >= lead else n for d, n in enumerate(shape))
    if lead < 0 or any(n < 0 for n in sizes) or any(m not in (1, n) for m, n in zip(before, sizes[lead:])):
        # The library's own error, of a tensor of one element repeated to the present shape.
        with recording_block(False):
            tensor._tl_data.sample.expand(before).expand(shape)
    if sizes == before:
        return tensor
    array = tensor._tl_data.array
    kept = {d + lead: c for d, c in enumerate(array.chunks) if before[d] == sizes[d + lead]}
    spec = [kept.get(d, (sizes[d],) if 0 in sizes else "auto") for d in range(len(sizes))]
    chunks = normalize_chunks(tuple(spec), sizes, dtype=array.dtype)
    call = ChunkCall(_Expanded(), ((Place(0), Place(1)), {}), name)
    found = _expanded_array(call, array, chunks, lead)
    return step("ExpandBackward0", like(tensor, found), (tensor,), lambda grad: summed_to(grad, before))


class _Expanded(ChunkFunction):
    """Repeats a chunk to a shape."""

    def __call__(self, tensor: Tensor, shape: tuple[int, ...]) -> Any:
        return tensor.expand(shape)


def _expanded_array(call: ChunkCall, array: da.Array, chunks: Any, lead: int) -> Any:
    numbers = tuple(range(len(chunks)))
    return da.blockwise(
        call, numbers, ArrayBlockIdDep(chunks), numbers, array, numbers[lead:], ArrayChunkShapeDep(chunks), numbers,
        align_arrays=False, dtype=array.dtype, meta=numpy_meta(len(chunks), array.dtype), token=call.name,
    )  # fmt: skip


@rule(Method.expand, expanding.broadcast_to)
def _expand(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor = args[0] if args else next(iter(kwargs.values()))
    sizes = args[1:] or tuple(v for v in kwargs.values() if v is not tensor and not isinstance(v, bool))
    return share(expanded(tensor, size_argument(sizes, name_of(form)), name_of(form)), tensor)


@rule(Method.expand_as)
def _expand_as(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor, other = (*args, *kwargs.values())
    return share(expanded(tensor, tuple(other.shape)), tensor)


def summed_to(tensor: Tensor, shape: tuple[int, ...]) -> Any:
    """Return the tensor summed to a shape that broadcasts to its own."""
    before = tensor._tl_data.shape
    if before == shape:
        return tensor
    lead = len(before) - len(shape)
    dims = [*range(lead), *(d for d in range(max(lead, 0), len(before)) if shape[d - lead] == 1 != before[d])]
    if lead < 0 or any(n not in (1, before[d + lead]) for d, n in enumerate(shape)):
        raise RuntimeError(f"sum_to_size(): size {list(shape)} is not expandable to size {list(before)}")
    total = tensor.sum(dims, keepdim=True) if dims else tensor
    return reshaped(total, shape) if lead else total


@rule(sums._summed_to, Method.sum_to_size)
def _sum_to_size(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    sizes = args[1:] or tuple(v for k, v in kwargs.items())
    return summed_to(args[0], size_argument(sizes, "sum_to_size"))


# --------------------------------------------------------------------------------------------------- order of elements


@rule(rearranging.flip)
def _flip(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    tensor = given["input"]
    called(form.function, (tensor,), {"dims": given["dims"]})
    dims = given["dims"]
    wanted = {d % max(tensor._tl_data.ndim, 1) for d in (dims if isinstance(dims, (tuple, list)) else (dims,))}
    return _flipped(tensor, wanted if tensor._tl_data.ndim else set())


def _flipped(tensor: Tensor, dims: set[int]) -> Any:
    array = tensor._tl_data.array
    found = array[tuple(slice(None, None, -1) if d in dims else slice(None) for d in range(array.ndim))]
    if any(d in dims for d in range(array.ndim)):
        # dask orders the chunks; the elements inside have to be turned by the library, whose slices have no negative
        # steps.
        blocks = array.blocks[tuple(slice(None, None, -1) if d in dims else slice(None) for d in range(array.ndim))]
        found = one_call("flip", rearranging.flip, like(tensor, blocks), tuple(sorted(dims)))
    return step("FlipBackward0", like(tensor, found), (tensor,), lambda grad: _flipped(grad, dims))


@rule(rearranging.roll)
def _roll(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    tensor, shifts, dims = given["input"], given["shifts"], given.get("dims", ())
    called(form.function, (tensor, shifts, dims), {})
    shifts = tuple(shifts) if isinstance(shifts, (tuple, list)) else (shifts,)
    dims = () if dims is None else tuple(dims) if isinstance(dims, (tuple, list)) else (dims,)
    shape = tensor._tl_data.shape
    if not dims:
        return cat_rolled(tensor.flatten(), shifts[0], 0).reshape(shape)
    for shift, dim in zip(shifts, dims, strict=True):
        tensor = cat_rolled(tensor, shift, one_dim(dim, len(shape)))
    return tensor


def cat_rolled(tensor: Tensor, shift: int, dim: int) -> Any:
    """Return the tensor with its elements moved along one dimension, those at the end to the beginning."""
    size = tensor._tl_data.shape[dim] if tensor._tl_data.ndim else 0
    cut = size - shift % size if size else 0
    if cut in (0, size):
        return tensor.clone()
    return cat([tensor.narrow(dim, cut, size - cut), tensor.narrow(dim, 0, cut)], dim)


@rule(Method.contiguous, placement.resolve_conj, placement.resolve_neg)
def _itself(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return args[0] if args else next(iter(kwargs.values()))


@rule(tl.fliplr, tl.flipud)
def _flip_one(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor = args[0] if args else kwargs["input"]
    called(form.function, (tensor,), {})
    return tensor.flip(1 if form.operation is operation_of(tl.fliplr) else 0)


@rule(tl.rot90)
def _rot90(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    tensor, k, dims = given["input"], given.get("k", 1) % 4, given.get("dims", (0, 1))
    called(form.function, (tensor, k, dims), {})
    one, two = dims
    if k == 2:
        return tensor.flip((one, two))
    turned = tensor if k == 0 else tensor.transpose(one, two)
    return tensor.clone() if k == 0 else turned.flip(one if k == 1 else two)


@rule(tl.meshgrid)
def _meshgrid(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensors = list(args[0]) if len(args) == 1 and isinstance(args[0], (tuple, list)) else list(args)
    called(form.function, tuple(tensors), kwargs)
    flat = [t.reshape(-1) for t in tensors]
    swap = kwargs.get("indexing") == "xy" and len(flat) > 1
    order = [1, 0, *range(2, len(flat))] if swap else list(range(len(flat)))
    shape = [0] * len(flat)
    for position, t in zip(order, flat, strict=True):
        shape[position] = t.shape[0]
    found = []
    for position, t in zip(order, flat, strict=True):
        line = [1] * len(flat)
        line[position] = t.shape[0]
        found.append(t.reshape(tuple(line)).expand(tuple(shape)))
    return tuple(found)


@rule(diagonals.tril, diagonals.triu)
def _triangle(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Keep a triangle: the elements of a mask that depends on the places of the chunk."""
    given = arguments(form, args, kwargs)
    tensor, offset = given["input"], given.get("diagonal", 0)
    called(form.function, (tensor,), {"diagonal": offset})
    lower = form.operation is operation_of(diagonals.tril)
    chunks = tensor._tl_data.array.chunks[-2:]
    mask = in_chunks(
        name_of(form),
        _Triangle(lower, offset),
        chunks,
        tensor._tl_data.sample.new_ones((1, 1)).bool(),
        of=ArraySliceDep,
    )
    return tensor.where(mask, tensor.new_zeros(()))


class _Triangle(ChunkFunction):
    """Makes a chunk of the mask of a triangle."""

    def __init__(self, lower: bool, offset: int) -> None:
        self.lower, self.offset = lower, offset

    def __call__(self, slices: tuple[slice, ...]) -> Any:
        rows, columns = (tl.arange(s.start, s.stop) for s in slices)
        places = columns - rows.unsqueeze(1)
        return places <= self.offset if self.lower else places >= self.offset
