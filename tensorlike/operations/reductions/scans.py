"""Running sums, products and extremes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorlike.autograd.grad_mode import grad_enabled
from tensorlike.tensor.creation.filled import arange, eye
from tensorlike.tensor.declarations.declare import derivatives, internal, primitive
from tensorlike.tensor.declarations.formulas import conj
from tensorlike.tensor.declarations.runtime import guarded
from tensorlike.tensor.dtypes import as_numpy_dtype
from tensorlike.tensor.dtypes import dtype as Dtype
from tensorlike.tensor.types import Array, Namespace, Tensor

from ..indexing.gather import place_along
from .axes import converted, is_half, one_axis, unsupported

_INT64 = np.dtype(np.int64)
_FLOAT32 = np.dtype(np.float32)


def _scanned(xp: Namespace, name: str, input: Array, dim: int | str, dtype: Dtype | None) -> Array:
    axis = one_axis(dim, input.ndim, name)
    if dtype is not None:
        wanted = as_numpy_dtype(dtype, name)
    else:
        wanted = _INT64 if input.dtype.kind in "biu" else input.dtype
    input = converted(xp, input, wanted)
    if not input.ndim:
        return input.copy()
    if is_half(wanted):
        return getattr(input.astype(_FLOAT32), name)(axis).astype(wanted)  # type: ignore[no-any-return]
    # Without a dtype NumPy sums narrow integers in wide ones.
    return getattr(input, name)(axis, wanted)  # type: ignore[no-any-return]


# ---------------------------------------------------------------------------------------------------------- sums


@primitive(inplace=True, out="dtype", linear_in=("input",), dims="along")
def cumsum(xp: Namespace, input: Array, dim: int, *, dtype: Dtype | None = None) -> Array:
    """Return the running sums along `dim`.

    Integers and booleans are summed in int64, half precision in float32; `dtype` converts the input first.

    >>> tl.cumsum(tl.tensor([1, 2, 3]), 0)
    tensor([1, 3, 6])
    """
    return _scanned(xp, "cumsum", input, dim, dtype)


@internal()
def cumsum_backwards(xp: Namespace, input: Array, dim: int) -> Array:
    """Return the running sums along `dim` from the last element to the first."""
    if not input.ndim:
        return input.copy()
    return xp.flip(_scanned(xp, "cumsum", xp.flip(input, dim), dim, None), dim)  # type: ignore[no-any-return]


derivatives(cumsum, input=lambda grad, dim: cumsum_backwards(grad, dim))
derivatives(cumsum_backwards, input=lambda grad, dim: grad.cumsum(dim))


# ------------------------------------------------------------------------------------------------------- products


@primitive(inplace=True, out="dtype", dims="along")
def cumprod(xp: Namespace, input: Array, dim: int, *, dtype: Dtype | None = None) -> Array:
    """Return the running products along `dim`.

    Integers and booleans are multiplied in int64, half precision in float32; `dtype` converts the input first.

    >>> tl.cumprod(tl.tensor([1, 2, 3]), 0)
    tensor([1, 2, 6])
    """
    return _scanned(xp, "cumprod", input, dim, dtype)


@guarded
def _cumprod_backward(grad: Tensor, input: Tensor, result: Tensor, dim: int) -> Any:
    """Return the sums over k >= j of grad_k times the product of the first k elements without the j-th.

    Without zeros that is the reversed running sum of grad * result, divided by the input. Where a line has one zero,
    only its own element needs another formula; both are identities around that point, so derivatives of any order
    follow. With more zeros the first derivative is still right, but higher ones need the products themselves, of which
    there are as many as pairs (j, k).
    """
    if not input.dim():
        return grad
    values = input._tl_data
    zeros = values == 0
    weighted = grad * conj(result)
    if not zeros.any():
        return cumsum_backwards(weighted, dim) / conj(input)
    if grad_enabled() and zeros.sum(axis=dim).max() > 1:
        return _cumprod_backward_by_pairs(grad, input, dim)
    is_zero = input == 0
    first = is_zero.logical_and(is_zero.cumsum(dim) == 1)
    elsewhere = cumsum_backwards(weighted, dim) / conj(input.masked_fill(is_zero, 1))
    at_zero = cumsum_backwards(grad * conj(input.masked_fill(first, 1).cumprod(dim)), dim)
    return at_zero.where(first, elsewhere)


def _cumprod_backward_by_pairs(grad: Tensor, input: Tensor, dim: int) -> Any:
    line = input.movedim(dim, -1)
    count = line.shape[-1]
    left_out = eye(count, dtype=input.dtype, device=input.device) != 0
    # Row j: the running products of the line whose j-th element is replaced by one.
    products = line.unsqueeze(-2).expand((*line.shape, count)).masked_fill(left_out, 1).cumprod(-1)
    number = arange(count, device=input.device)
    later = number.unsqueeze(0) >= number.unsqueeze(1)
    terms = grad.movedim(dim, -1).unsqueeze(-2) * conj(products.masked_fill(later.logical_not(), 0))
    return terms.sum(-1).movedim(-1, dim)


derivatives(
    cumprod,
    input=lambda grad, input, result, dim: _cumprod_backward(grad, input, result, dim),
)


# ------------------------------------------------------------------------------------------------------- extremes


def _running(xp: Namespace, ufunc: Any, function: str, input: Array, dim: int) -> tuple[Any, Any]:
    if input.dtype.kind == "c":
        unsupported(function, input.dtype)
    axis = one_axis(dim, input.ndim, function)
    if not input.ndim:
        return input.copy(), xp.zeros((), _INT64)
    values = ufunc.accumulate(input, axis)
    # The last index where the running extreme was reached: every NaN counts, elements after one do not.
    reached = (input == values) | (input != input) if input.dtype.kind not in "biu" else input == values
    places = xp.arange(input.shape[axis], dtype=_INT64).reshape([-1 if d == axis else 1 for d in range(input.ndim)])
    return values, xp.maximum.accumulate(xp.where(reached, places, xp.zeros((), _INT64)), axis)


@primitive(outputs=("values", "indices"), out=True, dims="along")
def cummax(xp: Namespace, input: Array, dim: int) -> tuple[Array, Array]:
    """Return the running maxima along `dim` and their indices, the last of equal ones; NaN counts as the largest.

    >>> tl.cummax(tl.tensor([1, 3, 2, 3]), 0)
    tensorlike.return_types.cummax(
    values=tensor([1, 3, 3, 3]),
    indices=tensor([0, 1, 1, 3]))
    """
    return _running(xp, xp.maximum, "cummax", input, dim)


@primitive(outputs=("values", "indices"), out=True, dims="along")
def cummin(xp: Namespace, input: Array, dim: int) -> tuple[Array, Array]:
    """Return the running minima along `dim` and their indices, the last of equal ones; NaN counts as the smallest.

    >>> tl.cummin(tl.tensor([3, 1, 2, 1]), 0)
    tensorlike.return_types.cummin(
    values=tensor([3, 1, 1, 1]),
    indices=tensor([0, 1, 1, 3]))
    """
    return _running(xp, xp.minimum, "cummin", input, dim)


for _extreme in (cummax, cummin):
    derivatives(
        _extreme,
        input=lambda grad, input_shape, indices, dim: place_along(
            grad, indices, dim % max(len(input_shape), 1), input_shape[dim] if input_shape else 1, True
        ),
    )


# ---------------------------------------------------------------------------------------------------- exponentials


def _complex_logaddexp(xp: Namespace, a: Array, b: Array) -> Array:
    """Return log(exp(a) + exp(b)) on the branch of the larger one."""
    larger, smaller = xp.where(a.real >= b.real, a, b), xp.where(a.real >= b.real, b, a)
    # Where both are -inf, or one is +inf, the difference is NaN; the result is the larger one.
    finite = xp.isfinite(larger.real) & (smaller.real != -np.inf)
    tail = xp.log1p(xp.exp(xp.where(finite, smaller - larger, 0)))
    return larger + xp.where(finite, tail, 0)


@primitive(out=True, dims="along")
def logcumsumexp(xp: Namespace, input: Array, dim: int) -> Array:
    """Return the logarithms of the running sums of exponentials along `dim`, computed without overflow.

    >>> tl.logcumsumexp(tl.tensor([0.0, 0.0, 1000.0]), 0)
    tensor([0.0000e+00, 6.9315e-01, 1.0000e+03])
    """
    axis = one_axis(dim, input.ndim, "logcumsumexp")
    if input.dtype.kind in "biu":
        unsupported("logcumsumexp", input.dtype)
    if not input.ndim or not input.size:
        return input.copy()
    if is_half(input.dtype):
        return xp.logaddexp.accumulate(input.astype(_FLOAT32), axis).astype(input.dtype)  # type: ignore[no-any-return]
    if input.dtype.kind == "f":
        return xp.logaddexp.accumulate(input, axis)  # type: ignore[no-any-return]
    result = xp.moveaxis(input, axis, 0).copy()
    step = 1
    # Each round combines sums twice as far apart: log2(n) calls instead of n.
    while step < result.shape[0]:
        result[step:] = _complex_logaddexp(xp, result[step:], result[:-step].copy())
        step *= 2
    return xp.moveaxis(result, 0, axis)


def _logcumsumexp_backward(grad: Tensor, input: Tensor, result: Tensor, dim: int) -> Tensor:
    """Return exp(input) times the reversed running sum of grad * exp(-result), by logarithms, without overflow."""

    def part(logarithm: Tensor) -> Tensor:
        return ((logarithm - result).flip(dim).logcumsumexp(dim).flip(dim) + input).exp()

    if not input.dim():
        return grad
    if input._tl_data.dtype.kind == "c":
        return part(grad.conj().log()).conj()
    # The logarithm of 0 is the lowest finite number here: -inf would give NaN in the next derivative. NaN stays NaN.
    dtype = grad._tl_data.dtype
    lowest = float(np.finfo(dtype).min) if dtype.kind == "f" else -3e38
    no_part, no_counterpart = grad <= 0, grad >= 0
    above = grad.masked_fill(no_part, 1).log().masked_fill(no_part, lowest)
    below = (-grad).masked_fill(no_counterpart, 1).log().masked_fill(no_counterpart, lowest)
    return part(above) - part(below)


derivatives(
    logcumsumexp,
    input=lambda grad, input, result, dim: _logcumsumexp_backward(grad, input, result, dim),
)
