"""Sums, products, means and truth over dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorlike._library_name import LIBRARY
from tensorlike.dispatch.tracebacks import explained
from tensorlike.tensor.declarations.declare import (
    composite,
    derivatives,
    internal,
    primitive,
    raw_derivatives,
    tensor_method,
    undispatched,
)
from tensorlike.tensor.declarations.formulas import conj
from tensorlike.tensor.declarations.runtime import dtype_name, guarded, spelled, write_out
from tensorlike.tensor.dims import shape_of, size_argument
from tensorlike.tensor.dtypes import as_numpy_dtype
from tensorlike.tensor.dtypes import dtype as Dtype
from tensorlike.tensor.types import Array, Namespace, Tensor

from ..shape.joining import cat
from .axes import converted, count_of, expanded, is_half, one_axis, raw_expanded, reduced_axes, restored
from .row_kernels import summed

_INT64 = np.dtype(np.int64)
_FLOAT32 = np.dtype(np.float32)
_BOOL = np.dtype(bool)
_UINT8 = np.dtype(np.uint8)
#: NumPy's letters of the dtypes summed in themselves: float32, float64, complex64 and complex128.
_SUMMED = frozenset("fdFD")
#: From this size on, a sum may have more terms than float32 adds one by one without loss.
_LARGE = 1 << 20


def _sum_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return _INT64 if dtype.kind in "biu" else dtype


def _accumulated(
    xp: Namespace, ufunc: Any, array: Array, axes: int | Sequence[int] | None, keepdim: bool, dtype: np.dtype[Any]
) -> Array:
    """Reduce in `dtype`, half precision in float32."""
    array = converted(xp, array, dtype) if not np.can_cast(array.dtype, dtype, "same_kind") else array
    if is_half(dtype):
        return converted(xp, xp.asarray(ufunc.reduce(array, axes, _FLOAT32, None, keepdim)), dtype)
    if array.size > _LARGE and dtype.char in "fF" and ufunc is xp.add and axes is not None and array.shape[-1] < 1024:
        # NumPy adds pairwise along the last axis alone; along another one, a long sum in float32 would stop growing.
        wide = np.dtype(np.float64 if dtype.char == "f" else np.complex128)
        return xp.asarray(ufunc.reduce(array, axes, wide, None, keepdim)).astype(dtype)
    if ufunc is np.add and array.dtype is dtype and not keepdim:
        result = summed(array, axes)
        if result is not None:
            return result  # type: ignore[no-any-return]
    return ufunc.reduce(array, axes, dtype, None, keepdim)  # type: ignore[no-any-return]


@primitive(out="dtype", linear_in=("input",), dims="reduced")
def sum(
    xp: Namespace, input: Array, dim: int | Sequence[int] | None = None, keepdim: bool = False, *,
    dtype: Dtype | None = None,
) -> Array:  # fmt: skip
    """Return the sum of all elements, or over the dimensions `dim`.

    Integers and booleans are summed in int64, half precision in float32; `dtype` converts the input first.

    >>> tl.sum(tl.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=0)
    tensor([4., 6.])
    """
    if dtype is None and input.dtype.char in _SUMMED and input.size < _LARGE:
        if dim is None and not keepdim:
            return xp.add.reduce(input, None, None, xp.empty((), input.dtype))  # type: ignore[no-any-return]
        if type(dim) is int:
            result = None
            if not keepdim and -input.ndim <= dim < input.ndim:
                result = summed(input, (dim + input.ndim if dim < 0 else dim,))
            if result is not None:
                return result  # type: ignore[no-any-return]
            try:
                return xp.add.reduce(input, dim, None, None, keepdim)  # type: ignore[no-any-return]
            except ValueError:
                pass  # Out of range, or of a zero-dimensional array on a GPU: told apart below.
    wanted = _sum_dtype(input.dtype) if dtype is None else as_numpy_dtype(dtype, "sum")
    axes = reduced_axes(dim, input.ndim, "sum")
    return _accumulated(xp, xp.add, input, axes, keepdim, wanted)


derivatives(
    sum,
    input=lambda grad, input_shape, dim, keepdim: expanded(grad, input_shape, dim, keepdim),
)
raw_derivatives(sum, input=raw_expanded)


@primitive(out="cast", dims="reduced")
def nansum(
    xp: Namespace, input: Array, dim: int | Sequence[int] | None = None, keepdim: bool = False, *,
    dtype: Dtype | None = None,
) -> Array:  # fmt: skip
    """Return the sum of all elements, or over the dimensions `dim`, where NaN counts as zero.

    Complex tensors are refused with a RuntimeError.

    >>> tl.nansum(tl.tensor([1.0, tl.nan, 2.0]))
    tensor(3.)
    """
    if input.dtype.kind == "c":
        raise RuntimeError(
            f"nansum(): nansum does not support complex inputs, got {dtype_name(input.dtype)}; "
            "sum the real and imaginary parts each"
        )
    axes = reduced_axes(dim, input.ndim, "nansum")
    if input.dtype.kind not in "biu":
        input = xp.where(xp.isnan(input), xp.zeros((), input.dtype), input)
    wanted = _sum_dtype(input.dtype) if dtype is None else as_numpy_dtype(dtype, "nansum")
    return _accumulated(xp, xp.add, input, axes, keepdim, wanted)


derivatives(
    nansum,
    input=lambda grad, input, dim, keepdim: (
        expanded(grad, tuple(input.shape), dim, keepdim) * input.isnan().logical_not()
    ),
)


@primitive(out="cast", linear_in=("input",), dims="reduced")
def mean(
    xp: Namespace, input: Array, dim: int | Sequence[int] | None = None, keepdim: bool = False, *,
    dtype: Dtype | None = None,
) -> Array:  # fmt: skip
    """Return the mean of all elements, or over the dimensions `dim`.

    Integers are refused with a RuntimeError unless `dtype` converts them; the mean of no elements is NaN.

    >>> tl.mean(tl.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=1, keepdim=True)
    tensor([[1.5000],
            [3.5000]])
    """
    if dtype is None and input.dtype.char in _SUMMED and input.size < _LARGE:
        if dim is None and not keepdim:
            result: Array = xp.add.reduce(input, None, None, xp.empty((), input.dtype))
            result /= input.size
            return result
        if type(dim) is int and input.ndim:
            try:
                return xp.add.reduce(input, dim, None, None, keepdim) / input.shape[dim]  # type: ignore[no-any-return]
            except (ValueError, IndexError):
                pass
    wanted = input.dtype if dtype is None else as_numpy_dtype(dtype, "mean")
    if wanted.kind in "biu":
        what = "Input" if dtype is None else "Optional"
        raise explained(
            RuntimeError, "mean-of-integers",
            f"mean(): could not infer output dtype. {what} dtype must be either a floating point or complex dtype. "
            f"Got: {dtype_name(wanted)}. Convert the input, e.g. with dtype={LIBRARY}.float32",
        )  # fmt: skip
    axes = reduced_axes(dim, input.ndim, "mean")
    total = _accumulated(xp, xp.add, input, axes, keepdim, _FLOAT32 if is_half(wanted) else wanted)
    return converted(xp, xp.asarray(total / count_of(input.shape, dim)), wanted)


derivatives(
    mean,
    input=lambda grad, input_shape, dim, keepdim: expanded(
        grad / count_of(input_shape, dim), input_shape, dim, keepdim
    ),
)


@composite(method=True, dims="reduced")
def nanmean(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: Dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return the mean of the elements that are not NaN, over all or the dimensions `dim`.

    Composes `nansum`, `isnan` and `sum`; integers are refused with a RuntimeError.

    >>> tl.nanmean(tl.tensor([1.0, tl.nan, 2.0]))
    tensor(1.5000)
    """
    if input.dtype.numpy_dtype.kind in "biu":
        raise RuntimeError(
            "nanmean(): expected input to have floating point or complex dtype but got "
            f"{dtype_name(input.dtype.numpy_dtype)}; convert it first, e.g. with .to({LIBRARY}.float32)"
        )
    reduced_axes(dim, input.dim(), "nanmean")
    count = input.isnan().logical_not().sum(dim, keepdim)
    result: Tensor = input.nansum(dim, keepdim, dtype=dtype) / count
    return result if out is None else write_out("nanmean", out, result._tl_data, input)


