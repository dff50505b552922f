"""Distinct elements, positions in sorted sequences, and membership."""

from __future__ import annotations

from typing import Any, Literal, NoReturn, overload

import numpy as np

from tensorlike.autograd.tensor_base import wrap
from tensorlike.tensor.backends import namespace_of
from tensorlike.tensor.declarations.declare import composite, derivatives, internal, primitive, undispatched
from tensorlike.tensor.declarations.runtime import dtype_name, guarded, promote_arithmetic
from tensorlike.tensor.dims import shape_of
from tensorlike.tensor.promotion import result_type
from tensorlike.tensor.types import Array, Namespace, Number, Tensor

from ..reductions.axes import comparable, one_axis, unsupported
from ..shared import require_tensor

_INT32 = np.dtype(np.int32)
_INT64 = np.dtype(np.int64)


# ----------------------------------------------------------------------------------------------------- distinct


@internal(name="unique", own_layout=True)
def _distinct(xp: Namespace, input: Array, values: Any) -> Array:
    """Return `values`, the distinct elements of `input`, which require grad where it does."""
    return values  # type: ignore[no-any-return]


def _underivable(grad: Any) -> NoReturn:
    raise NotImplementedError("the derivative for 'unique' is not implemented: PyTorch has none either")


derivatives(_distinct, input=_underivable)
_distinct_behind = undispatched(_distinct)


def _packed(input: Tensor, values: Array, inverse: Array | None, counts: Array | None) -> Any:
    found = [_distinct_behind(input, values), *(wrap(v) for v in (inverse, counts) if v is not None)]
    return found[0] if len(found) == 1 else tuple(found)


def _distinct_axis(function: str, input: Array, dim: int) -> int:
    if not input.ndim:
        raise IndexError(f"{function}(): Dimension specified as {dim} but tensor has no dimensions")
    axis = one_axis(dim, input.ndim, function)
    if input.shape.count(0) > 1:
        raise RuntimeError(
            f"{function}(): Number of zero sized dimensions is more than one, so unique cannot be applied: the shape "
            f"is {list(input.shape)}"
        )
    if 0 in input.shape and input.shape[axis]:
        raise RuntimeError(
            f"{function}(): There are 0 sized dimensions, and they aren't selected, so unique cannot be applied: the "
            f"shape is {list(input.shape)}, dim={axis}"
        )
    return axis


@overload
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: int | None = None,
) -> Tensor: ...
@overload
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> tuple[Tensor, ...]: ...
@composite(method=True, guard=False)
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """Return the distinct elements in ascending order, or the distinct slices along `dim`.

    With `return_inverse` also the index of each element in the result; with `return_counts`, the number of occurrences.
    Every NaN is distinct. The order is ascending whether `sorted` asks for it or not. The result has no derivative.
    Complex tensors are refused with a NotImplementedError.

    >>> tl.unique(tl.tensor([3, 1, 2, 1]), return_counts=True)
    (tensor([1, 2, 3]), tensor([2, 1, 1]))
    """
    require_tensor("unique", input)
    if input._tl_data.dtype.kind == "c":
        unsupported("unique", input._tl_data.dtype)
    return _packed(input, *_unique(input._tl_data, return_inverse, return_counts, dim))


@guarded
def _unique(array: Array, return_inverse: bool, return_counts: bool, dim: int | None) -> Any:
    xp = namespace_of(array)
    axis = None
    if dim is not None:
        axis = _distinct_axis("unique", array, dim)
        if not array.size:
            nothing = xp.zeros(0, _INT64)
            return array.copy(), nothing if return_inverse else None, nothing if return_counts else None
    found = xp.unique(array, return_inverse=return_inverse, return_counts=return_counts, axis=axis, equal_nan=False)
    rest = list(found)[1:] if isinstance(found, tuple) else []
    values = found[0] if isinstance(found, tuple) else found
    inverse = rest.pop(0) if return_inverse else None
    if inverse is not None:
        inverse = xp.asarray(inverse).astype(_INT64).reshape(array.shape if axis is None else -1)
    counts = rest.pop(0).astype(_INT64) if return_counts else None
    return values, inverse, counts


