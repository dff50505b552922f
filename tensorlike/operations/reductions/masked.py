"""The functions of `tensorlike.masked`: reductions and normalizations of the elements that a mask selects.

An element takes part where its mask is True. The others are replaced by the identity of the reduction: zero in a sum,
minus infinity under a maximum, which is also the result where no element takes part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorlike.tensor import dtypes
from tensorlike.tensor.declarations.declare import composite
from tensorlike.tensor.dims import one_dim
from tensorlike.tensor.dtypes import dtype as Dtype
from tensorlike.tensor.dtypes import dtype_of
from tensorlike.tensor.types import Tensor

from ..elementwise.exponential import logaddexp as _logaddexp
from ..shared import as_number, require_tensor
from .axes import reduced_axes
from .norms import vector_norm as _vector_norm
from .softmax import log_softmax as _log_softmax
from .softmax import logsumexp as _logsumexp
from .softmax import softmax as _softmax
from .statistics import nanmedian as _nanmedian

_MASKED = "tensorlike.masked"


# ------------------------------------------------------------------------------------------------------------- masks


def _mask_of(function: str, input: Tensor, mask: Tensor | None) -> Any:
    """Return a mask as booleans of the shape of `input`; None stays None."""
    require_tensor(function, input)
    if mask is None:
        return None
    require_tensor(function, mask, "mask", None)
    given: Any = mask
    shape: Any = input._tl_data.shape
    if given.dim() > len(shape):
        raise IndexError(
            f"{function}(): expected broadcastable mask (got mask dimensionality higher than of the input: the shapes "
            f"are {list(given.shape)} and {list(shape)})"
        )
    return (given if given._tl_data.dtype.kind == "b" else given.to(dtypes.bool)).expand(shape)


def _kept(input: Any, mask: Any, other: Any) -> Tensor:
    """Return `input` with `other` where the mask is False."""
    return input if mask is None else input.masked_fill(~mask, other)  # type: ignore[no-any-return]


def _selected(function: str, input: Tensor, mask: Tensor | None, identity: float | Callable[..., Any]) -> Any:
    """Return `input` with an identity, a number or `_lowest` or `_highest`, where the mask that users give is False."""
    mask = _mask_of(function, input, mask)
    other = identity(function, input) if mask is not None and callable(identity) else identity
    return _kept(input, mask, other)


def _lowest(function: str, input: Tensor) -> Any:
    """Return the identity of a maximum for the dtype of `input`: its least value."""
    dtype = input._tl_data.dtype
    if dtype.kind == "b":
        raise NotImplementedError(f"identity of {function} on {input.dtype} input: convert it first, e.g. with .int()")
    if dtype.kind == "c":
        raise TypeError(f"{function}(): complex numbers have no order: use the masked function on the absolute values")
    return np.iinfo(dtype).min if dtype.kind in "iu" else -float("inf")


def _highest(function: str, input: Tensor) -> Any:
    _lowest(function, input)
    dtype = input._tl_data.dtype
    return np.iinfo(dtype).max if dtype.kind in "iu" else float("inf")


def _all_dims(function: str, input: Tensor, dim: int | Sequence[int] | None) -> tuple[int, ...]:
    axes = reduced_axes(dim, input.dim(), function)
    return tuple(range(input.dim())) if axes is None else tuple(axes)


def _to(result: Tensor, dtype: Dtype | None, input: Tensor) -> Tensor:
    return result.to(input.dtype if dtype is None else dtype)


# -------------------------------------------------------------------------------------------------------- reductions


def _sum(input: Tensor, axes: Sequence[int], keepdim: bool | None, dtype: Dtype | None, mask: Tensor | None) -> Tensor:
    return _kept(input, mask, 0).sum(axes, keepdim=bool(keepdim), dtype=dtype)


@composite(namespace=_MASKED)
def sum(
    input: Tensor, dim: int | Sequence[int] | None = None, *, keepdim: bool | None = False,
    dtype: Dtype | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the sum over the dimensions `dim`, or over all, of the elements whose `mask` is True.

    `mask` broadcasts to `input`. Integers are summed in int64, and where nothing is left the sum is 0. Raises
    IndexError for a mask of more dimensions. Composes `sum` of the input with zeros in it.

    >>> tl.masked.sum(tl.tensor([1.0, 2.0, 4.0]), mask=tl.tensor([True, False, True]))
    tensor(5.)
    """
    mask = _mask_of("sum", input, mask)
    return _sum(input, _all_dims("sum", input, dim), keepdim, dtype, mask)


