"""Checks of index tensors: their dtype, their shape and the range of their elements. For kernels, on raw arrays."""

from __future__ import annotations

import numpy as np

from tensorlike.dispatch.tracebacks import explained
from tensorlike.tensor.declarations.runtime import dtype_name
from tensorlike.tensor.types import Array, Namespace


def is_index(array: Array) -> bool:
    """Return whether an array may be an index: whether it is of int32 or int64."""
    found: bool = array.dtype == np.int64 or array.dtype == np.int32
    return found


def check_range(
    xp: Namespace, index: Array, size: int, error: type[Exception], message: str, *, negative: bool = False
) -> None:
    """Raise `error` when an index is out of range. Not checked on devices that compute asynchronously."""
    if xp is not np or not index.size:
        return
    lowest, highest = int(index.min()), int(index.max())
    if highest >= size or lowest < (-size if negative else 0):
        found = highest if highest >= size else lowest
        raise explained(error, "index-out-of-range", message.format(index=found, size=size))


def check_bounds(
    xp: Namespace, index: Array, shape: tuple[int, ...], dim: int, error: type[Exception], *, negative: bool = False
) -> None:
    """Raise `error` when an index is out of range along a dimension."""
    message = f"index {{index}} is out of bounds for dimension {dim} with size {{size}}"
    check_range(xp, index, shape[dim], error, message, negative=negative)


def check_elements(xp: Namespace, function: str, index: Array, size: int) -> None:
    """Raise IndexError when an index is out of range of the flattened tensor of `size` elements."""
    message = f"{function}(): out of range: tried to access index {{index}} on a tensor of {{size}} elements."
    check_range(xp, index, size, IndexError, message, negative=True)


def index_vector(function: str, index: Array) -> Array:
    """Return an index of at most one dimension as a vector."""
    if index.ndim > 1:
        raise IndexError(
            f"{function}(): Index is supposed to be a vector, but got dim: {index.ndim} with type: "
            f"{dtype_name(index.dtype)} and size: {list(index.shape)}"
        )
    return index.reshape(-1)


def check_dims(function: str, input: Array, index: Array, what: str) -> None:
    """Raise RuntimeError unless `index` is an index with as many dimensions as `input`."""
    if not is_index(index):
        raise RuntimeError(f"{function}(): Expected dtype int32/int64 for index, got {dtype_name(index.dtype)}")
    if index.size and max(index.ndim, 1) != max(input.ndim, 1):
        raise RuntimeError(
            f"{function}(): Index tensor must have the same number of dimensions as {what} tensor, got {index.ndim} "
            f"and {input.ndim}"
        )