# ------------------------------------------------------------------------------------------------------ products


@primitive(out="dtype", dims="reduced")
def prod(
    xp: Namespace, input: Array, dim: int | None = None, keepdim: bool = False, *, dtype: Dtype | None = None
) -> Array:
    """Return the product of all elements, or over the dimension `dim`.

    Integers and booleans are multiplied in int64; `dtype` converts the input first.

    >>> tl.prod(tl.tensor([[1, 2], [3, 4]]), 1)
    tensor([ 2, 12])
    """
    wanted = _sum_dtype(input.dtype) if dtype is None else as_numpy_dtype(dtype, "prod")
    axis: int | tuple[()] | None = None
    if dim is not None:
        axis = one_axis(dim, input.ndim, "prod")
        if not input.ndim:
            axis = ()
    return _accumulated(xp, xp.multiply, input, axis, keepdim, wanted)


def _prod_backward(grad: Tensor, input: Tensor, result: Tensor, dim: int | None, keepdim: bool) -> Any:
    shape = tuple(input.shape)
    if not shape:
        return grad
    if dim is None:
        flat = _prod_backward(grad.reshape(()), input.reshape(-1), result.reshape(()), 0, False)
        return flat.reshape(shape)
    return restored(grad, shape, dim, keepdim) * conj(
        products_of_others(input, restored(result, shape, dim, keepdim), dim)
    )


