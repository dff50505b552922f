"""Combining values into an array at indices that may repeat. Called by kernels, on raw arrays only."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorlike.tensor.backends import scatter_add
from tensorlike.tensor.types import Array, Namespace


def _steps(shape: tuple[int, ...]) -> list[int]:
    """Return the strides of a contiguous array of that shape, in elements."""
    steps = [1] * len(shape)
    for d in range(len(shape) - 2, -1, -1):
        steps[d] = steps[d + 1] * shape[d + 1]
    return steps


def grid_positions(xp: Namespace, shape: tuple[int, ...], dim: int, index: Array) -> Array:
    """Return the flat positions of the elements that `index` names along `dim`, as in `gather`."""
    positions = index * _steps(shape)[dim] if len(shape) > 1 else index
    for d, step in enumerate(_steps(shape)):
        if d != dim:
            column = (xp.arange(index.shape[d]) * step).reshape((-1,) + (1,) * (len(shape) - d - 1))
            positions = positions + column
    return positions


def row_positions(xp: Namespace, shape: tuple[int, ...], dim: int, index: Array) -> Array:
    """Return the flat positions of the slices that a one-dimensional `index` names along `dim`."""
    column = index.reshape((-1,) + (1,) * (len(shape) - dim - 1))
    wide = (*shape[:dim], index.shape[0], *shape[dim + 1 :])
    return grid_positions(xp, shape, dim, xp.broadcast_to(column, wide))


def combine_at(xp: Namespace, ufunc: Any, target: Array, positions: Array, values: Array) -> None:
    """Apply `target[position] = ufunc(target[position], value)` for each value at its flat position, in place.

    The index is one flat array: NumPy's `ufunc.at` takes 1 ns an element for that, 50 ns for several arrays.
    """
    if target.flags.c_contiguous:
        flat = target.reshape(-1)
    else:
        flat = target.copy(order="C").reshape(-1)
    where, what = positions.reshape(-1), xp.broadcast_to(values, positions.shape).reshape(-1)
    if what.dtype != flat.dtype:
        what = what.astype(flat.dtype)
    if ufunc is xp.add:
        scatter_add(flat, where, what)
    else:
        ufunc.at(flat, where, what)
    if not target.flags.c_contiguous:
        target[...] = flat.reshape(target.shape)


def add_at(xp: Namespace, target: Array, index: tuple[Any, ...], values: Array) -> None:
    """Compute `target[index] += values`, adding twice to an element that is named twice.

    `index` has full slices and arrays, as advanced indexing reads it.
    """
    arrays = [i for i in index if not isinstance(i, slice)]
    if all(a.dtype.kind == "b" for a in arrays) and len(arrays) == 1:
        # A mask cannot name an element twice.
        target[index] += values
        return
    # Indexing an array of flat positions in the same way gives the positions of the elements.
    numbers = xp.arange(math.prod(target.shape), dtype=np.intp).reshape(target.shape)
    combine_at(xp, xp.add, target, numbers[index], values)
