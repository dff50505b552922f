"""`x[index]` and `x[index] = value`.

# Note [What an index means]
PyTorch applies the integers, slices, None and Ellipsis of an index first, as a view, and then what is left, tensors and
masks, to that view. NumPy counts the integers among the arrays, and so puts the dimensions of `x[0, :, t]` elsewhere.
Here as there, an index is split: its basic part makes a view, its tensors a copy of elements of that view.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from types import EllipsisType, NoneType
from typing import Any

import numpy as np

from tensorlike._library_name import LIBRARY
from tensorlike.autograd.grad_mode import grad_enabled
from tensorlike.autograd.inference import refuse_write
from tensorlike.autograd.tensor_base import TensorBase, no_history, wrap
from tensorlike.dispatch.tracebacks import explained
from tensorlike.tensor.backends import device_of, transfer
from tensorlike.tensor.declarations.declare import (
    composite,
    derivatives,
    internal,
    takes_overlapping,
    tensor_method,
    undispatched,
)
from tensorlike.tensor.declarations.runtime import as_array, device_guard, dtype_name, many, run_quietly
from tensorlike.tensor.memory.views import bump, check_overlap, check_partial_overlap
from tensorlike.tensor.tensor import Tensor as TensorType
from tensorlike.tensor.types import Array, Indices, Namespace, Number, Tensor

from ..memory.inplace import copy_into, fill
from ..shape.expanding import expand
from ..shape.reshaping import reshape
from ..shared import require_tensor
from .accumulation import add_at
from .basic import alias, declared, select_view, slice_view, unsqueeze_view
from .index_parts import EVERYTHING, Parsed, counts, parse, part_of
from .written_values import as_written, converted_number

_DIRECT = frozenset((np.dtype(np.int64), np.dtype(bool)))


# ------------------------------------------------------------------------------------------------ elements by tensors


def _index_tuple(indices: Sequence[Any], dims: Sequence[int]) -> tuple[Any, ...]:
    found: list[Any] = []
    for array, dim in zip(indices, dims, strict=True):
        while len(found) < dim:
            found.append(EVERYTHING)
        found.append(array)
        found += [None] * (array.ndim - 1 if array.dtype.kind == "b" else 0)
    # A mask of several dimensions: the message counts them but does not name them.
    return tuple(i for i in found if i is not None)


def _explain(array: Array, indices: Sequence[Any], dims: Sequence[int]) -> None:
    """Raise PyTorch's error for an invalid index; return if it is valid."""
    shapes = []
    for index, dim in zip(indices, dims, strict=True):
        if index.dtype.kind == "b":
            for d, n in enumerate(index.shape):
                if dim + d >= array.ndim or array.shape[dim + d] != n:
                    raise IndexError(
                        f"The shape of the mask {list(index.shape)} at index {d} does not match the shape of the "
                        f"indexed tensor {list(array.shape)} at index {dim + d}"
                    )
            shapes.append((int(index.sum()),))
            continue
        shapes.append(index.shape)
        size = array.shape[dim]
        if index.size and not size:
            raise IndexError("index is out of bounds for dimension with size 0")
        bad = index[(index < -size) | (index >= size)] if index.size else index
        if bad.size:
            raise explained(
                IndexError, "index-out-of-range",
                f"index {int(bad.reshape(-1)[0])} is out of bounds for dimension {dim} with size {size}",
            )  # fmt: skip
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        raise IndexError(
            "shape mismatch: indexing tensors could not be broadcast together with shapes "
            f"{', '.join(str(list(s)) for s in shapes)}"
        ) from None


def _check_masks(array: Array, indices: Sequence[Any], dims: Sequence[int]) -> None:
    # NumPy accepts a mask of the wrong shape along a dimension of size 1.
    for index, dim in zip(indices, dims, strict=True):
        if index.dtype.kind == "b" and index.shape != array.shape[dim : dim + index.ndim]:
            _explain(array, indices, dims)