@composite(namespace=_MASKED)
def prod(
    input: Tensor, dim: int | Sequence[int] | None = None, *, keepdim: bool | None = False,
    dtype: Dtype | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the product over the dimensions `dim`, or over all, of the elements whose `mask` is True.

    `mask` broadcasts to `input`. Integers are multiplied in int64, and where nothing is left the product is 1. Raises
    IndexError for a mask of more dimensions. Composes `prod` of the input with ones in it.

    >>> tl.masked.prod(tl.tensor([3.0, 2.0, 4.0]), mask=tl.tensor([True, False, True]))
    tensor(12.)
    """
    found = _selected("prod", input, mask, 1)
    axes = _all_dims("prod", input, dim)
    if dtype is None and found._tl_data.dtype.kind in "biu":
        dtype = dtype_of(np.dtype(np.int64))
    found = found if dtype is None else found.to(dtype)
    for axis in sorted(axes, reverse=True):
        found = found.prod(axis, keepdim=bool(keepdim))
    return found  # type: ignore[no-any-return]


@composite(namespace=_MASKED)
def amax(
    input: Tensor, dim: int | Sequence[int] | None = None, *, keepdim: bool | None = False,
    dtype: Dtype | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the greatest over the dimensions `dim`, or over all, of the elements whose `mask` is True.

    `mask` broadcasts to `input`; where nothing is left the result is the least number of the dtype. Raises
    NotImplementedError for booleans and TypeError for complex numbers. Composes `amax`.

    >>> tl.masked.amax(tl.tensor([3.0, 7.0, 4.0]), mask=tl.tensor([True, False, True]))
    tensor(4.)
    """
    kept = _selected("amax", input, mask, _lowest)
    return _to(kept.amax(_all_dims("amax", input, dim), bool(keepdim)), dtype, input)


@composite(namespace=_MASKED)
def amin(
    input: Tensor, dim: int | Sequence[int] | None = None, *, keepdim: bool | None = False,
    dtype: Dtype | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the least over the dimensions `dim`, or over all, of the elements whose `mask` is True.

    `mask` broadcasts to `input`; where nothing is left the result is the greatest number of the dtype. Raises
    NotImplementedError for booleans and TypeError for complex numbers. Composes `amin`.

    >>> tl.masked.amin(tl.tensor([3.0, 1.0, 4.0]), mask=tl.tensor([True, False, True]))
    tensor(3.)
    """
    kept = _selected("amin", input, mask, _highest)
    return _to(kept.amin(_all_dims("amin", input, dim), bool(keepdim)), dtype, input)


@composite(namespace=_MASKED, differentiable=False)
def argmax(
    input: Tensor, dim: int | None = None, *, keepdim: bool | None = False, dtype: Dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the index along `dim`, or in the flattened tensor, of the greatest element whose `mask` is True.

    `mask` broadcasts to `input`. The result has the dtype of `input`, or `dtype`. Raises NotImplementedError for
    booleans and TypeError for complex numbers. Composes `argmax`.

    >>> tl.masked.argmax(tl.tensor([3, 7, 4]), mask=tl.tensor([True, False, True]), dtype=tl.int64)
    tensor(2)
    """
    return _to(_selected("argmax", input, mask, _lowest).argmax(dim, bool(keepdim)), dtype, input)


@composite(namespace=_MASKED, differentiable=False)
def argmin(
    input: Tensor, dim: int | None = None, *, keepdim: bool | None = False, dtype: Dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the index along `dim`, or in the flattened tensor, of the least element whose `mask` is True.

    `mask` broadcasts to `input`. The result has the dtype of `input`, or `dtype`. Raises NotImplementedError for
    booleans and TypeError for complex numbers. Composes `argmin`.

    >>> tl.masked.argmin(tl.tensor([3, 1, 4]), mask=tl.tensor([True, False, True]), dtype=tl.int64)
    tensor(0)
    """
    return _to(_selected("argmin", input, mask, _highest).argmin(dim, bool(keepdim)), dtype, input)


@composite(namespace=_MASKED)
def logsumexp(
    input: Tensor, dim: int | Sequence[int] | None = None, *, keepdim: bool = False, dtype: Dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the logarithm of the sum of exponentials over `dim`, or over all, of the elements whose `mask` is True.

    `mask` broadcasts to `input`; where nothing is left the result is -inf. It has the dtype of `input`, or `dtype`.
    Raises NotImplementedError for booleans. Composes `logsumexp`.

    >>> tl.masked.logsumexp(tl.tensor([0.0, 7.0, 0.0]), mask=tl.tensor([True, False, True]))
    tensor(0.6931)
    """
    require_tensor("logsumexp", input)
    kept = _selected("logsumexp", input, mask, -float("inf") if input._tl_data.dtype.kind == "c" else _lowest)
    return _to(_logsumexp(kept, _all_dims("logsumexp", input, dim), bool(keepdim)), dtype, input)


def _mean_dtype(input: Tensor, dtype: Dtype | None) -> None:
    if dtype is None and input._tl_data.dtype.kind in "biu":
        raise ValueError(
            "mean(): Could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: "
            f"{input.dtype}; give `dtype`"
        )


def _count(input: Tensor, axes: tuple[int, ...], mask: Tensor | None) -> Any:
    """Return the number of elements that take part: a number without a mask, otherwise a tensor with all dimensions."""
    if mask is not None:
        return mask.sum(axes, keepdim=True)
    count = 1
    for axis in axes:
        count *= input.shape[axis]
    return count


def _mean(input: Tensor, axes: tuple[int, ...], dtype: Dtype | None, mask: Tensor | None) -> Any:
    """Return the mean with all dimensions kept."""
    return _sum(input, axes, True, dtype, mask) / _count(input, axes, mask)


def _dropped(result: Tensor, axes: tuple[int, ...], keepdim: bool | None) -> Tensor:
    return result if keepdim or not axes else result.squeeze(axes)


@composite(namespace=_MASKED)
def mean(
    input: Tensor, dim: int | Sequence[int] | None = None, *, keepdim: bool | None = False,
    dtype: Dtype | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the mean over the dimensions `dim`, or over all, of the elements whose `mask` is True.

    `mask` broadcasts to `input`; where nothing is left the mean is NaN. Raises ValueError for integers without a
    `dtype`. Composes `masked.sum` and a quotient.

    >>> tl.masked.mean(tl.tensor([3.0, 7.0, 4.0]), mask=tl.tensor([True, False, True]))
    tensor(3.5000)
    """
    mask = _mask_of("mean", input, mask)
    _mean_dtype(input, dtype)
    axes = _all_dims("mean", input, dim)
    return _dropped(_mean(input, axes, dtype, mask), axes, keepdim)


def _deviations(
    function: str, input: Tensor, dim: int | Sequence[int] | None, unbiased: bool | None, correction: int | None,
    keepdim: Any, dtype: Any, mask: Any,
) -> Tensor:  # fmt: skip
    """Return the variances."""
    mask = _mask_of(function, input, mask)
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    freedom = (1 if unbiased is None or unbiased else 0) if correction is None else float(correction)
    kind = input._tl_data.dtype.kind
    if kind == "b":
        raise RuntimeError(f"{function}(): Subtraction with a bool tensor is not supported: convert it first")
    axes = _all_dims(function, input, dim)
    values = input.to(dtype) if dtype is not None else input.to(dtypes.get_default_dtype()) if kind in "iu" else input
    away = _kept(values - _mean(values, axes, None, mask), mask, 0)
    square = away * away if away._tl_data.dtype.kind != "c" else away.real * away.real + away.imag * away.imag
    count = _count(values, axes, mask)
    left = max(count - freedom, 0) if mask is None else (count - freedom).clamp(min=0)
    # The result for complex numbers is complex too.
    return _dropped(square.sum(axes, keepdim=True) / left, axes, keepdim).to(values.dtype)


@composite(namespace=_MASKED)
def var(
    input: Tensor, dim: int | Sequence[int] | None = None, unbiased: bool | None = None, *,
    correction: Any = None, keepdim: bool | None = False, dtype: Dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the variance over the dimensions `dim`, or over all, of the elements whose `mask` is True.

    `mask` broadcasts to `input`. Divided by their number less `correction`, which is 1 unless given, or 0 with
    `unbiased=False`. Raises AssertionError when both are given.

    >>> tl.masked.var(tl.tensor([3.0, 7.0, 5.0]), mask=tl.tensor([True, False, True]))
    tensor(2.)
    """
    return _deviations("var", input, dim, unbiased, correction, keepdim, dtype, mask)


@composite(namespace=_MASKED)
def std(
    input: Tensor, dim: int | Sequence[int] | None = None, unbiased: bool | None = None, *,
    correction: Any = None, keepdim: bool | None = False, dtype: Dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the standard deviation over `dim`, or over all dimensions, of the elements whose `mask` is True.

    `mask` broadcasts to `input`. It is the root of `masked.var`, with the same parameters.

    >>> tl.masked.std(tl.tensor([3.0, 7.0, 5.0]), mask=tl.tensor([True, False, True]), unbiased=False)
    tensor(1.)
    """
    return _deviations("std", input, dim, unbiased, correction, keepdim, dtype, mask).sqrt()


def _norm(
    input: Tensor, ord: float | None, axes: Sequence[int], keepdim: bool | None, dtype: Dtype | None,
    mask: Tensor | None,
) -> Tensor:  # fmt: skip
    ord = as_number(ord)
    if isinstance(ord, bool) or not isinstance(ord, (int, float)):
        raise TypeError(f"norm(): argument 'ord' must be Number, not {type(ord).__name__}")
    other = float("inf") if ord == -float("inf") and input._tl_data.dtype.kind == "f" else 0
    return _vector_norm(_kept(input, mask, other), ord, axes or None, bool(keepdim), dtype=dtype)


@composite(namespace=_MASKED)
def norm(
    input: Tensor, ord: float | None = 2.0, dim: int | Sequence[int] | None = None, *,
    keepdim: bool | None = False, dtype: Dtype | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the vector norm of order `ord` over `dim`, or over all dimensions, of the elements whose `mask` is True.

    `mask` broadcasts to `input`. Raises RuntimeError for integers. Composes the vector norm of the input with zeros in
    it, or infinities for the order -inf.

    >>> tl.masked.norm(tl.tensor([3.0, 7.0, 4.0]), mask=tl.tensor([True, False, True]))
    tensor(5.)
    """
    mask = _mask_of("norm", input, mask)
    return _norm(input, ord, _all_dims("norm", input, dim), keepdim, dtype, mask)


@composite(namespace=_MASKED)
def median(
    input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: Dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """Return the median along `dim` of the elements whose `mask` is True, the lower of two.

    `mask` broadcasts to `input`. NaN is left out too, and where nothing is left the median is NaN; raises ValueError
    where that is so for integers. `dtype` is for these; floating-point numbers keep theirs. Composes `nanmedian`.

    >>> tl.masked.median(tl.tensor([3.0, 7.0, 4.0]), mask=tl.tensor([True, False, True]))
    tensor(3.)
    """
    mask = _mask_of("median", input, mask)
    kind = input._tl_data.dtype.kind
    whole = kind in "biuc"
    # The median of complex numbers is that of their real parts.
    values = (input.real if kind == "c" else input).to(dtypes.float64) if whole else input
    found = _nanmedian(_kept(values, mask, float("nan")), dim, keepdim)[0]
    if not whole:
        return found
    if bool(found.isnan().any()):
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return _to(found, dtype, input)


# ------------------------------------------------------------------------------------------- scans and normalizations


def _scanned(function: str, input: Tensor, dim: int, dtype: Dtype | None, mask: Tensor | None, other: int) -> Any:
    found = _selected(function, input, mask, other)
    one_dim(dim, found.dim())
    if dtype is None and found._tl_data.dtype.kind == "b":
        raise NotImplementedError(f"\"{function}\" not implemented for 'Bool': give `dtype`, or convert the input")
    return getattr(found, function)(dim, dtype=input.dtype if dtype is None else dtype)


@composite(namespace=_MASKED)
def cumsum(input: Tensor, dim: int, *, dtype: Dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the running sums along `dim` of the elements whose `mask` is True.

    `mask` broadcasts to `input`. The result has the dtype of `input`, or `dtype`. Composes `cumsum`.

    >>> tl.masked.cumsum(tl.tensor([1.0, 2.0, 4.0]), 0, mask=tl.tensor([True, False, True]))
    tensor([1., 1., 5.])
    """
    return _scanned("cumsum", input, dim, dtype, mask, 0)  # type: ignore[no-any-return]


@composite(namespace=_MASKED)
def cumprod(input: Tensor, dim: int, *, dtype: Dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the running products along `dim` of the elements whose `mask` is True.

    `mask` broadcasts to `input`. The result has the dtype of `input`, or `dtype`. Composes `cumprod`.

    >>> tl.masked.cumprod(tl.tensor([3.0, 2.0, 4.0]), 0, mask=tl.tensor([True, False, True]))
    tensor([ 3.,  3., 12.])
    """
    return _scanned("cumprod", input, dim, dtype, mask, 1)  # type: ignore[no-any-return]


@composite(namespace=_MASKED)
def softmax(input: Tensor, dim: int, *, dtype: Dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the exponentials along `dim` of the elements whose `mask` is True, divided by their sum, 0 for the others.

    `mask` broadcasts to `input`; where nothing is left the result is NaN. Composes `softmax`.

    >>> tl.masked.softmax(tl.tensor([0.0, 7.0, 0.0]), 0, mask=tl.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    return _softmax(_selected("softmax", input, mask, _lowest), dim, dtype)


@composite(namespace=_MASKED)
def log_softmax(input: Tensor, dim: int, *, dtype: Dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the logarithm of `masked.softmax` along `dim`, computed without overflow, -inf where `mask` is False.

    `mask` broadcasts to `input`; where nothing is left the result is NaN. Composes `log_softmax`.

    >>> tl.masked.log_softmax(tl.tensor([0.0, 7.0, 0.0]), 0, mask=tl.tensor([True, False, True]))
    tensor([-0.6931,    -inf, -0.6931])
    """
    return _log_softmax(_selected("log_softmax", input, mask, _lowest), dim, dtype)


@composite(namespace=_MASKED)
def softmin(input: Tensor, dim: int, *, dtype: Dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Return `masked.softmax` along `dim` of the negative of `input`.

    `mask` broadcasts to `input`; where nothing is left the result is NaN. Composes `softmax`.

    >>> tl.masked.softmin(tl.tensor([0.0, 7.0, 0.0]), 0, mask=tl.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    return _softmax(-_selected("softmin", input, mask, _highest), dim, dtype)


@composite(namespace=_MASKED)
def normalize(
    input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: Dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """Return `input` divided by its `masked.norm` of order `ord` along `dim`, or by `eps` where that is more.

    `mask` broadcasts to `input`, and where it is False the result is 0. Raises RuntimeError for integers.

    >>> tl.masked.normalize(tl.tensor([3.0, 7.0, 4.0]), 2.0, 0, mask=tl.tensor([True, False, True]))
    tensor([0.6000, 0.0000, 0.8000])
    """
    mask = _mask_of("normalize", input, mask)
    where = one_dim(dim, input.dim())
    size = _norm(input, ord, (where,) if input.dim() else (), True, dtype, mask)
    return _kept(input, mask, 0) / size.clamp(min=eps)


@composite(namespace=_MASKED)
def logaddexp(
    input: Tensor, other: Tensor, *, dtype: Dtype | None = None, input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the logarithm of the sum of the exponentials of both tensors, counting each where its mask is True.

    The masks broadcast to their tensors, and these to each other. The result has the dtype of `input`, or `dtype`.
    Composes `logaddexp`.

    >>> x = tl.tensor([0.0, 1.0])
    >>> tl.masked.logaddexp(x, x, other_mask=tl.tensor([True, False]))
    tensor([0.6931, 1.0000])
    """
    first = _selected("logaddexp", input, input_mask, _lowest)
    second = _selected("logaddexp", other, other_mask, _lowest)
    return _to(_logaddexp(first, second), dtype, input)