@overload
def unique_consecutive(
    input: Tensor,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: int | None = None,
) -> Tensor: ...
@overload
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> tuple[Tensor, ...]: ...
@composite(method=True, guard=False)
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Collapse each run of equal consecutive elements (or slices along `dim`) to its first.

    With `return_inverse` also the index of each element in the result; with `return_counts`, the lengths of the runs.
    The result has no derivative. Complex tensors are refused with a NotImplementedError.

    >>> tl.unique_consecutive(tl.tensor([1, 1, 2, 2, 1]))
    tensor([1, 2, 1])
    """
    require_tensor("unique_consecutive", input)
    if input._tl_data.dtype.kind == "c":
        unsupported("unique_consecutive", input._tl_data.dtype)
    return _packed(input, *_runs(input._tl_data, return_inverse, return_counts, dim))


@guarded
def _runs(
    array: Any, return_inverse: bool, return_counts: bool, dim: int | None
) -> tuple[Array, Array | None, Array | None]:
    xp = namespace_of(array)
    if dim is None:
        axis, lines = 0, array.reshape(-1)
    else:
        axis, lines = _distinct_axis("unique_consecutive", array, dim), array
    count = lines.shape[axis]
    slices = xp.moveaxis(lines, axis, 0).reshape((count, lines.size // count if count else 0))
    starts = xp.ones(count, bool)
    starts[1:] = xp.any(slices[1:] != slices[:-1], axis=1)
    places = xp.nonzero(starts)[0]
    values = xp.take(lines, places, axis)
    inverse = counts = None
    if return_inverse:
        inverse = (xp.cumsum(starts) - 1).astype(_INT64)
        inverse = inverse.reshape(array.shape) if dim is None else inverse
    if return_counts:
        counts = xp.diff(xp.concatenate([places, xp.asarray([count])])).astype(_INT64)
    return values, inverse, counts


# ---------------------------------------------------------------------------------------------------- positions


def _side(function: str, right: bool, side: str | None) -> str:
    if side is None:
        return "right" if right else "left"
    if side not in ("left", "right"):
        raise RuntimeError(f"{function}(): side can only be 'left' or 'right' but got {side}")
    if right and side == "left":
        raise RuntimeError(
            f"{function}(): side and right can't be set to opposites, got side of left while right was True"
        )
    return side


def _positions(xp: Namespace, boundaries: Array, values: Any, side: str) -> Array:
    """Return the positions of `values` in each line of `boundaries`, by sorting both together."""
    size, wanted = boundaries.shape[-1], values.shape[-1]
    joined = [values, boundaries] if side == "left" else [boundaries, values]
    order = xp.argsort(comparable(xp.concatenate(joined, -1)), -1, kind="stable")
    # Among equal elements, those of the first part come first, and count only the elements before them.
    is_boundary = order >= wanted if side == "left" else order < size
    before = xp.cumsum(is_boundary, -1)
    result = xp.empty(order.shape, _INT64)
    xp.put_along_axis(result, order, before, -1)
    return result[..., :wanted] if side == "left" else result[..., size:]


def _searched(xp: Namespace, function: str, boundaries: Array, values: Any, out_int32: bool, side: str) -> Array:
    common = result_type(boundaries, values)
    if common.kind in "bc":
        unsupported(function, common)
    if not hasattr(values, "ndim"):
        values = xp.asarray(values)
    if boundaries.ndim == 1:
        result = xp.searchsorted(boundaries, values, side=side)
    else:
        result = _positions(xp, boundaries, values, side)
    if values.dtype.kind not in "biu":
        # NaN is greater than any boundary, NaN among them.
        result = xp.where(xp.isnan(values), boundaries.shape[-1], result)
    return xp.asarray(result).astype(_INT32 if out_int32 else _INT64)


@primitive(method=False, differentiable=False, out=True)
def searchsorted(
    xp: Namespace, sorted_sequence: Array, input: Array | Number, *, out_int32: bool = False, right: bool = False,
    side: str | None = None, sorter: Array | None = None,
) -> Array:  # fmt: skip
    """Return where `input` would have to be inserted in the lines of `sorted_sequence` to keep them sorted.

    A one-dimensional sequence serves all of `input`; otherwise their shapes but for the last dimension must be equal.
    `right` (or `side="right"`) inserts after equal elements. `sorter` holds the indices that sort the sequence. The
    result is int64, or int32 with `out_int32`. NaN comes after everything.

    >>> tl.searchsorted(tl.tensor([1, 3, 5]), tl.tensor([3, 6]), right=True)
    tensor([2, 3])
    """
    name = "searchsorted"
    where = _side(name, right, side)
    shape = sorted_sequence.shape
    if not shape:
        raise RuntimeError(f"{name}(): boundaries tensor should have positive dimension, but got 0 dimension")
    given = input.shape if hasattr(input, "shape") else ()
    if len(shape) > 1:
        if not given:
            raise RuntimeError(
                f"{name}(): input value can be a scalar only when boundaries tensor dimension is 1, but we got "
                f"boundaries tensor dim({len(shape)}) and input value's dim(0) numel(1)"
            )
        if shape[:-1] != given[:-1]:
            raise RuntimeError(
                f"{name}(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor "
                f"and input value tensor must match, but we got boundaries tensor {shape_of(shape)} and input value "
                f"tensor {shape_of(given)}"
            )
    if sorter is not None:
        if sorter.shape != shape:
            raise RuntimeError(
                f"{name}(): boundary and sorter must have the same size, but got boundary tensor {shape_of(shape)} and "
                f"got sorter tensor {shape_of(sorter.shape)}"
            )
        if sorter.dtype != _INT64:
            raise RuntimeError(
                f"{name}(): sorter must be a tensor of long dtype but got dtype {dtype_name(sorter.dtype)}"
            )
        if sorter.size and (sorter.min() < 0 or sorter.max() >= shape[-1]):
            raise RuntimeError(f"{name}(): sorter index out of range: it must be from 0 to {shape[-1] - 1}")
        sorted_sequence = xp.take_along_axis(sorted_sequence, sorter, -1)
    return _searched(xp, name, sorted_sequence, input, out_int32, where)


@primitive(method=False, differentiable=False, out=True)
def bucketize(
    xp: Namespace, input: Array | Number, boundaries: Array, *, out_int32: bool = False, right: bool = False
) -> Array:
    """Return the index of the bucket that each element of `input` falls in, between sorted one-dimensional boundaries.

    Bucket i ends with boundary i, which belongs to it unless `right`. The result is int64, or int32 with `out_int32`.

    >>> tl.bucketize(tl.tensor([3, 6, 9]), tl.tensor([1, 3, 5, 7, 9]))
    tensor([1, 3, 4])
    """
    if boundaries.ndim != 1:
        raise RuntimeError(f"bucketize(): boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return _searched(xp, "bucketize", boundaries, input, out_int32, "right" if right else "left")


# ---------------------------------------------------------------------------------------------------- membership


@primitive(method=False, differentiable=False, out=True)
def isin(
    xp: Namespace, elements: Array | Number, test_elements: Array | Number, *, assume_unique: bool = False,
    invert: bool = False,
) -> Array:  # fmt: skip
    """Return which of `elements` are among `test_elements`, or with `invert`, which are not.

    One of the two may be a number. `assume_unique` promises that neither repeats itself, which may be faster. Boolean
    and complex tensors are refused with a RuntimeError.

    >>> tl.isin(tl.tensor([[1, 2], [3, 4]]), tl.tensor([2, 3]))
    tensor([[False,  True],
            [ True, False]])
    """
    for given in (elements, test_elements):
        if hasattr(given, "ndim") and given.dtype.kind in "bc":
            raise RuntimeError(f"isin(): Unsupported input type encountered for isin(): {dtype_name(given.dtype)}")
    one, two = promote_arithmetic("isin", xp, (elements, test_elements))
    return xp.isin(one, two, assume_unique=assume_unique, invert=invert)  # type: ignore[no-any-return]