@internal(name="index")
def _index(xp: Namespace, input: Array, indices: Sequence[Array], dims: Sequence[int]) -> Array:
    """Return the elements of `input` selected by index tensors, each applied to the dimensions from its entry in `dims`
    on.
    """
    _check_masks(input, indices, dims)
    try:
        return input[_index_tuple(indices, dims)]  # type: ignore[no-any-return]
    except IndexError:
        _explain(input, indices, dims)
        raise


@internal(name="index_put", write=True, disjoint=("indices", "values"))
def _index_put(  # type: ignore[return]
    xp: Namespace, input: Array, indices: Sequence[Array], values: Array, dims: Sequence[int], accumulate: bool
) -> Array:
    """Return `input` with `values` written, or added, to the elements selected by index tensors."""
    _check_masks(input, indices, dims)
    index = _index_tuple(indices, dims)
    try:
        # NumPy drops leading dimensions of size 1, and any of a value without elements.
        is_dropped = values.ndim and (values.shape[0] == 1 or not values.size)
        if is_dropped and not _is_expandable(values.shape, input[index].shape):
            raise ValueError
        if accumulate:
            add_at(xp, input, index, values)
            return  # type: ignore[return-value]
        input[index] = values
    except (IndexError, ValueError, TypeError):  # TypeError is what NumPy raises for values of a mask.
        _explain(input, indices, dims)
        raise _value_mismatch(values, input[index]) from None


def _is_expandable(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, to) == to
    except ValueError:
        return False


def _value_mismatch(values: Any, chosen: Any) -> RuntimeError:
    return RuntimeError(
        f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing result of "
        f"shape {list(chosen.shape)}"
    )


elements, _set = undispatched(_index), undispatched(_index_put)


def _zeros(grad: Tensor, shape: tuple[int, ...]) -> Tensor:
    return grad._tl_zeros(shape, grad._tl_data.dtype)


derivatives(
    _index,
    input=lambda grad, input_shape, indices, dims: _set(_zeros(grad, input_shape), indices, grad, dims, True),
)
takes_overlapping(_index_put, like="tensor[indices] = tensor")
derivatives(
    _index_put,
    input=lambda grad, indices, dims, accumulate: (
        grad if accumulate else _set(grad, indices, _zeros(grad, ()), dims, False)
    ),
    values=lambda grad, indices, dims: elements(grad, indices, dims),
)


# --------------------------------------------------------------------------------------------------- x[index]


def _viewed(tensor: Tensor, parsed: Parsed) -> Tensor:
    """Return the view that the basic part of an index makes."""
    index = (*parsed.basic, Ellipsis)
    return parsed.last.record_view(as_array(tensor._tl_data[index]), tensor, index)  # type: ignore[no-any-return]


def _is_trivial(parsed: Parsed) -> bool:
    return all(type(part) is slice and part == EVERYTHING for part in parsed.basic)


_SIMPLE = frozenset((int, NoneType, EllipsisType))


def _is_basic(index: tuple[Any, ...]) -> bool:
    """Return whether NumPy makes the same view of a tuple of integers and slices as PyTorch."""
    for part in index:
        kind = type(part)
        if kind is slice:
            step = part.step
            if step is not None and (type(step) is not int or step < 1):
                return False
        elif kind not in _SIMPLE:
            return False
    return True


def _basic_view(array: Array, index: Any) -> Array | None:
    """Return the view of an array at an index that is basic in NumPy and PyTorch alike, None for any other."""
    kind = type(index)
    if kind is tuple:
        if not _is_basic(index):
            return None
    elif kind is not int and not (kind is slice and index.step is None):
        return None
    try:
        result: Array | None = array[index]
        if type(result) is not np.ndarray:
            result = array[(*index, ...) if kind is tuple else (index, ...)]
    except (IndexError, TypeError):
        # The general path raises the error, in PyTorch's words.
        return None
    return result


