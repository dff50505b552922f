"""Indexing in chunks: parts of a tensor, elements by index tensors and masks, and choosing by a condition."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tensorlike.dispatch.operation import Form, operation_of
from tensorlike.operations.elementwise import conditional
from tensorlike.operations.indexing import copies, masks
from tensorlike.operations.linalg import diagonals
from tensorlike.operations.shape import rearranging
from tensorlike.tensor.creation.from_data import tensor as tensor_of
from tensorlike.tensor.dims import one_dim
from tensorlike.tensor.tensor import Tensor

from .chunked import Method, called, is_chunked, name_of, refused, rule
from .creation import eye
from .inplace import share
from .joining import joined
from .lookups import picked_rows
from .mapping import aligned, array_of, mapped, on_chunks
from .recording import arguments, kept, record, step
from .shaping import like, reshaped
from .tasks import ChunkCall, ChunkFunction, Place

# ---------------------------------------------------------------------------------------------------- integers, slices


def part(tensor: Tensor, index: tuple[Any, ...]) -> Any:
    """Return the part of a tensor at an index of slices with positive steps, one for each dimension."""
    array = tensor._tl_data.array
    before = array.shape
    found = array[index]
    return step("SliceBackward0", like(tensor, found), (tensor,), lambda grad: placed(grad, before, index))


def placed(tensor: Tensor, shape: tuple[int, ...], index: tuple[slice, ...]) -> Any:
    """Return zeros of a shape with `tensor` at an index of slices, one for each dimension."""
    result = tensor
    for dim, (size, cut) in enumerate(zip(shape, index, strict=True)):
        start, stop, stride = cut.indices(size)
        count = len(range(start, stop, stride))
        if count == size and stride == 1:
            continue
        result = _placed_along(result, dim, size, start, stride, count)
    return result


def _placed_along(tensor: Any, dim: int, size: int, start: int, stride: int, count: int) -> Any:
    pieces = [tensor]
    last = start + (count - 1) * stride + 1 if count else start
    if count and stride != 1:
        array = tensor._tl_data.array
        sizes = list(array.chunks[dim])
        adjusted = [n * stride for n in sizes]
        adjusted[-1] -= stride - 1
        spread = on_chunks(
            ChunkCall(_Spread(dim, stride, array.numblocks[dim] - 1), ((Place(0),), {}), "slice_backward", True),
            [array], array.dtype, indices=[tuple(range(array.ndim))], result=tuple(range(array.ndim)),
            adjust={dim: tuple(adjusted)},
        )  # fmt: skip
        cut = tuple(slice(None, None, stride) if d == dim else slice(None) for d in range(array.ndim))
        pieces = [step("PlaceBackward0", like(tensor, spread), (tensor,), lambda grad: part(grad, cut))]

    def zeros(length: int) -> Any:
        shape = list(tensor._tl_data.array.shape)
        shape[dim] = length
        return tensor._tl_zeros(tuple(shape), tensor._tl_data.dtype)

    if start:
        pieces.insert(0, zeros(start))
    if last < size:
        pieces.append(zeros(size - last))
    return joined(pieces, dim) if len(pieces) > 1 else pieces[0]


class _Spread(ChunkFunction):
    """Moves the elements of a chunk apart along a dimension, zeros between; the last chunk ends with an element."""

    def __init__(self, dim: int, stride: int, last: int) -> None:
        self.dim, self.stride, self.last = dim, stride, last

    def __call__(self, index: tuple[int, ...], tensor: Tensor) -> Any:
        shape = list(tensor.shape)
        shape[self.dim] = shape[self.dim] * self.stride - (self.stride - 1 if index[self.dim] == self.last else 0)
        result = tensor.new_zeros(tuple(shape))
        result[(slice(None),) * self.dim + (slice(None, None, self.stride),)] = tensor
        return result


@rule(Method.__getitem__)
def _getitem(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor, index = args
    items = list(index) if isinstance(index, tuple) else [index]
    if isinstance(index, list):
        items = [index]
    items = [_index_item(form, i) for i in items]
    taken = sum(_dims_of(i) for i in items)
    if not is_chunked(tensor):
        # The elements of an ordinary tensor at places in chunks.
        tensor = kept(tensor, array_of(tensor))
    ndim = tensor._tl_data.ndim
    if taken > ndim:
        raise IndexError(f"too many indices for tensor of dimension {ndim}")
    if not any(i is Ellipsis for i in items):
        items.append(Ellipsis)
    where = next(k for k, i in enumerate(items) if i is Ellipsis)
    if sum(1 for i in items if i is Ellipsis) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    items[where : where + 1] = [slice(None)] * (ndim - taken)
    # Slices and integers first, as a part; then the dimensions that go and come, as another shape; then index tensors.
    cuts, shape, tensors, dim = [], [], [], 0
    sizes = tensor._tl_data.array.shape
    for item in items:
        if item is None:
            shape.append(1)
            continue
        if isinstance(item, Tensor):
            tensors.append((len(shape), item))
            for _ in range(_dims_of(item)):
                cuts.append(slice(None))
                shape.append(sizes[dim])
                dim += 1
            continue
        size = sizes[dim]
        if isinstance(item, slice):
            cut = checked_slice(item, size, cuts)
            cuts.append(cut)
            shape.append(size if cut == slice(None) else len(range(*cut.indices(size))))
        else:
            if size == size and not -size <= item < size:
                raise IndexError(f"index {item} is out of bounds for dimension {dim} with size {size}")
            if size != size:
                raise RuntimeError(
                    "a dimension of unknown size cannot be indexed by a number: call compute_chunk_sizes() first"
                )
            cuts.append(slice(item % size, item % size + 1))
        dim += 1
    found = part(tensor, tuple(cuts)) if any(c != slice(None) for c in cuts) else tensor
    whole = tuple(found._tl_data.array.shape)
    if tuple(shape) != whole and not (any(n != n for n in shape) and len(shape) == len(whole)):
        found = reshaped(found, tuple(shape))
    if not tensors:
        if found is tensor:
            found = step("AliasBackward0", like(tensor, tensor._tl_data.array), (tensor,), lambda grad: grad)
        return share(found, tensor)
    if len(tensors) > 1:
        return _by_several(form, found, tensors)
    where, chosen = tensors[0]
    if chosen.dtype.numpy_dtype.kind == "b":
        return _by_mask(form, found, chosen, where)
    return picked_rows(form, found, chosen, where)


def checked_slice(item: slice, size: Any, before: Any) -> slice:
    bounds = [None if b is None else operator.index(b) for b in (item.start, item.stop, item.step)]
    if bounds[2] is not None and bounds[2] <= 0:
        raise ValueError("step must be greater than zero")
    if size != size:
        if bounds != [None, None, None] and bounds != [None, None, 1]:
            raise RuntimeError("a dimension of unknown size cannot be sliced: call compute_chunk_sizes() first")
        return slice(None)
    start, stop, stride = slice(*bounds).indices(size)
    if (start, stride) == (0, 1) and stop >= size:
        return slice(None)
    return slice(start, max(start, stop), stride)


def _index_item(form: Form, item: Any) -> Any:
    if item is None or item is Ellipsis or isinstance(item, (slice, Tensor)):
        if isinstance(item, Tensor) and not is_chunked(item) and not item.dim() and item.dtype.numpy_dtype.kind in "iu":
            return int(item)
        if isinstance(item, Tensor) and item.dtype.numpy_dtype.kind not in "biu":
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        return item
    if isinstance(item, (bool, np.bool_)):
        raise refused(form, "a bool as an index adds a dimension of unknown size")
    if isinstance(item, (list, np.ndarray, range)):
        return tensor_of(np.asarray(item) if isinstance(item, range) else item)
    try:
        return operator.index(item)
    except TypeError:
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
            f"{type(item).__name__})"
        ) from None


def _dims_of(item: Any) -> int:
    if item is None or item is Ellipsis:
        return 0
    return int(item.dim()) if isinstance(item, Tensor) and item.dtype.numpy_dtype.kind == "b" else 1


def _by_several(form: Form, tensor: Tensor, tensors: list[tuple[int, Any]]) -> Any:
    raise refused(form, "it takes one index tensor at a time: index one dimension after the other")


# -------------------------------------------------------------------------------------------------------------- masks


def _by_mask(form: Form, tensor: Tensor, mask: Tensor, where: int) -> Any:
    shape = tuple(tensor._tl_data.array.shape)
    covered = shape[where : where + mask.dim()]
    if tuple(mask._tl_data.array.shape if is_chunked(mask) else mask.shape) != covered:
        raise IndexError(
            f"The shape of the mask {list(mask.shape)} at index 0 does not match the shape of the indexed tensor "
            f"{list(shape)} at index {where}"
        )
    if not is_chunked(mask):
        if mask.dim() == 1:
            return picked_rows(form, tensor, mask.nonzero().flatten(), where)
        if where == 0:
            flat = reshaped(tensor, (int(np.prod(covered)), *shape[mask.dim() :]))
            return picked_rows(form, flat, mask.flatten().nonzero().flatten(), 0)
        raise refused(form, "a mask of several dimensions comes first")
    if where:
        raise refused(form, "a mask in chunks comes first")
    if tensor._tl_tracked:
        tensor._tl_data.shape  # noqa: B018, the error of unknown sizes
    if mask.dim() > 1:
        # In the order of the elements of the whole.
        tensor = reshaped(tensor, (int(np.prod(covered)), *shape[mask.dim() :]))
        mask = reshaped(mask, (int(np.prod(covered)),))
    return _masked(form, tensor, mask)


def _masked(form: Form, tensor: Tensor, mask: Tensor) -> Any:
    if tensor.requires_grad:
        raise refused(
            form, "how many elements a mask in chunks chooses is not known, and the gradient needs it: use where() or "
            "masked_fill()",
        )  # fmt: skip
    array, other = tensor._tl_data.array, mask._tl_data.array
    numbers = tuple(range(array.ndim))
    call = ChunkCall(Method.__getitem__, ((Place(0), Place(1)), {}), "index")
    _, (array, other) = aligned("index", [array, other], [numbers, (0,)])
    found = on_chunks(
        call,
        [array, other],
        array.dtype,
        indices=[numbers, (0,)],
        result=numbers,
        adjust={0: (float("nan"),) * array.numblocks[0]},
    )
    return like(tensor, found)


@rule(masks.masked_select)
def _masked_select(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    tensor, mask = given["input"], given["mask"]
    called(form.function, (tensor, mask), {})
    shape = np.broadcast_shapes(tuple(tensor.shape), tuple(mask.shape))
    count = int(np.prod(shape))
    if not is_chunked(mask):
        rows = mask.expand(shape).reshape(-1).nonzero().flatten()
        return picked_rows(form, tensor.expand(shape).reshape(count), rows, 0)
    if not is_chunked(tensor):
        tensor = tensor + mask.new_zeros((), dtype=tensor.dtype)
    return _masked(form, tensor.expand(shape).reshape(count), mask.expand(shape).reshape(count))


@rule(masks.masked_fill)
def _masked_fill(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    result = mapped(name_of(form), masks.masked_fill, args, {k: v for k, v in kwargs.items() if k != "out"})
    return record(form.operation, arguments(form, args, kwargs), result)


@rule(conditional.where, Method.where)
def _where(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    if form.operation is operation_of(Method.where):
        condition, one, other = given["condition"], given["self"], given["other"]
    else:
        condition, one, other = given["condition"], given.get("input"), given.get("other")
    if one is None and other is None:
        raise refused(form, "the number of true elements is not known before compute()")
    result = mapped("where", conditional.where, (condition, one, other), {})
    return record(operation_of(conditional._where), {"condition": condition, "input": one, "other": other}, result)


# -------------------------------------------------------------------------------------------- by dimension and number


@rule(rearranging.select)
def _select(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    tensor = given["input"]
    shape = tensor._tl_data.shape
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    where, place = one_dim(given["dim"], len(shape)), operator.index(given["index"])
    if not -shape[where] <= place < shape[where]:
        raise IndexError(f"select(): index {place} out of range for tensor of size {list(shape)} at dimension {where}")
    return tensor[(slice(None),) * where + (place,)]


@rule(rearranging.narrow, copies.narrow_copy)
def _narrow(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    tensor = given["input"]
    shape = tensor._tl_data.shape
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    where = one_dim(given["dim"], len(shape))
    first, count, size = operator.index(given["start"]), operator.index(given["length"]), shape[where]
    if count < 0:
        raise RuntimeError(f"narrow(): length must be non-negative, got {count}.")
    if not -size <= first <= size:
        raise IndexError(f"start out of range (expected to be in range of [-{size}, {size}], but got {first})")
    first += size if first < 0 else 0
    if first + count > size:
        raise RuntimeError(f"narrow(): start ({first}) + length ({count}) exceeds dimension size ({size}).")
    return tensor[(slice(None),) * where + (slice(first, first + count),)]


@rule(diagonals.diagonal)
def _diagonal(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return a diagonal: the places of a mask along one of its two dimensions, summed over the other."""
    given = arguments(form, args, kwargs)
    tensor, offset = given["input"], given.get("offset", 0)
    ndim = tensor._tl_data.ndim
    one, two = one_dim(given.get("dim1", 0), ndim), one_dim(given.get("dim2", 1), ndim)
    called(form.function, (tensor,), {k: v for k, v in given.items() if k != "input"})
    others = [d for d in range(ndim) if d not in (one, two)]
    matrix = tensor.permute(*others, one, two)
    rows, columns = matrix._tl_data.shape[-2:]
    count = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    first, start = max(-offset, 0), max(offset, 0)
    square = matrix[..., first : first + count, start : start + count]
    if not count:
        return square.sum(-1)
    zero = tensor.new_zeros(())
    mask = eye(count, chunks=square._tl_data.array.chunks[-2:], device=tensor.device).bool()
    return square.where(mask, zero).sum(-1).to(tensor.dtype)
