"""Norms, and sums of exponentials: logsumexp, softmax."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorlike.tensor.backends import namespace_of
from tensorlike.tensor.declare import DECLARATIONS, composite, derivatives, primitive, raw_derivatives
from tensorlike.tensor.dtypes import as_numpy_dtype, default_float
from tensorlike.tensor.dtypes import dtype as Dtype
from tensorlike.tensor.fast_paths import SOFTMAX
from tensorlike.tensor.formulas import conj
from tensorlike.tensor.promotion import promote_types
from tensorlike.tensor.reduced import converted, is_half, one_axis, reduced_axes, restored, unsupported
from tensorlike.tensor.runtime import dtype_name, write_out
from tensorlike.tensor.types import Number, Tensor

from ..indexing.selection import kernel_of
from .minmax import ties
from .row_kernels import rows_of_last, softmax_rows, softmax_rows_grad

__all__ = ["log_softmax", "logsumexp", "norm", "softmax", "vector_norm"]

_FLOAT32 = np.dtype(np.float32)

# --------------------------------------------------------------------------------------------------------- norms


def _norm_dtype(function: str, dtype: Any, wanted: Any) -> Any:
    if dtype.kind in "biu":
        raise RuntimeError(
            f"{function}(): Expected a floating point or complex tensor as input. Got {dtype_name(dtype)}; convert it "
            "first, e.g. with .to(tensorlike.float32)"
        )
    if wanted is None:
        return dtype
    target = as_numpy_dtype(wanted, function)
    if target.kind in "biu" or (target.kind == "c") != (dtype.kind == "c"):
        kind = "complex for complex" if dtype.kind == "c" else "real for real"
        raise RuntimeError(f"{function}(): dtype should be {kind} inputs, but got {dtype_name(target)}")
    if promote_types(dtype, target) != target:
        raise RuntimeError(
            f"{function}(): the dtype of the input ({dtype_name(dtype)}) should be convertible without narrowing to "
            f"the specified dtype ({dtype_name(target)})"
        )
    return target


@primitive(name="linalg_vector_norm", namespace="tensorlike._internal", method=False)
def vector_norm(
    xp: Any,
    input: Tensor,
    ord: Number = 2,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: Dtype | None = None,
) -> Tensor:
    """Return the norm of the vectors that lie along the dimensions `dim`: the `ord`-th root of the sum of powers."""
    wanted = _norm_dtype("linalg.vector_norm", input.dtype, dtype)
    axes = reduced_axes(dim, input.ndim, "norm")
    if isinstance(ord, complex):
        raise RuntimeError(f"linalg.vector_norm(): Expected a non-complex scalar as the order of norm, got {ord}")
    if ord < 0 or ord == math.inf:
        empty = [d for d in (range(input.ndim) if axes is None else axes) if input.shape[d] == 0]
        if empty:
            where = "an empty tensor" if axes is None else f"the dimension {empty[0]} because this dimension is empty"
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {ord} norm on {where}: the operation does not have an identity"
            )
    array = converted(xp, input, wanted)
    final = np.dtype(np.float32 if wanted.itemsize == 8 else np.float64) if wanted.kind == "c" else wanted
    if is_half(wanted):
        array = array.astype(_FLOAT32)
    if ord == 2:
        if axes is None and not keepdim:
            flat = array.reshape(-1)
            return converted(xp, xp.asarray(xp.sqrt(xp.vdot(flat, flat).real)), final)
        square = array.real**2 + array.imag**2 if array.dtype.kind == "c" else array * array
        result = xp.sqrt(xp.add.reduce(square, axes, None, None, keepdim))
    else:
        size = xp.abs(array)
        if ord == math.inf:
            result = xp.maximum.reduce(size, axes, None, None, keepdim)
        elif ord == -math.inf:
            result = xp.minimum.reduce(size, axes, None, None, keepdim)
        elif ord == 0:
            result = xp.add.reduce((size != 0).astype(size.dtype), axes, None, None, keepdim)
        elif ord == 1:
            result = xp.add.reduce(size, axes, None, None, keepdim)
        else:
            result = xp.add.reduce(size**ord, axes, None, None, keepdim) ** (1.0 / ord)
    return converted(xp, xp.asarray(result), final)


def _vector_norm_backward(grad: Any, input: Any, result: Any, ord: float, dim: Any, keepdim: bool) -> Any:
    """Return grad * |x|^(ord-1) * sign(x) / norm^(ord-1); at zero, the zero among the subgradients."""
    shape = tuple(input.shape)
    grad, norm = restored(grad, shape, dim, keepdim), restored(result, shape, dim, keepdim)
    if ord == 0:
        return grad._tl_zeros(shape, input._tl_data.dtype)
    if ord == 1:
        return input.sgn() * grad
    if ord == 2:
        return input * _where_not_zero(grad, norm, norm)
    size = input.abs()
    if math.isinf(ord):
        mask = ties(size, norm)
        return input.sgn() * (mask * (grad / mask.sum(dim, keepdim=True) if shape else grad))
    # A power below zero has no value at zero, and no derivative; what is multiplied there is zero.
    safe = size.masked_fill(size == 0, 1)
    if ord < 1:
        powers = (input.sgn() * safe.pow(ord - 1)).masked_fill(size == 0, 0)
        return powers * (grad * norm.masked_fill(norm == 0, 1).pow(1 - ord)).masked_fill(norm == 0, 0)
    scale = _where_not_zero(grad, norm.masked_fill(norm == 0, 1).pow(ord - 1), norm)
    if ord < 2:
        return input.sgn() * safe.pow(ord - 1) * scale
    return input * size.pow(ord - 2) * scale


def _where_not_zero(grad: Any, divisor: Any, norm: Any) -> Any:
    """Return `grad / divisor`, and zero with zero derivatives where the norm is zero."""
    is_zero = norm == 0
    return (grad / divisor.masked_fill(is_zero, 1)).masked_fill(is_zero, 0)


derivatives(
    vector_norm,
    input=lambda grad, input, result, ord, dim, keepdim: _vector_norm_backward(grad, input, result, ord, dim, keepdim),
)


_vector_norm = kernel_of(vector_norm)


@composite(method=True)
def norm(
    input: Tensor,
    p: Number | str | None = "fro",
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    out: Tensor | None = None,
    dtype: Dtype | None = None,
) -> Tensor:
    """Return the vector norm of order `p` over the dimensions `dim`, or over all.

    "fro" is the same as 2; "nuc" is the sum of the singular values of the matrices along two dimensions. Raises
    RuntimeError for integers and for other strings. Composes the vector norm, and `linalg.svdvals` for "nuc".

    >>> import tensorlike as tl
    >>> tl.norm(tl.tensor([[3.0, 4.0], [6.0, 8.0]]), dim=1)
    tensor([ 5., 10.])

    Same as PyTorch's function of that name.
    """
    if p == "nuc":
        result = _nuclear(input if dtype is None else input.to(dtype), dim, keepdim)
    elif isinstance(p, str) and p != "fro":
        raise RuntimeError(f"norm(): linalg.matrix_norm: Order {p} not supported; use a number, 'fro' or 'nuc'")
    else:
        result = _vector_norm(input, 2 if p is None or p == "fro" else p, dim, keepdim, dtype=dtype)
    return result if out is None else write_out("norm", out, result._tl_data, input, rule="exact")


def _nuclear(input: Any, dim: Any, keepdim: bool) -> Any:
    ndim = input.dim()
    if ndim < 2:
        raise RuntimeError(
            f"norm(): linalg.matrix_norm: The input tensor A must have at least 2 dimensions, not {ndim}"
        )
    axes = (ndim - 2, ndim - 1) if dim is None else reduced_axes(dim, ndim, "norm")
    if axes is None or len(axes) != 2:
        raise RuntimeError(f"norm(): linalg.matrix_norm: dim must be a 2-tuple for order nuc, got {dim!r}")
    singular_values = DECLARATIONS["tensorlike.linalg.svdvals"].function(input.movedim(axes, (-2, -1)))  # type: ignore[misc]
    result = singular_values.sum(-1)
    return result.reshape([1 if d in axes else n for d, n in enumerate(input.shape)]) if keepdim else result


# --------------------------------------------------------------------------------------------- sums of exponentials


@primitive(out="cast")
def logsumexp(xp: Any, input: Tensor, dim: int | Sequence[int], keepdim: bool = False) -> Tensor:
    """Return the logarithm of the sum of exponentials over the dimensions `dim`, computed without overflow.

    Integers are converted to the default floating-point dtype.

    >>> import tensorlike as tl
    >>> tl.logsumexp(tl.tensor([100.0, 100.0]), dim=0)
    tensor(100.6931)

    Same as PyTorch's function of that name.
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


