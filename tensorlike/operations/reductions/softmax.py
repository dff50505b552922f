"""Softmax and its relatives: softmax, log_softmax, logsumexp."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorlike.tensor.backends import namespace_of
from tensorlike.tensor.declarations.declare import derivatives, primitive, raw_derivatives
from tensorlike.tensor.declarations.formulas import conj
from tensorlike.tensor.dtypes import as_numpy_dtype, default_float
from tensorlike.tensor.dtypes import dtype as Dtype
from tensorlike.tensor.types import Array, Namespace, Tensor

from .axes import converted, is_half, one_axis, reduced_axes, restored, unsupported
from .row_kernels import rows_of_last, softmax_rows, softmax_rows_grad

_FLOAT32 = np.dtype(np.float32)


@primitive(out="cast", dims="reduced")
def logsumexp(xp: Namespace, input: Array, dim: int | Sequence[int], keepdim: bool = False) -> Array:
    """Return the logarithm of the sum of exponentials over the dimensions `dim`, computed without overflow.

    Integers are converted to the default floating-point dtype.

    >>> tl.logsumexp(tl.tensor([100.0, 100.0]), dim=0)
    tensor(100.6931)
    """
    wanted = default_float() if input.dtype.kind in "biu" else input.dtype
    array = converted(xp, input, _FLOAT32 if is_half(wanted) else wanted)
    axes = reduced_axes(dim, input.ndim, "logsumexp")
    if not array.size:
        return converted(xp, xp.asarray(xp.log(xp.add.reduce(array, axes, None, None, keepdim))), wanted)
    greatest = xp.asarray(xp.maximum.reduce(array.real, axes, None, None, True))
    greatest = xp.where(xp.isinf(greatest), xp.zeros((), greatest.dtype), greatest)
    result = xp.log(xp.add.reduce(xp.exp(array - greatest), axes, None, None, True)) + greatest
    if not keepdim:
        result = result.reshape([n for d, n in enumerate(array.shape) if axes is not None and d not in axes])
    return converted(xp, xp.asarray(result), wanted)


derivatives(
    logsumexp,
    input=lambda grad, input, result, dim, keepdim: (
        restored(grad, tuple(input.shape), dim, keepdim)
        * conj((input - restored(result, tuple(input.shape), dim, keepdim)).exp())
    ),
)


def _shifted(xp: Namespace, function: str, input: Array, dim: int, dtype: Dtype | None) -> tuple[Any, Any, Any]:
    """Return the input minus its maximum along `dim`, the axis, and the dtype of the result."""
    axis = dim if type(dim) is int and -input.ndim <= dim < input.ndim else one_axis(dim, input.ndim, function)
    wanted = input.dtype if dtype is None else as_numpy_dtype(dtype, function)
    if wanted.kind in "biuc":
        unsupported(function, wanted)
    array = converted(xp, input, _FLOAT32 if is_half(wanted) else wanted)
    if not array.ndim:
        return array - array, 0, wanted
    if not array.size:
        return array, axis, wanted
    return array - xp.maximum.reduce(array, axis, None, None, True), axis, wanted


@primitive(out=True, dims="along")
def softmax(xp: Namespace, input: Array, dim: int, dtype: Dtype | None = None) -> Array:
    """Return the softmax along `dim`: exponentials divided by their sum.

    `dtype` converts the input first; without it integers are refused with a NotImplementedError.

    >>> tl.softmax(tl.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    rows = rows_of_last(input) if dtype is None and type(dim) is int and dim in (-1, input.ndim - 1) else None
    if rows is not None:
        return softmax_rows(rows).reshape(input.shape)
    shifted, axis, wanted = _shifted(xp, "softmax", input, dim, dtype)
    result = xp.asarray(xp.exp(shifted))
    if result.ndim:
        result /= xp.add.reduce(result, axis, None, None, True)
    return converted(xp, result, wanted)


def _softmax_backward(grad: Tensor, result: Tensor, dim: int) -> Tensor:
    weighted = grad * result
    return weighted - result * weighted.sum(dim, True)


def _raw_softmax_backward(grad: Array, result: Array, dim: int) -> Any:
    if dim in (-1, result.ndim - 1) and grad.dtype is result.dtype:
        upstream, rows = rows_of_last(grad), rows_of_last(result)
        if upstream is not None and rows is not None:
            return softmax_rows_grad(upstream, rows).reshape(result.shape)
    weighted = grad * result
    if not weighted.ndim:
        return weighted - result * weighted
    xp = namespace_of(weighted)
    total = xp.add.reduce(weighted, dim, _FLOAT32 if is_half(weighted.dtype) else None, None, True)
    weighted -= result * converted(xp, total, weighted.dtype)
    return weighted


derivatives(softmax, input=lambda grad, result, dim: _softmax_backward(grad, result, dim))
raw_derivatives(softmax, input=lambda grad, result, dim: _raw_softmax_backward(grad, result, dim))


@primitive(out=True, dims="along")
def log_softmax(xp: Namespace, input: Array, dim: int, dtype: Dtype | None = None) -> Array:
    """Return the logarithm of `softmax` along `dim`, computed without overflow.

    `dtype` converts the input first; without it integers are refused with a NotImplementedError.

    >>> tl.log_softmax(tl.tensor([0.0, 0.0]), dim=0)
    tensor([-0.6931, -0.6931])
    """
    shifted, axis, wanted = _shifted(xp, "log_softmax", input, dim, dtype)
    if shifted.ndim:
        shifted = shifted - xp.log(xp.add.reduce(xp.exp(shifted), axis, None, None, True))
    return converted(xp, xp.asarray(shifted), wanted)


derivatives(
    log_softmax,
    input=lambda grad, result, dim: grad - result.exp() * grad.sum(dim, True),
)
