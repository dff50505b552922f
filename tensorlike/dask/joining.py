"""Joining tensors in chunks, and taking them apart."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import dask.array as da

from tensorlike.autograd.grad_mode import recording_block
from tensorlike.dispatch.operation import Form, operation_of
from tensorlike.operations.indexing import copies
from tensorlike.operations.shape import expanding, joining
from tensorlike.operations.shape.resizing import broadcast_shapes
from tensorlike.tensor.dims import one_dim
from tensorlike.tensor.tensor import Tensor

from .chunked import Method, called, chunked, is_chunked, refused, rule, sample_of
from .mapping import array_of
from .recording import arguments, step
from .shaping import widened


def joined(tensors: Sequence[Any], dim: int) -> Any:
    """Return the tensors one after the other along a dimension, in the dtype that the library promotes them to."""
    with recording_block(False):
        sample = joining.cat([sample_of(t) for t in tensors], dim)
    dtype = sample.dtype
    kept = [t if t.dtype == dtype else t.to(dtype) for t in tensors]
    arrays = [array_of(t) for t in kept]
    found = da.concatenate(arrays, dim, allow_unknown_chunksizes=True) if len(arrays) > 1 else arrays[0]
    sizes = [a.shape[dim] for a in arrays]

    def backward(grad: Tensor) -> tuple[Any, ...]:
        starts = [0]
        for n in sizes:
            starts.append(starts[-1] + n)
        cut = (slice(None),) * dim
        return tuple(grad[(*cut, slice(a, b))] for a, b in itertools.pairwise(starts))

    return step("CatBackward0", chunked(found, sample), tuple(kept), backward)


@rule(joining.cat)
def _cat(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    tensors = list(next(iter(given.values())))
    dim = given.get("dim", 0)
    # As in PyTorch, an empty vector joins anything.
    kept = [t for t in tensors if not (t.dim() == 1 and _size(t, 0) == 0)] or tensors[:1]
    with recording_block(False):
        joining.cat([sample_of(t) for t in kept], dim)
    where = one_dim(dim, kept[0].dim())
    for number, t in enumerate(kept[1:], 1):
        for d in range(t.dim()):
            if d != where and _size(t, d) != _size(kept[0], d) and _size(t, d) == _size(t, d):
                raise RuntimeError(
                    f"cat(): Sizes of tensors must match except in dimension {where}. Expected size "
                    f"{_size(kept[0], d)} "
                    f"but got size {_size(t, d)} for tensor number {number} in the list."
                )
    return joined(kept, where)


def _size(tensor: Tensor, dim: int) -> Any:
    return (tensor._tl_data.array if is_chunked(tensor) else tensor).shape[dim]


@rule(joining.stack)
def _stack(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    tensors = list(next(iter(given.values())))
    called(joining.stack, (tensors, given.get("dim", 0)), {})
    shapes = [tuple(t._tl_data.array.shape if is_chunked(t) else t.shape) for t in tensors]
    for number, shape in enumerate(shapes):
        if shape != shapes[0]:
            raise RuntimeError(
                f"stack(): expects each tensor to be equal size, but got {list(shapes[0])} at entry 0 and "
                f"{list(shape)} "
                f"at entry {number}"
            )
    where = given.get("dim", 0) % (len(shapes[0]) + 1)
    wide = [widened(t, where) if is_chunked(t) else t.unsqueeze(where) for t in tensors]
    return joined(wide, where)


def _cuts(tensor: Tensor, dim: int, sizes: Sequence[int]) -> tuple[Any, ...]:
    starts = [0]
    for n in sizes:
        starts.append(starts[-1] + n)
    return tuple(tensor[(slice(None),) * dim + (slice(a, b),)] for a, b in itertools.pairwise(starts))


@rule(
    joining.split, joining.chunk, joining.split_with_sizes, joining.tensor_split, Method.split, copies.unsafe_split,
    copies.unsafe_chunk, copies.unsafe_split_with_sizes, joining.hsplit, joining.vsplit, joining.dsplit,
)  # fmt: skip
def _split(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    first = form.parameters[0].name if form.parameters[0].name in given else next(iter(given))
    tensor = given[first]
    ndim = tensor._tl_data.ndim
    shape = tensor._tl_data.shape
    if any(is_chunked(v) for v in (*args[1:], *kwargs.values()) if v is not tensor):
        return NotImplemented
    own = {operation_of(joining.hsplit): int(ndim > 1), operation_of(joining.dsplit): 2}.get(
        form.operation, given.get("dim", 0)
    )
    where = own % max(ndim, 1) if isinstance(own, int) else 0
    # Views of one number each say how the library splits; it takes no memory.
    with recording_block(False):
        probe = tensor._tl_data.sample.new_zeros(()).expand(shape)
    rest = {k: v for k, v in kwargs.items() if v is not tensor}
    parts = form.function(probe, *args[1:], **rest) if args else form.function(probe, **rest)
    return _cuts(tensor, where, [p.shape[where] for p in parts])


@rule(joining.unbind)
def _unbind(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    tensor, dim = given["input"], given.get("dim", 0)
    called(form.function, (tensor, dim), {})
    where = one_dim(dim, tensor._tl_data.ndim)
    return tuple(tensor.select(where, k) for k in range(tensor._tl_data.shape[where]))


@rule(expanding.broadcast_tensors)
def _broadcast(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensors = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
    shape = broadcast_shapes(*[tuple(t.shape) for t in tensors])
    return tuple(t.expand(shape) for t in tensors)


@rule(Method.repeat, expanding.tile, Method.tile)
def _repeat(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    values = list(given.values())
    tensor, counts = values[0], values[1]
    counts = tuple(counts) if isinstance(counts, (tuple, list)) else (counts,)
    called(form.function, (tensor, counts), {})
    if form.operation is not operation_of(Method.repeat):
        counts = (1,) * (tensor._tl_data.ndim - len(counts)) + counts
    result = tensor.reshape((1,) * (len(counts) - tensor._tl_data.ndim) + tuple(tensor.shape))
    for dim, count in enumerate(counts):
        if count == 0:
            result = result.narrow(dim, 0, 0)
        elif count > 1:
            result = joined([result] * count, dim)
    return result.clone() if all(c == 1 for c in counts) else result


@rule(expanding.repeat_interleave)
def _interleaved(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Repeat each element: a new dimension of that size, merged with its own."""
    given = arguments(form, args, kwargs)
    tensor, repeats, dim = given["input"], given.get("repeats"), given.get("dim")
    if not isinstance(repeats, int) or isinstance(repeats, bool) or given.get("output_size") is not None:
        raise refused(form, "the number of repetitions is one number for all elements")
    called(form.function, (tensor, repeats, dim), {})
    flat = tensor.reshape(-1) if dim is None or not tensor.dim() else tensor
    where = 0 if dim is None else one_dim(dim, flat.dim())
    wide = widened(flat, where + 1)
    shape = tuple(flat.shape)
    spread = wide.expand((*shape[: where + 1], repeats, *shape[where + 1 :]))
    return spread.reshape((*shape[:where], shape[where] * repeats, *shape[where + 1 :]))


@rule(expanding.atleast_1d, expanding.atleast_2d, expanding.atleast_3d)
def _at_least(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensors = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
    shaped = tuple(_reshaped_as(form.function, t) for t in tensors)
    return shaped[0] if len(args) == 1 and isinstance(args[0], Tensor) else shaped


def _reshaped_as(function: Callable[..., Any], tensor: Tensor) -> Any:
    """Return a tensor in the shape in which a function returns an ordinary one."""
    if not is_chunked(tensor):
        return function(tensor)
    with recording_block(False):
        probe = tensor._tl_data.sample.new_zeros(()).expand(tensor._tl_data.shape)
        shape = tuple(function(probe).shape)
    return tensor if shape == tensor._tl_data.shape else tensor.reshape(shape)


@rule(joining.hstack, joining.vstack, joining.dstack, joining.column_stack)
def _stacked(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensors = list(args[0] if args else kwargs["tensors"])
    called(form.function, (tensors,), {})
    shaped = [_reshaped_as(lambda t: form.function([t]), t) for t in tensors]
    dim = {operation_of(joining.vstack): 0, operation_of(joining.dstack): 2}.get(form.operation, 1)
    return joining.cat(shaped, 0 if shaped[0].dim() == 1 else dim)