def _shifted(xp: Any, function: str, input: Any, dim: Any, dtype: Any) -> tuple[Any, Any, Any]:
    """Return the input less its greatest element along `dim`, the axis, and the dtype of the result."""
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


@primitive(hot=SOFTMAX, out=True)
def softmax(xp: Any, input: Tensor, dim: int, dtype: Dtype | None = None) -> Tensor:
    """Return the exponentials along `dim`, divided by their sum.

    `dtype` converts the input first; without it integers are refused with a NotImplementedError.

    >>> import tensorlike as tl
    >>> tl.softmax(tl.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])

    Same as PyTorch's function of that name.
    """
    rows = rows_of_last(input) if dtype is None and type(dim) is int and dim in (-1, input.ndim - 1) else None
    if rows is not None:
        return softmax_rows(rows).reshape(input.shape)
    shifted, axis, wanted = _shifted(xp, "softmax", input, dim, dtype)
    result = xp.asarray(xp.exp(shifted))
    if result.ndim:
        result /= xp.add.reduce(result, axis, None, None, True)
    return converted(xp, result, wanted)


def _softmax_backward(grad: Any, result: Any, dim: int) -> Any:
    weighted = grad * result
    return weighted - result * weighted.sum(dim, True)


def _raw_softmax_backward(grad: Any, result: Any, dim: int) -> Any:
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


@primitive(out=True)
def log_softmax(xp: Any, input: Tensor, dim: int, dtype: Dtype | None = None) -> Tensor:
    """Return the logarithm of `softmax` along `dim`, computed without overflow.

    `dtype` converts the input first; without it integers are refused with a NotImplementedError.

    >>> import tensorlike as tl
    >>> tl.log_softmax(tl.tensor([0.0, 0.0]), dim=0)
    tensor([-0.6931, -0.6931])

    Same as PyTorch's function of that name.
    """
    shifted, axis, wanted = _shifted(xp, "log_softmax", input, dim, dtype)
    if shifted.ndim:
        shifted = shifted - xp.log(xp.add.reduce(xp.exp(shifted), axis, None, None, True))
    return converted(xp, xp.asarray(shifted), wanted)


derivatives(
    log_softmax,
    input=lambda grad, result, dim: grad - result.exp() * grad.sum(dim, True),
)
