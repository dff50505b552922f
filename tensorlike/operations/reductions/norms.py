"""Norms, the distance of two tensors, and renormalization of slices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorlike._library_name import LIBRARY
from tensorlike.autograd.grad_mode import grad_enabled
from tensorlike.tensor.declarations.declare import (
    DECLARATIONS,
    composite,
    derivatives,
    internal,
    tensor_method,
    undispatched,
)
from tensorlike.tensor.declarations.runtime import dtype_name, write_out
from tensorlike.tensor.dims import one_dim
from tensorlike.tensor.dtypes import as_numpy_dtype
from tensorlike.tensor.dtypes import dtype as Dtype
from tensorlike.tensor.promotion import promote_types
from tensorlike.tensor.types import Array, Namespace, Number, Tensor

from .axes import converted, is_half, reduced_axes, restored
from .minmax import ties

_FLOAT32 = np.dtype(np.float32)

# --------------------------------------------------------------------------------------------------------- norms


def _norm_dtype(function: str, dtype: np.dtype[Any], wanted: Dtype | None) -> np.dtype[Any]:
    if dtype.kind in "biu":
        raise RuntimeError(
            f"{function}(): Expected a floating point or complex tensor as input. Got {dtype_name(dtype)}; convert it "
            f"first, e.g. with .to({LIBRARY}.float32)"
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


@internal(name="linalg_vector_norm")
def vector_norm(
    xp: Namespace, input: Array, ord: Number = 2, dim: int | Sequence[int] | None = None, keepdim: bool = False, *,
    dtype: Dtype | None = None,
) -> Array:  # fmt: skip
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


def _vector_norm_backward(
    grad: Tensor, input: Tensor, result: Tensor, ord: float, dim: int | Sequence[int] | None, keepdim: bool
) -> Tensor:
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
    # A negative power is undefined at zero, and so is its derivative; its factor there is zero.
    safe = size.masked_fill(size == 0, 1)
    if ord < 1:
        powers = (input.sgn() * safe.pow(ord - 1)).masked_fill(size == 0, 0)
        return powers * (grad * norm.masked_fill(norm == 0, 1).pow(1 - ord)).masked_fill(norm == 0, 0)
    scale = _where_not_zero(grad, norm.masked_fill(norm == 0, 1).pow(ord - 1), norm)
    if ord < 2:
        return input.sgn() * safe.pow(ord - 1) * scale
    return input * size.pow(ord - 2) * scale


def _where_not_zero(grad: Tensor, divisor: Tensor, norm: Tensor) -> Tensor:
    """Return `grad / divisor`, and zero with zero derivatives where the norm is zero."""
    is_zero = norm == 0
    return (grad / divisor.masked_fill(is_zero, 1)).masked_fill(is_zero, 0)


derivatives(
    vector_norm,
    input=lambda grad, input, result, ord, dim, keepdim: _vector_norm_backward(grad, input, result, ord, dim, keepdim),
)


_vector_norm = undispatched(vector_norm)


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

    >>> tl.norm(tl.tensor([[3.0, 4.0], [6.0, 8.0]]), dim=1)
    tensor([ 5., 10.])
    """
    if p == "nuc":
        result = _nuclear(input if dtype is None else input.to(dtype), dim, keepdim)
    elif isinstance(p, str) and p != "fro":
        raise RuntimeError(f"norm(): linalg.matrix_norm: Order {p} not supported; use a number, 'fro' or 'nuc'")
    else:
        result = _vector_norm(input, 2 if p is None or p == "fro" else p, dim, keepdim, dtype=dtype)
    return result if out is None else write_out("norm", out, result._tl_data, input, rule="exact")


def _nuclear(input: Tensor, dim: Any, keepdim: bool) -> Any:
    ndim = input.dim()
    if ndim < 2:
        raise RuntimeError(
            f"norm(): linalg.matrix_norm: The input tensor A must have at least 2 dimensions, not {ndim}"
        )
    axes = (ndim - 2, ndim - 1) if dim is None else reduced_axes(dim, ndim, "norm")
    if axes is None or len(axes) != 2:
        raise RuntimeError(f"norm(): linalg.matrix_norm: dim must be a 2-tuple for order nuc, got {dim!r}")
    singular_values = DECLARATIONS["tensorlike.linalg.svdvals"].function(input.movedim(axes, (-2, -1)))
    result = singular_values.sum(-1)
    return result.reshape([1 if d in axes else n for d, n in enumerate(input.shape)]) if keepdim else result


@composite(method=True)
def dist(input: Tensor, other: Tensor, p: Number = 2) -> Tensor:
    """Return the `p`-norm of `input - other`, which broadcast.

    Raises RuntimeError unless the difference is floating-point or complex.

    >>> tl.dist(tl.tensor([1.0, 2.0]), tl.tensor([4.0, 6.0]))
    tensor(5.)
    """
    difference = input - other
    if difference._tl_data.dtype.kind not in "fcV":
        raise RuntimeError(
            "dist(): input dtype should be either floating point or complex. Got "
            f"{dtype_name(difference._tl_data.dtype)} instead."
        )
    return difference.norm(p)


def _renormed(input: Tensor, p: int, dim: int, maxnorm: float) -> Tensor:
    if p <= 0:
        raise RuntimeError(f"renorm: non-positive-norm not supported: p is {p}")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if input.dim() < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.dim()} dimensions")
    if input._tl_data.dtype.kind not in "fcV":
        raise RuntimeError(
            f"renorm: Expected a floating point or complex tensor as input. Got {dtype_name(input._tl_data.dtype)}"
        )
    where = one_dim(dim, input.dim())
    others = [d for d in range(input.dim()) if d != where]
    size = input.norm(p, others, keepdim=True)
    factor = (maxnorm / (size + 1e-7)).where(size > maxnorm, 1.0)
    return input * factor


@composite(method=False)
def renorm(input: Tensor, p: Number, dim: int, maxnorm: Number, *, out: Tensor | None = None) -> Tensor:
    """Return `input` with each slice along `dim` whose `p`-norm exceeds `maxnorm` scaled down to that norm.

    Raises RuntimeError for fewer than two dimensions, integers, `p` not positive and `maxnorm` negative.

    >>> tl.renorm(tl.tensor([[3.0, 4.0], [0.3, 0.4]]), 2, 0, 1)
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])
    """
    found = _renormed(input, p, dim, maxnorm)
    return found if out is None else write_out("renorm", out, found._tl_data, input, rule="exact")


@tensor_method(variant=("inplace", renorm))
def renorm_(self: Tensor, p: Number, dim: int, maxnorm: Number) -> Tensor:
    """Scale each slice along `dim` whose `p`-norm exceeds `maxnorm` down to that norm, in place; return the tensor.

    >>> tl.tensor([[3.0, 4.0], [0.3, 0.4]]).renorm_(2, 0, 1)
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])
    """
    # Values saved for backward must not be overwritten.
    original = self.clone() if self._tl_tracked and grad_enabled() else self
    return self.copy_(renorm(original, p, dim, maxnorm))


@tensor_method(name="renorm", variant=("namesake", renorm))
def _renorm(self: Tensor, p: Number, dim: int, maxnorm: Number) -> Tensor:
    """Return this tensor with each slice along `dim` whose `p`-norm exceeds `maxnorm` scaled down to that norm.

    >>> tl.tensor([[3.0, 4.0], [0.3, 0.4]]).renorm(2, 0, 1)
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])
    """
    return renorm(self, p, dim, maxnorm)