def _names_elements(array: Array, index: Array) -> bool:
    """Return whether a tensor alone is an index that needs no parsing: a vector of indices, or a mask."""
    return index.dtype in _DIRECT and 0 < index.ndim <= max(array.ndim, 1) and type(index) is type(array)


def _last_view(index: Any) -> Any:
    """Return the name of the view that PyTorch makes last for a basic index: the node is named after it."""
    if type(index) is not tuple:
        return select_view if type(index) is int else slice_view
    for part in reversed(index):
        if type(part) is int:
            return select_view
        if part is None:
            return unsqueeze_view
        if part is not Ellipsis and (part != EVERYTHING or len(index) == 1):
            return slice_view
    return alias


@tensor_method(name="__getitem__", guard=False, linear_in=("self",))
def _getitem(self: Tensor, index: Indices) -> Tensor:
    """Return part of this tensor: a view for integers, slices, None and Ellipsis; a copy for tensors, lists and masks.

    Raises IndexError for an index out of range or of a type that is none, and ValueError for a slice with a negative
    step.

    >>> x = tl.tensor([[1, 2], [3, 4]])
    >>> x[0], x[:, 1], x[x > 2], x[[1, 0], 0]
    (tensor([1, 2]), tensor([2, 4]), tensor([3, 4]), tensor([3, 1]))
    """
    array = self._tl_data
    view = _basic_view(array, index)
    if view is not None:
        complete = (*index, Ellipsis) if type(index) is tuple and Ellipsis not in index else index
        return _last_view(index).record_view(view, self, complete)  # type: ignore[no-any-return]
    if type(index) is TensorType and _names_elements(array, index._tl_data):
        # The most common index tensor: a vector of indices, or a mask.
        return elements(self, [index], [0])
    parsed = parse(array, index)
    if not parsed.tensors:
        return _viewed(self, parsed)
    source = self if _is_trivial(parsed) else _viewed(self, parsed)
    return elements(source, parsed.tensors, parsed.dims)


# ---------------------------------------------------------------------------------------------- x[index] = value


def _stripped(value: Any, shape: tuple[int, ...]) -> Any:
    """Return `value` without leading dimensions of size 1, if it has more dimensions than its destination."""
    given = value._tl_data.shape
    lead = 0
    while len(given) - lead > len(shape) and given[lead] == 1:
        lead += 1
    if len(given) - lead > len(shape):
        raise RuntimeError(
            f"expand(tensor of shape {list(given)}, size={list(shape)}): the number of sizes provided ({len(shape)}) "
            f"must be greater or equal to the number of dimensions in the tensor ({len(given) - lead})"
        )
    short = given[lead:]
    wide = shape[len(shape) - len(short) :]
    for position, (have, wanted) in enumerate(zip(short, wide, strict=True)):
        if have not in (1, wanted):
            raise RuntimeError(
                f"The expanded size of the tensor ({wanted}) must match the existing size ({have}) at non-singleton "
                f"dimension {position + len(shape) - len(short)}.  Target sizes: {list(shape)}.  Tensor sizes: "
                f"{list(given)}"
            )
    return undispatched(reshape)(value, short) if lead else value


def _assigned(value: Any, target: Array) -> Any:
    """Convert the assigned value to a tensor on the device of `target`, or a number."""
    if isinstance(value, TensorBase):
        array = value._tl_data
        if (type(array) is not np.ndarray or type(target) is not np.ndarray) and device_of(array) != device_of(target):
            tensor: Any = value
            return tensor._tl_transfer(device_of(target))
        return value
    if isinstance(value, (bool, int, float, complex, np.generic)):
        if type(value) is int and not -(2**63) <= value < 2**64:
            raise ValueError(f"Overflow when unpacking long long: {value}")
        return value
    raise TypeError(
        f"can't assign a {type(value).__module__ + '.' if isinstance(value, np.ndarray) else ''}{type(value).__name__} "
        f"to a {LIBRARY}.{dtype_name(target.dtype)}Tensor: make it a tensor first, e.g. with "
        f"{LIBRARY}.as_tensor(value)"
    )


