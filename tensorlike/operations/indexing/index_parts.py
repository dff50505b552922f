"""Parsing the index of `x[...]`: see Note [What an index means] in `getitem`."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorlike.autograd.tensor_base import TensorBase, wrap
from tensorlike.dispatch.core import outside_stacklevel
from tensorlike.dispatch.tracebacks import explained
from tensorlike.tensor.backends import device_of, transfer
from tensorlike.tensor.creation.filled import array_from
from tensorlike.tensor.declarations.runtime import dtype_name
from tensorlike.tensor.types import Array

from .basic import alias, select_view, slice_view, unsqueeze_view

EVERYTHING = slice(None)


class Parsed:
    """An index split in two: the basic part, and index tensors for dimensions of the view that it makes."""

    __slots__ = ("basic", "dims", "last", "tensors")

    def __init__(self) -> None:
        self.basic: list[Any] = []
        self.tensors: list[Any] = []
        self.dims: list[int] = []
        #: The view that PyTorch makes last: the node is named after it.
        self.last: Any = alias


def counts(item: Any) -> int:
    """Return the number of dimensions that one part of an index consumes."""
    if item is None or item is Ellipsis or type(item) is bool:
        return 0
    if isinstance(item, TensorBase):
        return item._tl_data.ndim if item._tl_data.dtype.kind == "b" else 1
    return 1


def _is_legacy_tuple(index: list[Any]) -> bool:
    """Return whether a list is treated as a tuple: PyTorch does so for short lists with elements other than numbers."""
    return len(index) < 32 and any(
        item is None or item is Ellipsis or isinstance(item, (slice, TensorBase, list, tuple, range, np.ndarray))
        for item in index
    )


def _invalid(item: Any) -> IndexError:
    return IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
        f"{type(item).__name__}: {item!r})"
    )


def part_of(item: Any, array: Array) -> Any:
    """Return one part of an index as an integer, a slice, None, Ellipsis, a bool, or a tensor of int64 or bool."""
    kind = type(item)
    if kind is int or kind is bool or item is None or item is Ellipsis:
        return item
    if kind is slice:
        return _slice(item)
    if isinstance(item, TensorBase):
        found = item._tl_data
    elif isinstance(item, np.ndarray):
        found = item
    elif isinstance(item, (np.bool_, bool)):
        return bool(item)
    elif hasattr(kind, "__index__"):
        return operator.index(item)
    elif isinstance(item, str):
        raise TypeError(f"new(): invalid data type 'str': a tensor cannot be indexed with {item!r}")
    elif hasattr(kind, "__len__") and hasattr(kind, "__getitem__") and not isinstance(item, dict):
        found = array_from(item, None, "__getitem__")
        if found.dtype.kind != "b":
            found = found.astype(np.int64)
    else:
        raise _invalid(item)
    if found.dtype.kind not in "iub":
        raise IndexError(
            "tensors used as indices must be long, int, byte or bool tensors, got one of dtype "
            f"{dtype_name(found.dtype)}"
        )
    if found.dtype == np.uint8:
        warnings.warn(
            "indexing with dtype uint8 is deprecated, it is taken for a mask: use dtype bool instead",
            UserWarning,
            stacklevel=outside_stacklevel(),
        )
        found = found != 0
    if not found.ndim:
        return bool(found) if found.dtype.kind == "b" else int(found)
    if type(found) is not type(array):
        found = transfer(found, device_of(array))
    if (isinstance(item, TensorBase) and found is item._tl_data and found.dtype.kind in "b") or found.dtype == np.int64:
        # Keep the tensor itself, so that backward detects a modification of it.
        return item if isinstance(item, TensorBase) and found is item._tl_data else wrap(found)
    return wrap(found if found.dtype.kind == "b" else found.astype(np.int64))


def _slice(item: slice) -> slice:
    parts = (item.start, item.stop, item.step)
    for value in parts:
        if value is not None and type(value) is not int:
            if not hasattr(type(value), "__index__"):
                raise TypeError(
                    "slice indices must be integers or None or have an __index__ method, got "
                    f"{type(value).__name__}: {value!r}"
                )
            parts = tuple(None if v is None else operator.index(v) for v in parts)  # type: ignore[assignment]
            break
    step = parts[2]
    if step is not None and step <= 0:
        if step == 0:
            raise ValueError("slice step cannot be zero")
        raise ValueError(f"step must be greater than zero, got {step}: use flip() to reverse a dimension")
    return slice(*parts)


def parse(array: Array, index: Any) -> Parsed:
    """Split an index for an array: see Note [What an index means]."""
    if type(index) is tuple:
        items: Sequence[Any] = index
    elif isinstance(index, tuple) or (isinstance(index, list) and _is_legacy_tuple(index)):
        if isinstance(index, list):
            warnings.warn(
                "Using a non-tuple sequence for multidimensional indexing is deprecated: use x[tuple(seq)] instead of "
                "x[seq], or x[tensor(seq)] for the elements it names",
                UserWarning,
                stacklevel=outside_stacklevel(),
            )
        items = tuple(index)
    else:
        items = (index,)
    parts = [part_of(item, array) for item in items]
    ndim = array.ndim
    named = sum(map(counts, parts))
    if named > ndim:
        if ndim == 0 and len(parts) == 1 and not isinstance(parts[0], TensorBase):
            if isinstance(parts[0], slice):
                raise IndexError("slice() cannot be applied to a 0-dim tensor.")
            raise IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` to convert a 0-dim tensor to a number"
            )
        raise explained(
            IndexError, "too-many-indices", f"too many indices for tensor of dimension {ndim} (got {named})"
        )
    parsed = Parsed()
    place = 0
    filled = False
    dim = 0
    for part in parts:
        if part is Ellipsis:
            if not filled:
                filled = True
                missing = ndim - named
                parsed.basic += [EVERYTHING] * missing
                place += missing
                dim += missing
        elif part is None:
            parsed.basic.append(None)
            parsed.last = unsqueeze_view
            place += 1
        elif type(part) is slice:
            parsed.basic.append(part)
            if part != EVERYTHING or len(parts) == 1:
                parsed.last = slice_view
            place += 1
            dim += 1
        elif type(part) is bool:
            # A bool: a new dimension of size 1, or 0.
            parsed.basic.append(None)
            parsed.last = unsqueeze_view
            parsed.tensors.append(wrap(array_like(array, part)))
            parsed.dims.append(place)
            place += 1
        elif isinstance(part, TensorBase):
            width = part._tl_data.ndim if part._tl_data.dtype.kind == "b" else 1
            parsed.basic += [EVERYTHING] * width
            parsed.tensors.append(part)
            parsed.dims.append(place)
            place += width
            dim += width
        else:
            size = array.shape[dim]
            if not -size <= part < size:
                if not -(2**63) <= part < 2**63:
                    raise ValueError(f"Overflow when unpacking long long: {part}")
                raise explained(
                    IndexError, "index-out-of-range",
                    f"index {part} is out of bounds for dimension {dim} with size {size}",
                )  # fmt: skip
            parsed.basic.append(part)
            parsed.last = select_view
            dim += 1
    return parsed


def array_like(array: Array, flag: bool) -> Any:
    """Return a mask of one element on the device of `array`."""
    return transfer(np.array([flag]), device_of(array))
