"""Tasks for the chunks of tensors: one call for each place, over operands whose chunks line up."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import dask
import dask.array as da
import numpy as np
from dask.array.core import unify_chunks
from dask.layers import ArrayBlockIdDep
from dask.tokenize import tokenize

from tensorlike.autograd.grad_mode import grad_enabled, recording_block
from tensorlike.dispatch.pytree import instances, leaves, map_leaves
from tensorlike.tensor.declarations.runtime import broadcast_error
from tensorlike.tensor.tensor import Tensor

from .chunked import ChunkedTensor, called, chunked, is_chunked, numpy_meta, sample_of
from .tasks import ChunkCall, ChunkFunction, Place, picked, portable

if TYPE_CHECKING:  # Given by late_names.py, when these modules are loaded.
    from .pullback import differentiated


def rebuilt(array: da.Array, sample: Tensor, requires_grad: bool) -> Any:
    """Return the chunked tensor of a dask array, as a leaf."""
    result = chunked(array, sample)
    return result.requires_grad_() if requires_grad else result


def constant(tensor: Tensor) -> Any:
    """Return the dask array of an ordinary tensor, in one chunk that all tasks share.

    It is a copy: the tensor may be written to before the tasks run.
    """
    with recording_block(False):
        kept = tensor.detach().clone()
    return stored(kept, tuple((n,) for n in kept.shape))


def stored(tensor: Tensor, chunks: tuple[tuple[int, ...], ...]) -> Any:
    """Return the dask array of a tensor in one chunk of the graph."""
    name = "tensor-" + tokenize(tensor)
    ndim = tensor.dim()
    key = (name, *(0,) * ndim)
    return da.Array(
        {key: tensor}, name, chunks, dtype=tensor._tl_data.dtype, meta=numpy_meta(ndim, tensor._tl_data.dtype)
    )


def array_of(tensor: Any) -> Any:
    """Return the dask array of a tensor: that of its chunks, or one of a single chunk."""
    return tensor._tl_data.array if is_chunked(tensor) else constant(tensor)


def like_output(gradient: Tensor, output: Tensor) -> Any:
    """Return the gradient of a chunked output: one in chunks as it is, an ordinary one in the chunks of the output."""
    if is_chunked(gradient):
        return gradient
    array = constant(gradient)
    return chunked(array.rechunk(output._tl_data.array.chunks) if array.ndim else array, sample_of(gradient))


def is_operand(value: object) -> bool:
    """Return whether tasks get a value as a block: not numbers, nor tensors without dimensions that are as these."""
    return isinstance(value, Tensor) and (is_chunked(value) or value.dim() > 0 or value.requires_grad)


def operands_in(args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """Return the operands among arguments, in the order of `templated`."""
    return [v for v in leaves((tuple(args), dict(kwargs))) if is_operand(v)]


def templated(args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, list[Any]]:
    """Return arguments with places for their operands, and the dask arrays of these.

    Ordinary tensors without dimensions stay in the arguments: all chunks use the same number.
    """
    arrays: list[Any] = []

    def replaced(value: Tensor | str | float) -> Any:
        if is_operand(value):
            arrays.append(array_of(value))
            return Place(len(arrays) - 1)
        if isinstance(value, Tensor):
            with recording_block(False):
                return value.detach().clone()
        return value

    return map_leaves(replaced, (tuple(args), dict(kwargs))), arrays


def aligned(name: str, arrays: Sequence[Any], indices: Sequence[tuple[int, ...]]) -> tuple[dict[int, Any], list[Any]]:
    """Return the chunks by index, and the arrays in such chunks that those of one index line up.

    Raises RuntimeError for shapes that do not broadcast and for chunks of unknown sizes that do not line up.
    """
    try:
        chunks, found = unify_chunks(*[one for pair in zip(arrays, indices, strict=True) for one in pair], warn=False)
    except ValueError as error:
        known = [a for a in arrays if not any(n != n for n in a.shape)]
        better = broadcast_error(name, error, known) if len(known) == len(arrays) else error
        if better is error:
            better = RuntimeError(f"{name}(): the chunks of the operands do not line up: {error}")
        raise better from None
    return chunks, list(found)


def on_chunks(
    call: ChunkCall,
    arrays: Sequence[Any],
    dtype: Any,
    *,
    indices: Sequence[tuple[int, ...]] | None = None,
    result: tuple[int, ...] | None = None,
    adjust: dict[int, Any] | None = None,
    new: dict[int, int] | None = None,
) -> Any:
    """Return the dask array of one call for each place of the chunks of `arrays`, which are broadcast.

    Args:
        indices: for each array, a number for each of its dimensions; those of one number line up. The last dimensions
            line up by default.
        result: the numbers of the dimensions of the result.
        adjust: the sizes of the chunks of the result, by number, where they are not those of the operands.
        new: the sizes of dimensions that no operand has, by number.
    """
    if indices is None:
        indices = [tuple(range(a.ndim))[::-1] for a in arrays]
        result = max(indices, key=len)
    assert result is not None
    chunks, arrays = aligned(call.name, arrays, indices)
    for number, size in (new or {}).items():
        chunks[number] = (size,)
    out = tuple(chunks[i] for i in result)
    pairs = [one for pair in zip(arrays, indices, strict=True) for one in pair]
    return da.blockwise(
        call, result, ArrayBlockIdDep(out), result, *pairs,
        align_arrays=False, adjust_chunks=adjust, new_axes=None, dtype=dtype, meta=numpy_meta(len(result), dtype),
        token=call.name,
    )  # fmt: skip


def mapped(name: str, function: Callable[..., Any], args: Any, kwargs: Mapping[str, Any], **places: Any) -> Any:
    """Return the result of a function applied to the chunks of the tensors in its arguments, as chunked tensors.

    Several results are taken apart by a task for each chunk of each.
    """
    sample = called(function, args, kwargs)
    template, arrays = templated(args, kwargs)
    several = isinstance(sample, (tuple, list))
    first = sample[0] if several else sample
    if not all(isinstance(s, Tensor) for s in (sample if several else (sample,))):
        kind = type(first).__name__
        raise NotImplementedError(
            f"{name}() of a tensor in chunks returns {kind}, which is not known before compute(): compute() it first"
        )
    found = on_chunks(ChunkCall(function, template, name), arrays, first._tl_data.dtype, **places)
    if not several:
        return chunked(found, sample)
    parts = []
    for number, one in enumerate(sample):
        call = ChunkCall(picked, ((Place(0), number), {}), name)
        parts.append(chunked(on_chunks(call, [found], one._tl_data.dtype), one))
    return type(sample)(parts)


class _KeepsShape(ChunkFunction):
    """Calls a function of the user's on a chunk, and checks the shape of what it returns."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = portable(function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result = self.function(*args, **kwargs)
        wanted = np.broadcast_shapes(*[tuple(t.shape) for t in instances((args, kwargs), Tensor)])
        for one in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(one, Tensor) and tuple(one.shape) != wanted:
                raise ValueError(
                    f"map_chunks(): the function returned the shape {list(one.shape)} for a chunk of the shape "
                    f"{list(wanted)}: it has to keep the shape"
                )
        return result


