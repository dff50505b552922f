"""Kernels on the rows of contiguous matrices, for sums, softmax and normalizations along the last dimension.

# Note [Rows]
NumPy reduces and broadcasts row by row, at 50 to 170 ns a row before it computes anything. For the usual rows of 10 to
1000 elements other ways are faster (times for 2048 rows of 64, float32): a product with a vector of ones is the sum of
each row (18 us for 105) or column (17 for 80); where the maximum of each row (347) is subtracted for safety, the
maximum of all (12) often suffices; an operand of one number for each row costs less in place (70 for 105). Large
matrices are worked on in blocks that stay in the cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorlike.tensor.declarations.threads import in_parts
from tensorlike.tensor.types import Array

#: The longest sum done here; longer ones are left to NumPy, which adds pairwise.
_LONGEST = 4096
_ONES = {char: np.ones(_LONGEST, char) for char in "fd"}
#: The least elements whose rows or columns are added so.
_LEAST = 256
#: Elements of a block: 256 KB of float32.
_BLOCK = 1 << 16
_SMALL = 1024
#: Exponentials of numbers up to this size are far from the limits of the dtype, and so are sums of millions of them.
_SAFE = {"f": 60.0, "d": 600.0}


def rows_of_last(array: Array | None) -> Array | None:
    """Return an array as a matrix of the rows along its last dimension, or None where it has gaps or another dtype."""
    if type(array) is not np.ndarray or array.dtype.char not in "fd" or not array.size or not array.ndim:
        return None
    if not array.flags.c_contiguous or array.shape[-1] > _LONGEST:
        return None
    return array.reshape(-1, array.shape[-1])


def row_sums(matrix: Array) -> Any:
    """Return the sum of each row."""
    return matrix.dot(_ONES[matrix.dtype.char][: matrix.shape[1]])


def column_sums(matrix: Array) -> Any:
    """Return the sum of each column."""
    return _ONES[matrix.dtype.char][: matrix.shape[0]].dot(matrix)


def summed(array: Array, axes: Any) -> Any:
    """Return the sum over the first dimensions, the last ones, or all; None where NumPy's own sum is as fast.

    `axes` are numbers from 0 on, None for all.
    """
    if type(array) is not np.ndarray or array.dtype.char not in "fd" or not array.flags.c_contiguous:
        return None
    if axes is None or len(axes) == array.ndim:
        if array.size < _BLOCK:
            return None
        # Rows of 1024, whose sums NumPy adds pairwise: half the time of a pairwise sum of everything.
        flat = array.reshape(-1)
        whole = flat.size & -1024
        rows = flat[:whole].reshape(-1, 1024)
        sums = np.empty(len(rows), array.dtype)
        ones = _ONES[array.dtype.char][:1024]
        in_parts(lambda start, stop: rows[start:stop].dot(ones, sums[start:stop]), len(rows), whole)
        total = sums.sum()
        return total + flat[whole:].sum() if whole < flat.size else total
    if array.size < _LEAST or not axes:
        return None
    axes = sorted(axes)
    count = len(axes)
    shape = array.shape
    if axes[-1] == count - 1:  # The first ones.
        lead = array.size // max(_size(shape[count:]), 1)
        if 0 < lead <= _LONGEST:
            return column_sums(array.reshape(lead, -1)).reshape(shape[count:])
    elif axes[0] == array.ndim - count and axes[-1] == array.ndim - 1:  # The last ones.
        width = _size(shape[array.ndim - count :])
        if 0 < width <= _LONGEST:
            return row_sums(array.reshape(-1, width)).reshape(shape[: array.ndim - count])
    return None


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for n in shape:
        size *= n
    return size


def _blocks(*matrices: Array) -> Iterator[Any]:
    rows, width = matrices[0].shape
    step = max(1, _BLOCK // width)
    if step >= rows:
        yield matrices
        return
    for start in range(0, rows, step):
        yield tuple(m[start : start + step] for m in matrices)


def softmax_rows(matrix: Array) -> Array:
    """Return the softmax of each row of a matrix."""
    if matrix.size <= _SMALL:
        return _softmax_block(matrix)
    result = np.empty_like(matrix)
    in_parts(lambda start, stop: _softmax(matrix[start:stop], result[start:stop]), len(matrix), matrix.size)
    return result


def _softmax(matrix: Array, result: Array) -> None:
    for block, out in _blocks(matrix, result):
        _softmax_block(block, out)


def _softmax_block(block: Array, out: Any = None) -> Array:
    safe = _SAFE[block.dtype.char]
    if block.size <= _SMALL and (flat := block.reshape(-1)).dot(flat) < safe * safe:
        # No element is beyond `safe` where the squares sum to less: a quarter of the time of the least and greatest.
        out = np.exp(block, out)
    else:
        greatest, least = block.max(), block.min()
        if -safe < least and greatest < safe:
            out = np.exp(block, out)
        else:
            # Also where there are infinities or NaNs.
            near = greatest - least < safe
            out = np.subtract(block, greatest if near else block.max(1, keepdims=True), out)
            np.exp(out, out)
    out /= row_sums(out)[:, None]
    return out  # type: ignore[no-any-return]


def softmax_rows_grad(grad: Array, result: Array) -> Array:
    """Return the gradient of the input of `softmax_rows`."""
    gradient = np.empty_like(result)

    def part(start: int, stop: int) -> None:
        for upstream, weights, out in _blocks(grad[start:stop], result[start:stop], gradient[start:stop]):
            # (g - sum of g * s along the row) * s
            np.subtract(upstream, np.einsum("ij,ij->i", upstream, weights)[:, None], out)
            out *= weights

    in_parts(part, len(result), result.size)
    return gradient