@guarded
def products_of_others(input: Tensor, product: Tensor, dim: int) -> Tensor:
    """Return for each element the product of the others along `dim`, with right derivatives of any order at zeros."""
    zeros = input._tl_data == 0
    if not zeros.any():
        return product / input
    if zeros.sum(axis=dim).max() <= 1:
        # Beside one zero every product of others but its own is zero, and the quotient is right in all derivatives.
        others = input.masked_fill(input == 0, 1)
        return (product / others).where(input != 0, others.prod(dim, keepdim=True))
    one = input.narrow(dim, 0, 1) * 0 + 1
    count = input.shape[dim] - 1
    before = cat([one, input.narrow(dim, 0, count)], dim).cumprod(dim)
    after = cat([one, input.flip(dim).narrow(dim, 0, count)], dim).cumprod(dim).flip(dim)
    return before * after


derivatives(prod, input=_prod_backward)


# ---------------------------------------------------------------------------------------------------------- truth


def _truth(
    xp: Namespace, ufunc: Any, function: str, input: Array, dim: int | Sequence[int] | None, keepdim: bool
) -> Any:
    if input.dtype is _BOOL and (dim is None or type(dim) is int):
        try:
            return ufunc.reduce(input, dim, None, None, keepdim)
        except ValueError:
            pass
    if isinstance(dim, (tuple, list)) and not dim:
        result = input != 0
    else:
        result = ufunc.reduce(input != 0, reduced_axes(dim, input.ndim, function), None, None, keepdim)
    # PyTorch returns uint8 for uint8: masks had that dtype before there were booleans.
    return xp.asarray(result).astype(_UINT8) if input.dtype == _UINT8 else result


@primitive(differentiable=False, out="truth", dims="reduced")
def all(xp: Namespace, input: Array, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Array:
    """Return whether all elements are true, that is not zero, overall or along the dimensions `dim`.

    The result is boolean, and uint8 for uint8; `dim=()` reduces nothing.

    >>> tl.all(tl.tensor([[True, False], [True, True]]), dim=1)
    tensor([False,  True])
    """
    return _truth(xp, xp.logical_and, "all", input, dim, keepdim)  # type: ignore[no-any-return]


@primitive(differentiable=False, out="truth", dims="reduced")
def any(xp: Namespace, input: Array, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Array:
    """Return whether any element is true, that is not zero, overall or along the dimensions `dim`.

    The result is boolean, and uint8 for uint8; `dim=()` reduces nothing.

    >>> tl.any(tl.tensor([[True, False], [False, False]]), dim=1)
    tensor([ True, False])
    """
    return _truth(xp, xp.logical_or, "any", input, dim, keepdim)  # type: ignore[no-any-return]


@primitive(differentiable=False, dims="reduced")
def count_nonzero(xp: Namespace, input: Array, dim: int | Sequence[int] | None = None) -> Array:
    """Return how many elements are not zero, overall or along the dimensions `dim`, as int64.

    >>> tl.count_nonzero(tl.tensor([[1, 0], [2, 3]]), dim=0)
    tensor([2, 1])
    """
    return xp.add.reduce(input != 0, reduced_axes(dim, input.ndim, "count_nonzero"), _INT64)  # type: ignore[no-any-return]


# --------------------------------------------------------------------------------------------- undoing broadcasting


@internal(name="sum_to_size", own_layout=True, linear_in=("input",))
def _summed_to(xp: Namespace, input: Array, size: tuple[int, ...]) -> Array:
    """Return the tensor summed to the shape `size`."""
    before = input.shape
    lead = len(before) - len(size)
    axes = list(range(lead))
    fits = lead >= 0
    if fits:
        for d, n in enumerate(size, lead):
            if n != before[d]:
                fits = fits and n == 1
                axes.append(d)
    if not fits:
        raise RuntimeError(
            f"sum_to_size(): size {{{shape_of(size)}}} is not expandable to size {{{shape_of(before)}}}: each size "
            "must be 1 or that of the tensor, counted from the last"
        )
    dtype = _sum_dtype(input.dtype)
    if dtype is not input.dtype or is_half(dtype) or input.size > _LARGE:
        return xp.asarray(_accumulated(xp, xp.add, input, tuple(axes), False, dtype)).reshape(size)
    result = summed(input, axes)
    return (xp.add.reduce(input, tuple(axes)) if result is None else result).reshape(size)  # type: ignore[no-any-return]


derivatives(
    _summed_to,
    input=lambda grad, input_shape: grad.expand(input_shape),
)

_sum_to = undispatched(_summed_to)


@tensor_method(guard=False, linear_in=("self",))
def sum_to_size(self: Tensor, *size: int, **keywords: Any) -> Tensor:
    """Sum the tensor to the shape `size`, undoing broadcasting (unbroadcast).

    Raises RuntimeError unless `size` broadcasts to its shape. A tensor that has that shape already is returned itself.

    >>> tl.ones(2, 3).sum_to_size(1, 3)
    tensor([[2., 2., 2.]])
    """
    if keywords:
        shape = spelled("sum_to_size", "size", size, keywords)
    elif not size:
        raise TypeError('sum_to_size() missing 1 required positional arguments: "size"; pass () for a sum over all')
    else:
        first: Any = size[0]
        shape = first if len(size) == 1 and type(first) is tuple else size_argument(size, "sum_to_size")
    return self if self._tl_data.shape == shape else _sum_to(self, shape)