def map_chunks(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return the result of `function(*args, **kwargs)` computed chunk by chunk, for functions that keep the shape.

    It is called with the tensors of one chunk of each chunked tensor among the arguments, and with ordinary tensors cut
    to the chunk they are broadcast to; it returns a tensor of the broadcast shape, or several, and must not write to
    its arguments, which other tasks may read. It is called once on tensors of one element, to find the dtype and the
    type of the result, which may be of any tensor-like type. The gradient of a chunk is that of the function on it,
    which the task of the gradient calls again; operands with dimensions must have one shape where one requires grad.

    Raises TypeError when no argument is a chunked tensor.
    """
    if not instances((args, kwargs), ChunkedTensor):
        raise TypeError("map_chunks(): none of the arguments is a ChunkedTensor: call the function itself")
    name = getattr(function, "__name__", type(function).__name__)
    function = _KeepsShape(function)
    operands = operands_in(args, kwargs)
    if not grad_enabled() or not any(t.requires_grad for t in operands):
        return mapped(name, function, args, kwargs)
    shapes = {tuple(t.shape) for t in operands if t.dim()}
    if len(shapes) != 1:
        raise RuntimeError(
            f"map_chunks(): an operand requires grad, so that all must have one shape, not {sorted(map(list, shapes))}"
            ": expand() them, or detach() the operand"
        )
    sample = called(function, args, kwargs)
    several = isinstance(sample, (tuple, list))
    indices = [tuple(range(t.dim())) for t in operands]
    found = [
        differentiated(
            name, function, args, kwargs, one, indices, max(indices, key=len), number=number if several else None
        )
        for number, one in enumerate(sample if several else (sample,))
    ]
    return type(sample)(found) if several else found[0]


def compute_chunk_sizes(tensor: Any) -> Any:
    """Compute and set the sizes of the chunks of a tensor."""
    data = tensor._tl_data
    if any(n != n for n in data.array.shape):
        shapes = on_chunks(ChunkCall(_shape, ((Place(0),), {}), "compute_chunk_sizes"), [data.array], object)
        sizes = dask.compute(*shapes.to_delayed().ravel())
        flat = dict(zip(itertools.product(*map(range, data.array.numblocks)), sizes, strict=True))
        data.array._chunks = tuple(
            tuple(flat[(0,) * d + (i,) + (0,) * (data.ndim - d - 1)].sizes[d] for i in range(blocks))
            for d, blocks in enumerate(data.array.numblocks)
        )
    return tensor


class _Shape:
    """Keeps the shape of a chunk one value."""

    def __init__(self, sizes: tuple[int, ...]) -> None:
        self.sizes = sizes


def _shape(tensor: Tensor) -> _Shape:
    return _Shape(tuple(tensor.shape))