def _has_history(tensor: Any) -> bool:
    """Return whether a tensor or its base requires grad."""
    return tensor._tl_tracked and not no_history(tensor)


def _write_plain(self: Tensor, parsed: Parsed, value: Tensor | int) -> None:
    """Write to a tensor that does not require grad, without recording a view."""
    _write_to(self, as_array(self._tl_data[(*parsed.basic, Ellipsis)]), value)


def _write_to(self: Any, target: Array, value: Any) -> None:
    """Write a number or a tensor to `target`, a view of the memory of `self`."""
    check_overlap(target, "__setitem__")
    if self._tl_meta is not None and self._tl_meta.inference:
        refuse_write("__setitem__")
    if isinstance(value, TensorBase):
        shared = value._tl_counter is not None and value._tl_counter is self._tl_counter
        value = _stripped(wrap(value._tl_data), target.shape)._tl_data  # The value itself gets no view and no counter.
        if shared and value.ndim and value.size == target.size:  # An expanded value has gaps: it is not compared.
            check_partial_overlap(target, value, "__setitem__")
    if type(target) is np.ndarray:
        run_quietly(operator.setitem, target, Ellipsis, as_written(value, target.dtype))
    else:
        with device_guard(target):
            target[...] = as_written(value, target.dtype)
    bump(self)


def _put_value(
    array: Array, parts: Sequence[Any], dims: Sequence[int], value: TensorBase, accumulate: bool = False
) -> Any:
    """Return the tensor that is written to elements of `array`: a single one for a mask is converted to its dtype.

    Raises RuntimeError for one of another dtype otherwise.
    """
    given = value._tl_data
    if given.dtype == array.dtype and given.ndim < 2:
        return value
    indices = [part._tl_data for part in parts]
    _check_masks(array, indices, dims)
    mask = indices[0] if len(indices) == 1 and indices[0].dtype.kind == "b" and not accumulate else None
    if given.size == 1 and mask is not None and (mask.ndim or not given.ndim):
        # As `masked_fill_` does, which PyTorch calls then.
        converted_number(given.item(), array.dtype)  # It must fit.
        value = undispatched(reshape)(value, ())._tl_cast(array.dtype)
    elif given.dtype != array.dtype:
        _explain(array, indices, dims)
        chosen = array[_index_tuple(indices, dims)]
        if not _is_expandable(given.shape, chosen.shape):
            raise _value_mismatch(given, chosen)
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {dtype_name(array.dtype)} for the "
            f"destination and {dtype_name(given.dtype)} for the source."
        )
    return value


@tensor_method(name="__setitem__", guard=False, mutates=("self",), linear_in=("self", "value"))
def _setitem(self: Tensor, index: Indices, value: Tensor | Number) -> None:
    """Write a number or a tensor, converted and broadcast, to part of this tensor.

    Gradients go to `value`, and to this tensor where it was not overwritten. Raises IndexError as reading does, and
    RuntimeError when the shapes do not fit, or for a leaf that requires grad.

    >>> x = tl.zeros(2, 2)
    >>> x[0] = tl.tensor([1, 2])
    >>> x[x == 0] = 9
    >>> x
    tensor([[1., 2.],
            [9., 9.]])
    """
    array = self._tl_data
    value = _assigned(value, array)
    tracked = grad_enabled() and (_has_history(self) or (isinstance(value, TensorBase) and _has_history(value)))
    if not tracked:
        target = _basic_view(array, index)
        if target is not None:
            _write_to(self, target, value)
            return
    parsed = parse(array, index)
    if not parsed.tensors:
        if not tracked:
            _write_plain(self, parsed, value)
            return
        view = _viewed(self, parsed)
        if isinstance(value, TensorBase):
            value = _stripped(value, view._tl_data.shape)
            if value._tl_data.size != view._tl_data.size:
                value = undispatched(expand)(value, view._tl_data.shape)
            declared(copy_into).write_in_place("__setitem__", view, value)
        else:
            declared(fill).write_in_place("__setitem__", view, value, overlapping=False)
        return
    target = self if _is_trivial(parsed) else _viewed(self, parsed)  # type: ignore[assignment]
    if isinstance(value, TensorBase):
        while value._tl_data.shape[:1] == (1,):
            value = undispatched(reshape)(value, value._tl_data.shape[1:])
        value = _put_value(target._tl_data, parsed.tensors, parsed.dims, value)  # type: ignore[union-attr]
    else:
        value = wrap(transfer(np.asarray(converted_number(value, array.dtype)), device_of(array)))
    try:
        tensors = _without(parsed.tensors, target)
        declared(_index_put).write_in_place("index_put_", target, tensors, value, parsed.dims, False)
    except TypeError as error:
        if "boolean array indexing" not in str(error):
            raise
        shape = list(value._tl_data.shape)
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {shape} cannot be broadcast to the elements that the mask chooses"
        ) from None


