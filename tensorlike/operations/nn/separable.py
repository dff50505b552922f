"""Separable linear maps: one matrix for each dimension, for averages and interpolation, or indices, for padding.

The memory formats of a map are those of its result and of its gradient; None stands for that of what each is computed
from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorlike.tensor.backends import scatter_add
from tensorlike.tensor.declarations.declare import derivatives, internal, undispatched
from tensorlike.tensor.layouts import arranged, format_of, laid_out
from tensorlike.tensor.types import Array, Namespace, Tensor

from .declaring import narrowed, widened

Matrices = tuple[Any, ...]
Formats = tuple[str | None, str | None] | None


def _formatted(result: Array | None, operand: Array, formats: Formats) -> Array:
    name = format_of(operand) if formats is None else formats[0]
    return laid_out(result.copy() if result is operand else result, name)


def _reversed(formats: Formats) -> Formats:
    return None if formats is None else formats[::-1]


@internal(own_layout=True, linear_in=("input",))
def in_formats(xp: Namespace, input: Array, formats: tuple[str | None, str | None]) -> Array:
    """Return a copy of `input`, for functions made of others: `formats` are those of the copy and of its gradient."""
    return arranged(input, formats[0] or "contiguous_format")


derivatives(in_formats, input=lambda grad, formats: in_formats(grad, formats[::-1]))


def keeping_format(function: Callable[[Any], Any], input: Tensor) -> Tensor:
    """Return `function(input)` in the memory format of `input`, which its gradient gets too."""
    kept = format_of(input._tl_data)
    return function(input) if kept is None else in_formats(function(in_formats(input, (None, kept))), (kept, None))


@internal(own_layout=True)
def along_dims(xp: Namespace, input: Array, matrices: Matrices, formats: Formats) -> Array:
    """Return `input` with each of its last dimensions multiplied by its matrix of shape (out, in); None leaves one."""
    result = widened(input)
    first = input.ndim - len(matrices)
    for axis, matrix in enumerate(matrices, first):
        if matrix is None:
            continue
        map_ = xp.asarray(matrix, dtype=result.dtype)
        if axis == input.ndim - 1:
            result = xp.matmul(result, map_.T)
        else:
            shape = result.shape
            flat = result.reshape((*shape[: axis + 1], int(np.prod(shape[axis + 1 :]))))
            result = xp.matmul(map_, flat).reshape((*shape[:axis], map_.shape[0], *shape[axis + 1 :]))
    return _formatted(narrowed(result, input), input, formats)


def _transposed(matrices: Matrices) -> Matrices:
    return tuple(None if m is None else m.T for m in matrices)


derivatives(
    along_dims,
    input=lambda grad, matrices, formats: along_dims(grad, _transposed(matrices), _reversed(formats)),
)

apply_along_dims = undispatched(along_dims)


@internal(own_layout=True)
def take_along(
    xp: Namespace, input: Array, indices: tuple[Any, ...], sizes: tuple[int, ...], formats: Formats
) -> Array:
    """Return the elements of `input` at the indices for each of its last dimensions, of `sizes`; None takes all."""
    result = input
    for axis, index in enumerate(indices, input.ndim - len(indices)):
        if index is not None:
            result = xp.take(result, xp.asarray(index), axis=axis)
    return _formatted(result, input, formats)


@internal(own_layout=True)
def put_along(
    xp: Namespace, upstream: Array, indices: tuple[Any, ...], sizes: tuple[int, ...], formats: Formats
) -> Array:
    """Sum `upstream` at the indices for each of the last dimensions of a result of `sizes`."""
    result = upstream
    for axis, index, size in zip(range(upstream.ndim - len(indices), upstream.ndim), indices, sizes):
        if index is not None:
            moved = xp.moveaxis(result, axis, 0)
            total = xp.zeros((size, *moved.shape[1:]), result.dtype)
            scatter_add(total, xp.asarray(index), moved)
            result = xp.moveaxis(total, 0, axis)
    return _formatted(result, upstream, formats)


derivatives(
    take_along,
    input=lambda grad, indices, sizes, formats: put_along(grad, indices, sizes, _reversed(formats)),
)
derivatives(
    put_along,
    upstream=lambda grad, indices, sizes, formats: take_along(grad, indices, sizes, _reversed(formats)),
)
take = undispatched(take_along)
