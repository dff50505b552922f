"""Composed products: Kronecker and cross products, chains and powers of matrices, distances."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorlike.dispatch.registry import REGISTRY
from tensorlike.operations.linalg.matmul import c_name, check_products
from tensorlike.operations.linalg.matrix_kernels import wide_product
from tensorlike.tensor.declarations.declare import composite, derivatives, primitive
from tensorlike.tensor.declarations.formulas import conj
from tensorlike.tensor.declarations.runtime import broadcast_error, dtype_name, promote_arithmetic, write_out
from tensorlike.tensor.dims import one_dim
from tensorlike.tensor.types import Array, Namespace, Tensor

from ..shared import require_tensor

# --------------------------------------------------------------------------------------------------------------- kron


def _interleaved(shape: tuple[int, ...], other: tuple[int, ...], *, first: bool) -> list[int]:
    """Return the shape in which the first or the second factor of a Kronecker product broadcasts."""
    width = max(len(shape), len(other))
    own = (1,) * (width - len(shape)) + tuple(shape)
    return [n for size in own for n in ((size, 1) if first else (1, size))]


@primitive(out="cast")
def kron(xp: Namespace, input: Array, other: Array) -> Array:
    """Return the Kronecker product: each element of `input` replaced by its product with all of `other`.

    A tensor with fewer dimensions gets leading ones. Each size of the result is the product of the two sizes.

    >>> tl.kron(tl.tensor([1, 10]), tl.tensor([1, 2]))
    tensor([ 1,  2, 10, 20])
    """
    left = input.reshape(_interleaved(input.shape, other.shape, first=True))
    right = other.reshape(_interleaved(other.shape, input.shape, first=False))
    # In these shapes both factors have dimensions, so that a zero-dimensional one counts fully in promotion.
    result = xp.multiply(*promote_arithmetic("kron", xp, (left, right)))
    sizes = result.shape
    return result.reshape([n * m for n, m in zip(sizes[::2], sizes[1::2])])  # type: ignore[no-any-return]


def _kron_gradient(grad: Tensor, other: Tensor, shape: tuple[int, ...], *, first: bool) -> Any:
    """Return the gradient of one factor, the other being `other`."""
    mine = _interleaved(tuple(shape), tuple(other.shape), first=first)
    theirs = _interleaved(tuple(other.shape), tuple(shape), first=not first)
    if not mine:
        return grad * conj(other)
    apart = grad.reshape([n * m for n, m in zip(mine, theirs)])
    products = apart * conj(other).reshape(theirs)
    return products.sum(dim=list(range(1 if first else 0, len(mine), 2))).reshape(tuple(shape))


derivatives(
    kron,
    input=lambda grad, other, input_shape: _kron_gradient(grad, other, input_shape, first=True),
    other=lambda grad, input, other_shape: _kron_gradient(grad, input, other_shape, first=False),
)


# ------------------------------------------------------------------------------------------------------- chains, powers


def _best_splits(sizes: list[int]) -> list[list[int]]:
    """Return the split of each subchain of a chain of matrices that needs the fewest multiplications.

    Of equal ones it is the first, as in PyTorch; of three matrices the last. Infinities show the difference.
    """
    count = len(sizes) - 1
    cost = [[0] * count for _ in range(count)]
    split = [[0] * count for _ in range(count)]
    for length in range(1, count):
        for start in range(count - length):
            end = start + length
            places = range(start, end) if count != 3 else range(end - 1, start - 1, -1)
            costs = [cost[start][a] + cost[a + 1][end] + sizes[start] * sizes[a + 1] * sizes[end + 1] for a in places]
            cost[start][end] = min(costs)
            split[start][end] = places[costs.index(min(costs))]
    return split


def _product_of(matrices: Sequence[Any], split: list[list[int]], start: int, end: int) -> Any:
    """Return the product of a subchain of matrices."""
    if start == end:
        return matrices[start]
    at = split[start][end]
    return _product_of(matrices, split, start, at).mm(_product_of(matrices, split, at + 1, end))


@composite
def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """Return the product of two or more matrices (one is returned itself), in the cheapest order.

    Raises RuntimeError unless they are matrices of one dtype and matching sizes.

    >>> tl.chain_matmul(tl.ones(2, 3), tl.ones(3, 4), tl.ones(4, 1))
    tensor([[12.],
            [12.]])

    Same as PyTorch's function of that name, without its warning to use `linalg.multi_dot` instead.
    """
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    for index, matrix in enumerate(matrices):
        require_tensor("chain_matmul", matrix, "matrices", index + 1)
        if matrix._tl_data.ndim != 2:
            raise RuntimeError(
                f"chain_matmul(): Tensor dimension is {matrix._tl_data.ndim}, expected 2 instead: tensor {index}"
            )
        before = matrices[index - 1] if index else matrix
        if index and before._tl_data.shape[1] != matrix._tl_data.shape[0]:
            raise RuntimeError(
                f"chain_matmul(): multi_dot(): tensors {index - 1} and {index} with shapes "
                f"{list(before._tl_data.shape)} and {list(matrix._tl_data.shape)} cannot be multiplied"
            )
        if matrix._tl_data.dtype != matrices[0]._tl_data.dtype:
            raise RuntimeError(
                "chain_matmul(): multi_dot(): all tensors must have be the same dtype but tensor 0 is "
                f"{c_name(matrices[0]._tl_data.dtype)} and tensor {index} {c_name(matrix._tl_data.dtype)}"
            )
    sizes = [matrices[0]._tl_data.shape[0], *(m._tl_data.shape[1] for m in matrices)]
    result = _product_of(matrices, _best_splits(sizes), 0, len(matrices) - 1)
    return result if out is None else write_out("chain_matmul", out, result._tl_data, *matrices, rule="exact")


@composite(method=True)
def matrix_power(input: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
    """Return the matrix, or each matrix of a batch, multiplied `n` times by itself.

    The power 0 is the identity, a negative one that of the inverse. Raises RuntimeError for matrices that are not
    square, and for an inverse that does not exist.

    >>> tl.matrix_power(tl.tensor([[1, 1], [0, 1]]), 5)
    tensor([[1, 5],
            [0, 1]])
    """
    try:
        exponent = operator.index(n)
    except TypeError:
        raise TypeError(
            f"matrix_power(): argument 'n' (position 2) must be int, not {type(n).__name__}: got {n!r}"
        ) from None
    shape = input._tl_data.shape
    if len(shape) < 2:
        raise RuntimeError("matrix_power(): linalg.matrix_power: The input tensor A must have at least 2 dimensions.")
    if shape[-1] != shape[-2]:
        raise RuntimeError(
            "matrix_power(): linalg.matrix_power: A must be batches of square matrices, but they are "
            f"{shape[-2]} by {shape[-1]} matrices"
        )
    result = _power(input, exponent)
    return result if out is None else write_out("matrix_power", out, result._tl_data, input, rule="exact")


def _power(matrix: Tensor, exponent: int) -> Any:
    if exponent == 0:
        size = matrix.shape[-1]
        identity = matrix.new_zeros(matrix.shape)
        # Written to the array, unrecorded: the identity does not depend on the matrix.
        places = range(size)
        identity._tl_data[..., places, places] = 1
        # It requires grad as every other power does; the gradient is zero.
        return matrix.masked_fill(identity == identity, 0) + identity
    if exponent < 0:
        matrix, exponent = REGISTRY["tensorlike.linalg.inv"].function(matrix), -exponent
    if exponent == 1:
        return matrix.clone()
    result = None
    while exponent:
        if exponent & 1:
            result = matrix if result is None else result.matmul(matrix)
        exponent >>= 1
        if exponent:
            matrix = matrix.matmul(matrix)
    return result


# -------------------------------------------------------------------------------------------------------------- cross


def _cross_dim(input: Array, dim: int | None) -> int:
    if dim is not None:
        return one_dim(dim, input.ndim)
    for index, size in enumerate(input.shape):
        if size == 3:
            return index
    raise RuntimeError(f"cross(): no dimension of size 3 in input of shape {list(input.shape)}")


@primitive(out=True)
def cross(xp: Namespace, input: Array, other: Array, dim: int | None = None) -> Array:
    """Return the cross products of vectors of three elements along dimension `dim`, by default the first of size 3.

    The other dimensions broadcast. Raises RuntimeError for vectors of another size, for different numbers of dimensions
    and for different dtypes.

    >>> tl.cross(tl.tensor([1, 0, 0]), tl.tensor([0, 1, 0]), dim=0)
    tensor([0, 0, 1])

    Same as PyTorch's function of that name, without its warning when `dim` is left out.
    """
    if input.ndim != other.ndim:
        raise RuntimeError(
            f"cross(): linalg.cross: inputs must have the same number of dimensions, got {input.ndim} and {other.ndim}."
        )
    axis = _cross_dim(input, dim)
    if input.shape[axis] != 3 or other.shape[axis] != 3:
        raise RuntimeError(
            f"cross(): linalg.cross: inputs dimension {axis} must have length 3. Got {input.shape[axis]} and "
            f"{other.shape[axis]}"
        )
    check_products("cross", input, other, "scalars")
    try:
        shape = np.broadcast_shapes(input.shape, other.shape)
    except ValueError as error:
        raise broadcast_error("cross", error, (input, other)) from None
    result = xp.empty(shape, input.dtype)
    a, b, c = (xp.moveaxis(array, axis, 0) for array in (input, other, result))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        c[i] = a[j] * b[k] - a[k] * b[j]
    return result


def _cross_gradient(first: Tensor, second: Tensor, shape: tuple[int, ...], dim: int | None) -> Any:
    return first.cross(second, dim=_cross_dim_of(shape, dim))


def _cross_dim_of(shape: tuple[int, ...], dim: int | None) -> int:
    return next(i for i, n in enumerate(shape) if n == 3) if dim is None else int(dim)


derivatives(
    cross,
    input=lambda grad, other, input_shape, dim: _cross_gradient(conj(other), grad, input_shape, dim),
    other=lambda grad, input, input_shape, dim: _cross_gradient(grad, conj(input), input_shape, dim),
)


# -------------------------------------------------------------------------------------------------------------- cdist

_COMPUTE_MODES = (
    "use_mm_for_euclid_dist_if_necessary",
    "use_mm_for_euclid_dist",
    "donot_use_mm_for_euclid_dist",
)


def _check_cdist(x1: Array, x2: Array, p: float, compute_mode: str) -> None:
    if compute_mode not in _COMPUTE_MODES:
        raise ValueError(
            f"cdist(): {compute_mode} is not a valid value for compute_mode, use one of {', '.join(_COMPUTE_MODES)}"
        )
    for array, name in ((x1, "X1"), (x2, "X2")):
        if array.dtype.kind not in "fV":
            raise RuntimeError(
                f"cdist(): cdist only supports floating-point dtypes, {name} got: {dtype_name(array.dtype)}"
            )
        if array.ndim < 2:
            raise RuntimeError(f"cdist(): cdist only supports at least 2D tensors, {name} got: {array.ndim}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(
            f"cdist(): X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}"
        )
    check_products("cdist", x1, x2, "scalars")
    if not p >= 0:
        raise RuntimeError(f"cdist(): cdist only supports non-negative p values, got {p}")


@primitive(method=False)
def cdist(
    xp: Namespace, x1: Array, x2: Array, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary"
) -> Array:  # fmt: skip
    """Return the distances in the p-norm between each row of `x1` and each row of `x2`.

    Shapes are (..., n, m) and (..., k, m), of which the leading dimensions broadcast, and the result is (..., n, k).
    Euclidean distances come from one product of matrices when there are more than 25 rows, unless `compute_mode` says
    otherwise; that is faster and less exact. Raises RuntimeError for shapes that do not match and for a negative `p`.

    >>> tl.cdist(tl.tensor([[0.0, 0.0]]), tl.tensor([[3.0, 4.0], [0.0, 1.0]]))
    tensor([[5., 1.]])
    """
    _check_cdist(x1, x2, p, compute_mode)
    many = x1.shape[-2] > 25 or x2.shape[-2] > 25
    if p == 2 and (compute_mode == _COMPUTE_MODES[1] or (compute_mode == _COMPUTE_MODES[0] and many)):
        squares = xp.sum(x1 * x1, axis=-1)[..., :, None] + xp.sum(x2 * x2, axis=-1)[..., None, :]
        squares = squares - 2 * wide_product(xp, x1, xp.swapaxes(x2, -1, -2))
        return xp.sqrt(xp.maximum(squares, 0)).astype(x1.dtype)
    apart = xp.abs(x1[..., :, None, :] - x2[..., None, :, :])
    if p == 0:
        return xp.sum(apart != 0, axis=-1).astype(x1.dtype)  # type: ignore[no-any-return]
    if p == 1:
        return xp.sum(apart, axis=-1)  # type: ignore[no-any-return]
    if math.isinf(p):
        return xp.max(apart, axis=-1, initial=0)  # type: ignore[no-any-return]
    if p == 2:
        return xp.sqrt(xp.sum(apart * apart, axis=-1))
    return xp.sum(apart**p, axis=-1) ** (1 / p)  # type: ignore[no-any-return]


def _cdist_gradient(grad: Tensor, result: Tensor, x1: Tensor, x2: Tensor, p: float) -> Tensor:
    """Return the gradient of each difference between a row of `x1` and one of `x2`; where the two agree, zero."""
    apart = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    grad, result = grad.unsqueeze(-1), result.unsqueeze(-1)
    if p == 0:
        return apart * 0
    if p == 1:
        return grad * apart.sign()
    if math.isinf(p):
        return grad * apart.sign() * (apart.abs() == result).to(apart.dtype)
    same = result == 0
    safe = result.masked_fill(same, 1)
    if p == 2:
        return grad * (apart / safe).masked_fill(same, 0)
    at_zero = apart == 0
    size = apart.abs().masked_fill(at_zero, 1)
    return grad * (apart.sign() * (size / safe) ** (p - 1)).masked_fill(at_zero, 0)


derivatives(
    cdist,
    x1=lambda grad, result, x1, x2, p: _cdist_gradient(grad, result, x1, x2, p).sum(-2),
    x2=lambda grad, result, x1, x2, p: -_cdist_gradient(grad, result, x1, x2, p).sum(-3),
)