def _without(tensors: Sequence[Any], target: Any) -> list[Any]:
    """Return index tensors with a copy of `target` where it is a mask, which is read before anything is written."""
    return [wrap(t._tl_data.copy()) if t is target and t._tl_data.dtype.kind == "b" else t for t in tensors]


def _delitem(self: Any, index: Any) -> None:
    raise TypeError("Tensor does not support deleting items")


TensorType.__delitem__ = _delitem  # type: ignore[attr-defined]


# ------------------------------------------------------------------------------------------------------- index_put


def _named(
    input: Tensor, indices: Tensor | Sequence[Tensor], values: Tensor, accumulate: bool, function: str
) -> tuple[list[Any], list[int], Any]:
    require_tensor(function, input)
    many(function, "indices", 2, indices)
    require_tensor(function, values, "values", 3)
    array = input._tl_data
    parts = []
    for index in indices:
        part = part_of(index, array)
        parts.append(part if isinstance(part, TensorBase) else wrap(transfer(np.asarray(part), device_of(array))))
    named = sum(map(counts, parts))
    if named > array.ndim:
        raise IndexError(f"too many indices for tensor of dimension {array.ndim} (got {named})")
    dims = []
    place = 0
    for part in parts:
        dims.append(place)
        place += counts(part)
    return parts, dims, _put_value(array, parts, dims, values, accumulate)


@composite(guard=False, method=True)
def index_put(input: Tensor, indices: tuple[Tensor, ...], values: Tensor, accumulate: bool = False) -> Tensor:
    """Return `input` with `values` written to the elements selected by a tuple of index tensors or masks.

    With `accumulate` they are added, twice where an element is named twice. Raises IndexError for an index out of
    range, and RuntimeError when the shapes or the dtypes do not fit.

    >>> tl.index_put(tl.zeros(3), (tl.tensor([0, 0]),), tl.ones(2), accumulate=True)
    tensor([2., 0., 0.])
    """
    parts, dims, given = _named(input, indices, values, accumulate, "index_put")
    return _set(input, parts, given, dims, accumulate)


@tensor_method(guard=False, variant=("inplace", index_put), inplace_function=True)
def index_put_(self: Tensor, indices: tuple[Tensor, ...], values: Tensor, accumulate: bool = False) -> Tensor:
    """Write `values` to the elements of this tensor selected by a tuple of index tensors or masks, and return it.

    With `accumulate` they are added, twice where an element is named twice.

    >>> tl.zeros(3).index_put_((tl.tensor([0, 2]),), tl.ones(2))
    tensor([1., 0., 1.])
    """
    parts, dims, given = _named(self, indices, values, accumulate, "index_put_")
    if accumulate:
        check_overlap(self._tl_data, "index_put_")  # Each of the overlapping elements would be added to by itself.
    return declared(_index_put).write_in_place("index_put_", self, _without(parts, self), given, dims, accumulate)  # type: ignore[no-any-return]
