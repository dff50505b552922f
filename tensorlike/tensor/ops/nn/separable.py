"""Separable linear maps, one matrix for each dimension, for adaptive averages and interpolation."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorlike.tensor.declare import derivatives, internal, undispatched
from tensorlike.tensor.types import Tensor

from .declaring import narrowed, widened

Matrices = tuple[Any, ...]


@internal()
def along_dims(xp: Any, input: Tensor, matrices: Matrices) -> Tensor:
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
    return narrowed(result.copy() if result is input else result, input)


def _transposed(matrices: Matrices) -> Matrices:
    return tuple(None if m is None else m.T for m in matrices)


derivatives(along_dims, input=lambda grad, matrices: along_dims(grad, _transposed(matrices)))

apply_along_dims = undispatched(along_dims)
