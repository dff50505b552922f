"""Joining and splitting tensors."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.dispatch.tracebacks import explained
from tensorlike.tensor.creation.filled import zeros
from tensorlike.tensor.declarations.declare import (
    composite,
    derivatives,
    internal,
    primitive,
    tensor_method,
    undispatched,
)
from tensorlike.tensor.declarations.runtime import dtype_name, many, promote_arithmetic
from tensorlike.tensor.dims import one_dim
from tensorlike.tensor.layouts import format_of, laid_out
from tensorlike.tensor.promotion import result_type
from tensorlike.tensor.types import Array, Namespace, Tensor

from ..indexing.basic import along, part, slice_view
from ..shared import require_tensor
from .expanding import atleast_1d, atleast_2d, atleast_3d
from .reshaping import reshape

_reshape = undispatched(reshape)


# -------------------------------------------------------------------------------------------------------------- joining


def _is_legacy_empty(shape: tuple[int, ...]) -> bool:
    """Return whether `cat` ignores a tensor: one of shape [0] goes with any others, as in PyTorch."""
    return shape == (0,)


@primitive(
    method=False, out="joined", own_layout=True, aliases=("concat", "concatenate"), linear_in=("tensors",),
    disjoint=("tensors",),
)  # fmt: skip
def cat(xp: Namespace, tensors: Sequence[Array], dim: int = 0) -> Array:
    """Return the tensors joined along dimension `dim`, in their common dtype.

    All other dimensions must agree, or RuntimeError is raised; tensors of shape [0] are ignored. Raises ValueError for
    no tensors at all.

    >>> tl.cat([tl.tensor([1, 2]), tl.tensor([3])])
    tensor([1, 2, 3])
    """
    if type(dim) is int and len({a.dtype for a in tensors}) == 1:
        try:
            return _laid_out(xp.concatenate(tensors, axis=dim), tensors)
        except ValueError:
            # Neither simple nor certainly wrong: handled below.
            pass
    if not tensors:
        raise ValueError("cat(): expected a non-empty list of Tensors")
    for position, array in enumerate(tensors):
        if array.ndim == 0:
            raise RuntimeError(f"cat(): zero-dimensional tensor (at position {position}) cannot be concatenated")
    arrays = promote_arithmetic("cat", xp, list(tensors))
    kept = [a for a in arrays if not _is_legacy_empty(a.shape)]
    if not kept:
        one_dim(dim, 1)
        return xp.zeros((0,), arrays[0].dtype)
    first = kept[0].shape
    where = one_dim(dim, len(first))
    for position, array in enumerate(arrays):
        if _is_legacy_empty(array.shape):
            continue
        if array.ndim != len(first):
            raise RuntimeError(
                f"cat(): Tensors must have same number of dimensions: got {len(first)} and {array.ndim}, the latter "
                f"for tensor number {position} in the list"
            )
        for d, (expected, size) in enumerate(zip(first, array.shape, strict=True)):
            if d != where and expected != size:
                raise explained(
                    RuntimeError, "cat-shapes",
                    f"cat(): Sizes of tensors must match except in dimension {where}. Expected size {expected} but got "
                    f"size {size} for tensor number {position} in the list.",
                )  # fmt: skip
    return _laid_out(xp.concatenate(kept, axis=where), kept)


def _laid_out(result: Array, arrays: Sequence[Any]) -> Array:
    """Return joined images in the memory format that all of them have; contiguous where they differ."""
    name = format_of(arrays[0])
    return laid_out(result, name if name is None or all(format_of(a) == name for a in arrays) else None)


def _pieces(grad: Tensor, shapes: Sequence[tuple[int, ...]], dim: int) -> list[Any]:
    """Split a gradient into those of the joined tensors."""
    where = one_dim(dim, grad._tl_data.ndim)
    start = 0
    pieces = []
    for shape in shapes:
        if _is_legacy_empty(shape):
            pieces.append(grad._tl_zeros(shape, grad._tl_data.dtype))
            continue
        pieces.append(grad.narrow(where, start, shape[where]))
        start += shape[where]
    return pieces


derivatives(cat, tensors=lambda grad, tensors_shape, dim: _pieces(grad, tensors_shape, dim))

_cat: Callable[..., Tensor] = undispatched(cat)


@primitive(method=False, out="joined", linear_in=("tensors",), disjoint=("tensors",))
def stack(xp: Namespace, tensors: Sequence[Array], dim: int = 0) -> Array:
    """Return tensors of one shape joined along a new dimension `dim`, in their common dtype.

    Raises RuntimeError when the shapes differ, or for no tensors at all.

    >>> tl.stack([tl.tensor([1, 2]), tl.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = tensors[0].shape
    where = one_dim(dim, len(first) + 1)
    for position, array in enumerate(tensors):
        if array.shape != first:
            raise explained(
                RuntimeError, "stack-shapes",
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and "
                f"{list(array.shape)} at entry {position}",
            )  # fmt: skip
    same = len({array.dtype for array in tensors}) == 1
    arrays = tensors if same else promote_arithmetic("stack", xp, list(tensors))
    # `numpy.stack` does this in twice the time.
    widened = (*(slice(None),) * where, None)
    return xp.concatenate([array[widened] for array in arrays], axis=where)


derivatives(stack, tensors=lambda grad, dim: list(grad.unbind(dim)))


def _arranged(tensors: Tensor | Sequence[Tensor], function: str, at_least: Callable[..., Any]) -> list[Any]:
    many(function, "tensors", 1, tensors)
    if not tensors:
        raise RuntimeError(f"{function} expects a non-empty TensorList")
    return list(undispatched(at_least)(list(tensors)))


@composite(guard=False, linear_in=("tensors",))
def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Return the tensors joined along their second dimension, one-dimensional ones along their first.

    >>> tl.hstack([tl.tensor([1]), tl.tensor([2])])
    tensor([1, 2])
    """
    found = _arranged(tensors, "hstack", atleast_1d)
    return _cat(found, 0 if found[0]._tl_data.ndim == 1 else 1, out=out)


@composite(guard=False, aliases=("row_stack",), linear_in=("tensors",))
def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Return the tensors joined along their first dimension; one-dimensional ones are rows.

    >>> tl.vstack([tl.tensor([1, 2]), tl.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
    return _cat(_arranged(tensors, "vstack", atleast_2d), 0, out=out)


@composite(guard=False, linear_in=("tensors",))
def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Return the tensors joined along their third dimension.

    >>> tl.dstack([tl.tensor([1, 2]), tl.tensor([3, 4])])
    tensor([[[1, 3],
             [2, 4]]])
    """
    return _cat(_arranged(tensors, "dstack", atleast_3d), 2, out=out)


@composite(guard=False, linear_in=("tensors",))
def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Return the tensors joined along their second dimension; one-dimensional ones are columns.

    >>> tl.column_stack([tl.tensor([1, 2]), tl.tensor([3, 4])])
    tensor([[1, 3],
            [2, 4]])
    """
    many("column_stack", "tensors", 1, tensors)
    if not tensors:
        raise RuntimeError("column_stack expects a non-empty TensorList")
    columns = [x if x._tl_data.ndim > 1 else _reshape(x, (x._tl_data.size, 1)) for x in tensors]
    return _cat(columns, 1, out=out)


@internal(name="block_diag", linear_in=("tensors",))
def _block_diag(xp: Namespace, tensors: Sequence[Array]) -> Array:
    """Return a matrix with matrices along its diagonal."""
    arrays = promote_arithmetic("block_diag", xp, list(tensors))
    result = xp.zeros(tuple(sum(a.shape[d] for a in arrays) for d in (0, 1)), arrays[0].dtype)
    row = column = 0
    for array in arrays:
        rows, columns = array.shape
        result[row : row + rows, column : column + columns] = array
        row, column = row + rows, column + columns
    return result


def _blocks(grad: Tensor, shapes: Sequence[tuple[int, ...]]) -> list[Any]:
    row = column = 0
    blocks = []
    for rows, columns in shapes:
        blocks.append(grad[row : row + rows, column : column + columns])
        row, column = row + rows, column + columns
    return blocks


derivatives(_block_diag, tensors=lambda grad, tensors_shape: _blocks(grad, tensors_shape))


@composite(guard=False, linear_in=("tensors",))
def block_diag(*tensors: Tensor) -> Tensor:
    """Return a matrix with the tensors along its diagonal and zeros elsewhere; one-dimensional ones are rows.

    Raises RuntimeError for tensors of more than two dimensions.

    >>> tl.block_diag(tl.tensor([[1, 2]]), tl.tensor([3]))
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """
    many("block_diag", "tensors", 1, tensors)
    for position, x in enumerate(tensors):
        if x._tl_data.ndim > 2:
            raise RuntimeError(
                f"block_diag(): Input tensors must have 2 or fewer dimensions. Input {position} has {x._tl_data.ndim} "
                "dimensions"
            )
    if not tensors:
        return undispatched(zeros)(1, 0)
    # Tensors without dimensions give way to others, which they no longer do as matrices.
    dtype = result_type(*[x._tl_data for x in tensors])
    kept = [x if x._tl_data.dtype == dtype else x._tl_cast(dtype) for x in tensors]
    return undispatched(_block_diag)(undispatched(atleast_2d)(kept))  # type: ignore[call-overload]


# ----------------------------------------------------------------------------------------------------------- splitting


@internal(name="split", outputs=True, view=True)
def _split(xp: Namespace, input: Array, sizes: Sequence[int], dim: int) -> Tensor:
    """Return the parts of `input` of the given sizes along a dimension, as views."""
    start = 0
    parts = []
    for size in sizes:
        parts.append(input[along(dim, slice(start, start + size))])
        start += size
    return parts  # type: ignore[return-value]


derivatives(_split, input=lambda grads, dim: undispatched(cat)(grads, dim))

_split_view: Callable[..., tuple[Any, ...]] = undispatched(_split)


def _with_sizes(tensor: Tensor, sizes: Any, dim: int, function: str) -> tuple[Any, ...]:
    shape = tensor._tl_data.shape
    if not shape:
        raise RuntimeError(f"{function} expects at least a 1-dimensional tensor")
    where = one_dim(dim, len(shape))
    if not isinstance(sizes, (list, tuple)):
        raise TypeError(
            f"{function}(): argument 'split_sizes' (position 2) must be tuple of ints, not {type(sizes).__name__}"
        )
    parts = [operator.index(n) for n in sizes]
    if any(n < 0 for n in parts):
        raise RuntimeError(
            f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={parts}"
        )
    if sum(parts) != shape[where]:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {shape[where]} (input tensor's size at dimension "
            f"{where}), but got split_sizes={parts}"
        )
    return _split_view(tensor, parts, where)


def _parts(tensor: Any, size: Any, dim: int) -> tuple[Any, ...]:
    if isinstance(size, (list, tuple)) or not hasattr(type(size), "__index__"):
        return _with_sizes(tensor, size, dim, "split_with_sizes")
    shape = tensor._tl_data.shape
    if not shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    where = one_dim(dim, len(shape))
    step, total = operator.index(size), shape[where]
    if step < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={step}")
    if step == 0 and total:
        raise RuntimeError(
            f"split_size can only be 0 if dimension size is 0, but got dimension size of {total}: pass a positive size"
        )
    whole, left = divmod(total, step) if step else (1, 0)
    parts = [step] * whole + [left] * bool(left)
    return _split_view(tensor, parts or [0], where)


@composite(guard=False, linear_in=("tensor",), dims="along")
def split(tensor: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Split `tensor` along `dim` into views of one size, except the last, or of given sizes.

    Raises RuntimeError when given sizes do not sum to the size of the dimension.

    >>> tl.split(tl.arange(5), 2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    return _parts(require_tensor("split", tensor, "tensor"), split_size_or_sections, dim)


@tensor_method(name="split", guard=False, linear_in=("self",), variant=("namesake", split), dims="along")
def _split_method(self: Tensor, split_size: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Split this tensor along `dim` into views of one size, except the last, or of given sizes.

    >>> tl.arange(5).split([1, 4])
    (tensor([0]), tensor([1, 2, 3, 4]))
    """
    return _parts(self, split_size, dim)


@composite(guard=False, method=True, linear_in=("input",), dims="along")
def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Split `input` along `dim` into views of the given sizes.

    Raises RuntimeError when the sizes do not sum to the size of the dimension.

    >>> tl.split_with_sizes(tl.arange(3), [1, 2])
    (tensor([0]), tensor([1, 2]))
    """
    return _with_sizes(require_tensor("split_with_sizes", input), split_sizes, dim, "split_with_sizes")


@composite(guard=False, method=True, linear_in=("input",), dims="along")
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Split `input` along `dim` into at most `chunks` views of one size; the last may be smaller.

    >>> tl.chunk(tl.arange(5), 2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    shape = require_tensor("chunk", input)._tl_data.shape
    if not shape:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    count = operator.index(chunks)
    if count <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {count}")
    where = one_dim(dim, len(shape))
    size = -(-shape[where] // count)
    if size == 0:
        return _split_view(input, [0] * count, where)
    return _parts(input, size, where)


@primitive(outputs=True, view=True, dims="along")
def unbind(xp: Namespace, input: Array, dim: int = 0) -> tuple[Array, ...]:
    """Remove dimension `dim`; return a tuple of views, one for each index.

    Raises IndexError for a tensor without dimensions.

    >>> tl.unbind(tl.tensor([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """
    if not input.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    where = one_dim(dim, input.ndim)
    lead = (slice(None),) * where
    return tuple([input[(*lead, i, Ellipsis)] for i in range(input.shape[where])])  # type: ignore[arg-type]


derivatives(unbind, input=lambda grads, dim: undispatched(stack)(grads, dim))


def _sections(value: Any, function: str) -> Any:
    """Return the number of sections, or the list of indices to split at."""
    if isinstance(value, TensorBase):
        array = value._tl_data
        if array.ndim > 1:
            raise RuntimeError(
                f"{function} expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, "
                f"but got a tensor with {array.ndim} dims"
            )
        if array.dtype != "int64":
            raise RuntimeError(
                f"{function} expected tensor_indices_or_sections to have dtype of long, but got "
                f"{dtype_name(array.dtype)}"
            )
        return array.tolist()
    if isinstance(value, (list, tuple)):
        return [operator.index(i) for i in value]
    return operator.index(value)


def _cut(tensor: Tensor, sections: int | list[int], dim: int) -> tuple[Any, ...]:
    total = tensor._tl_data.shape[dim]
    if isinstance(sections, int):
        size, larger = divmod(total, sections)
        ends = [i * size + min(i, larger) for i in range(1, sections)]
    else:
        ends = sections
    starts = [0, *ends]
    # A separate view for each part, so that each may be written to, unlike those of `split`.
    return tuple(
        part(slice_view, tensor, along(dim, slice(start, end)))
        for start, end in zip(starts, [*ends, total], strict=True)
    )


@composite(guard=False, method=True, linear_in=("input",), dims="along")
def tensor_split(
    input: Tensor, indices_or_sections: Tensor | int | Sequence[int] | None = None, dim: int = 0, *,
    indices: Sequence[int] | None = None, sections: int | None = None,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Split `input` along `dim` into a number of views, or at the given indices.

    Raises RuntimeError for fewer than one part.

    >>> tl.tensor_split(tl.arange(5), 2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    >>> tl.tensor_split(tl.arange(5), (1, 4))
    (tensor([0]), tensor([1, 2, 3]), tensor([4]))
    """
    given = [v for v in (indices_or_sections, indices, sections) if v is not None]
    if len(given) != 1:
        raise TypeError("tensor_split(): expected one of indices_or_sections, indices and sections")
    ndim = require_tensor("tensor_split", input)._tl_data.ndim
    if not ndim:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    where = one_dim(dim, ndim)
    found = _sections(given[0], "tensor_split")
    if isinstance(found, int) and found <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {found}")
    return _cut(input, found, where)


def _evenly(input: Tensor, given: int | Sequence[int], function: str, least: int, dim: int) -> tuple[Any, ...]:
    shape = require_tensor(function, input)._tl_data.shape
    if len(shape) < least:
        raise RuntimeError(
            f"{function} requires a tensor with at least {least} dimension, but got a tensor with {len(shape)} "
            "dimensions!"
        )
    found = _sections(given, function)
    if isinstance(found, int) and (found <= 0 or shape[dim] % found):
        raise RuntimeError(
            f"{function} attempted to split along dimension {dim}, but the size of the dimension {shape[dim]} is not "
            f"divisible by the split_size {found}!"
        )
    return _cut(input, found, dim)


@composite(guard=False, method=True, linear_in=("input",))
def hsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Split `input` along its second dimension (its first, if it has one): evenly, or at given indices.

    >>> tl.hsplit(tl.arange(4), 2)
    (tensor([0, 1]), tensor([2, 3]))
    """
    ndim = require_tensor("hsplit", input)._tl_data.ndim
    return _evenly(input, indices_or_sections, "hsplit", 1, 0 if ndim == 1 else 1)


@composite(guard=False, method=True, linear_in=("input",))
def vsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Split `input` along its first dimension: evenly, or at given indices.

    >>> tl.vsplit(tl.tensor([[1, 2], [3, 4]]), 2)
    (tensor([[1, 2]]), tensor([[3, 4]]))
    """
    return _evenly(input, indices_or_sections, "vsplit", 2, 0)


@composite(guard=False, method=True, linear_in=("input",))
def dsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Split `input` along its third dimension: evenly, or at given indices.

    >>> [part.shape for part in tl.dsplit(tl.ones(1, 2, 4), [1])]
    [tensorlike.Size([1, 2, 1]), tensorlike.Size([1, 2, 3])]
    """
    return _evenly(input, indices_or_sections, "dsplit", 3, 2)
