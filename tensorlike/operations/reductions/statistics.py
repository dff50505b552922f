"""Variances, covariances, correlations, medians, modes and quantiles."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from tensorlike._library_name import LIBRARY
from tensorlike.dispatch.core import outside_stacklevel
from tensorlike.tensor.creation.from_data import tensor as make_tensor
from tensorlike.tensor.declarations.declare import composite, derivatives, internal, primitive, undispatched
from tensorlike.tensor.declarations.runtime import device_guard, dtype_name, write_out, wrong_type
from tensorlike.tensor.types import Array, Namespace, Tensor

from ..indexing.gather import pick_along, place_picked
from ..shared import require_tensor
from .axes import (
    comparable,
    converted,
    count_of,
    expanded,
    is_half,
    nonempty,
    one_axis,
    reduced_axes,
    restored,
    unsupported,
)
from .minmax import evenly

if TYPE_CHECKING:
    from tensorlike import return_types

_INT64 = np.dtype(np.int64)
_FLOAT32 = np.dtype(np.float32)


# ----------------------------------------------------------------------------------------------------- variances


def _spread_arguments(
    function: str, dim: int | Sequence[int] | None, unbiased: bool | None, correction: float | None
) -> tuple[Any, float]:
    """Return the dimensions and the correction: PyTorch takes `unbiased` in the place of `dim`, or after it."""
    if isinstance(dim, bool):
        if unbiased is not None:
            raise TypeError(f"{function}(): argument 'dim' must be int or tuple of ints, not bool ({dim!r})")
        dim, unbiased = None, dim
    if unbiased is not None:
        if correction is not None:
            raise TypeError(
                f"{function}() received an invalid combination of arguments: both unbiased={unbiased!r} and "
                f"correction={correction!r}; give correction alone"
            )
        return dim, 1.0 if unbiased else 0.0
    return dim, 1.0 if correction is None else correction


def _variance(
    xp: Namespace, function: str, input: Array, dim: int | Sequence[int] | None, unbiased: bool | None, keepdim: bool,
    correction: float | None,
) -> tuple[Any, Any]:  # fmt: skip
    """Return the variance and the mean, in float32 for half precision."""
    dim, taken = _spread_arguments(function, dim, unbiased, correction)
    if input.dtype.kind in "biu":
        raise RuntimeError(
            f"{function}(): std and var only support floating point and complex dtypes; convert the input first, e.g. "
            f"with .to({LIBRARY}.float32)"
        )
    if is_half(input.dtype):
        input = input.astype(_FLOAT32)
    axes = reduced_axes(dim, input.ndim, function)
    count = count_of(input.shape, dim)
    if count - taken <= 0:
        warnings.warn(
            f"{function}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor "
            f"(input numel divided by output numel): {taken} is not less than {count}.",
            UserWarning,
            stacklevel=outside_stacklevel(),
        )
    mean = xp.add.reduce(input, axes, None, None, True) / count
    away = input - mean
    square = away.real**2 + away.imag**2 if input.dtype.kind == "c" else away * away
    freedom = max(count - taken, 0)
    total = xp.add.reduce(square, axes, None, None, keepdim)
    variance = xp.asarray(total / square.dtype.type(freedom))
    return variance, mean if keepdim else mean.reshape(variance.shape)


def _real_like(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.kind != "c":
        return dtype
    return np.dtype(np.float32 if dtype.itemsize == 8 else np.float64)


def _variance_backward(
    grad: Tensor, input: Tensor, dim: int | Sequence[int] | None, unbiased: bool | None, keepdim: bool,
    correction: float | None,
) -> Tensor:  # fmt: skip
    dim, taken = _spread_arguments("var", dim, unbiased, correction)
    shape = tuple(input.shape)
    freedom = count_of(shape, dim) - taken
    scale = 2.0 / freedom if freedom else math.inf
    return restored(grad * scale, shape, dim, keepdim) * (input - input.mean(dim, True))


def _deviation_backward(
    grad: Tensor, input: Tensor, result: Tensor, dim: int | Sequence[int] | None, unbiased: bool | None, keepdim: bool,
    correction: float | None,
) -> Tensor:  # fmt: skip
    is_zero = result == 0
    halved = (grad / (result.masked_fill(is_zero, 1) * 2)).masked_fill(is_zero, 0)
    return _variance_backward(halved, input, dim, unbiased, keepdim, correction)


def _mean_backward(
    grad: Tensor, input: Tensor, dim: int | Sequence[int] | None, unbiased: bool | None, keepdim: bool
) -> Tensor:
    dim, _ = _spread_arguments("var", dim, unbiased, None)
    shape = tuple(input.shape)
    return expanded(grad / count_of(shape, dim), shape, dim, keepdim)


@primitive(out="cast", dims="reduced")
def var(
    xp: Namespace, input: Array, dim: int | Sequence[int] | bool | None = None, unbiased: bool | None = None,
    keepdim: bool = False, *, correction: float | None = None,
) -> Array:  # fmt: skip
    """Return the variance over the dimensions `dim`, or over all: the sum of squared deviations, divided by their
    number minus `correction`.

    `correction` is 1 unless given; `unbiased` (which may stand in the place of `dim`) is the older form, True for 1 and
    False for 0. The variance of complex numbers is real. Raises RuntimeError for integers.

    >>> tl.var(tl.tensor([1.0, 2.0, 3.0, 4.0]), correction=0)
    tensor(1.2500)
    """
    variance, _ = _variance(xp, "var", input, dim, unbiased, keepdim, correction)
    return converted(xp, variance, _real_like(input.dtype))


derivatives(var, input=_variance_backward)


@primitive(out="cast", dims="reduced")
def std(
    xp: Namespace, input: Array, dim: int | Sequence[int] | bool | None = None, unbiased: bool | None = None,
    keepdim: bool = False, *, correction: float | None = None,
) -> Array:  # fmt: skip
    """Return the standard deviation over the dimensions `dim`, or over all: the square root of `var`.

    >>> tl.std(tl.tensor([[1.0, 3.0], [2.0, 2.0]]), dim=1)
    tensor([1.4142, 0.0000])
    """
    variance, _ = _variance(xp, "std", input, dim, unbiased, keepdim, correction)
    return converted(xp, xp.sqrt(variance, out=variance), _real_like(input.dtype))


derivatives(std, input=_deviation_backward)


@primitive(outputs=True, method=False, dims="reduced")
def var_mean(
    xp: Namespace, input: Array, dim: int | Sequence[int] | bool | None = None, unbiased: bool | None = None,
    keepdim: bool = False, *, correction: float | None = None,
) -> tuple[Array, Array]:  # fmt: skip
    """Return the variance and the mean over the dimensions `dim`, or over all; see `var`.

    >>> tl.var_mean(tl.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
    """
    variance, mean = _variance(xp, "var_mean", input, dim, unbiased, keepdim, correction)
    return converted(xp, variance, _real_like(input.dtype)), converted(xp, mean, input.dtype)


derivatives(
    var_mean,
    input=lambda grads, input, dim, unbiased, keepdim, correction: (
        _variance_backward(grads[0], input, dim, unbiased, keepdim, correction)
        + _mean_backward(grads[1], input, dim, unbiased, keepdim)
    ),
)


@primitive(outputs=True, method=False, dims="reduced")
def std_mean(
    xp: Namespace, input: Array, dim: int | Sequence[int] | bool | None = None, unbiased: bool | None = None,
    keepdim: bool = False, *, correction: float | None = None,
) -> tuple[Array, Array]:  # fmt: skip
    """Return the standard deviation and the mean over the dimensions `dim`, or over all; see `std`.

    >>> tl.std_mean(tl.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
    """
    variance, mean = _variance(xp, "std_mean", input, dim, unbiased, keepdim, correction)
    deviation = converted(xp, xp.sqrt(variance, out=variance), _real_like(input.dtype))
    return deviation, converted(xp, mean, input.dtype)


derivatives(
    std_mean,
    input=lambda grads, input, result0, dim, unbiased, keepdim, correction: (
        _deviation_backward(grads[0], input, result0, dim, unbiased, keepdim, correction)
        + _mean_backward(grads[1], input, dim, unbiased, keepdim)
    ),
)


# ------------------------------------------------------------------------------------------------- medians and modes


def _along_last(xp: Namespace, function: str, input: Array, dim: int) -> tuple[Any, int]:
    """Return the input with `dim` moved to the end (a zero-dimensional one as a line of one element), and `dim`."""
    axis = one_axis(dim, input.ndim, function)
    nonempty(function, input.shape, axis)
    return (xp.moveaxis(input, axis, -1) if input.ndim else input.reshape(1)), axis


def _picked(xp: Namespace, lines: Array, places: Array, axis: int, keepdim: bool, scalar: bool) -> tuple[Any, Any]:
    """Return the elements at one index of each line, and the indices, in the shape of the reduction's result."""
    values = xp.take_along_axis(lines, places, -1)
    if scalar:
        return values.reshape(()), places.reshape(())
    if keepdim:
        return xp.moveaxis(values, -1, axis), xp.moveaxis(places, -1, axis)
    return values[..., 0], places[..., 0]


def _middle(xp: Namespace, lines: Array, skip_nan: bool) -> Array:
    """Return the index of the median of each line, the lower of two."""
    lines = comparable(lines)
    count = lines.shape[-1]
    missing = xp.isnan(lines) if lines.dtype.kind not in "biu" else None
    if not lines.size:
        return xp.zeros((*lines.shape[:-1], 1), _INT64)
    if missing is None or not skip_nan:
        half = (count - 1) // 2
        places: Array = xp.argpartition(lines, half, -1)[..., half : half + 1]
        if missing is not None:
            found = xp.any(missing, axis=-1)[..., None]
            places = xp.where(found, xp.argmax(missing, axis=-1)[..., None], places)
        return places
    left = count - xp.count_nonzero(missing, axis=-1)
    half = xp.maximum((left - 1) // 2, 0)[..., None]
    return xp.take_along_axis(xp.argsort(lines, -1, kind="stable"), half, -1)


def _median_along(
    xp: Namespace, function: str, input: Array, dim: int, keepdim: bool, skip_nan: bool
) -> tuple[Any, Any]:
    if input.dtype.kind in "bc":
        unsupported(function, input.dtype)
    lines, axis = _along_last(xp, function, input, dim)
    return _picked(xp, lines, _middle(xp, lines, skip_nan), axis, keepdim, not input.ndim)


def _median_all(xp: Namespace, function: str, input: Array, skip_nan: bool) -> Array:
    if input.dtype.kind in "bc":
        unsupported(function, input.dtype)
    if not input.size:
        return xp.full((), np.nan).astype(input.dtype)
    line = input.reshape(-1)
    return line[_middle(xp, line, skip_nan)].reshape(())


@internal(name="median", outputs=("values", "indices"), out=True)
def _median_dim(xp: Namespace, input: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
    """Return the medians along `dim` and their indices."""
    return _median_along(xp, "median", input, dim, keepdim, False)


@internal(name="nanmedian", outputs=("values", "indices"), out=True)
def _nanmedian_dim(xp: Namespace, input: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
    """Return the medians of the elements along `dim` that are not NaN, and their indices."""
    return _median_along(xp, "nanmedian", input, dim, keepdim, True)


@internal(name="median_all", out=True)
def _median_of_all(xp: Namespace, input: Array) -> Array:
    """Return the median of all elements."""
    return _median_all(xp, "median", input, False)


@internal(name="nanmedian_all", out=True)
def _nanmedian_of_all(xp: Namespace, input: Array) -> Array:
    """Return the median of all elements that are not NaN."""
    return _median_all(xp, "nanmedian", input, True)


for _one in (_median_of_all, _nanmedian_of_all):
    derivatives(_one, input=lambda grad, input, result: evenly(grad, input, result))

_KERNELS = {
    "median": (undispatched(_median_of_all), undispatched(_median_dim)),
    "nanmedian": (undispatched(_nanmedian_of_all), undispatched(_nanmedian_dim)),
}


def _overloaded(
    function: str, input: Tensor, dim: int | None, keepdim: bool, out: Tensor | tuple[Tensor, ...] | None
) -> Any:
    require_tensor(function, input)
    of_all, along = _KERNELS[function]
    if dim is None:
        if keepdim:
            raise TypeError(f'{function}() missing 1 required positional arguments: "dim", which keepdim needs')
        return of_all(input) if out is None else of_all(input, out=out)
    return along(input, dim, keepdim) if out is None else along(input, dim, keepdim, out=out)


@overload
def median(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def median(
    input: Tensor, dim: int, keepdim: bool = False, *, out: tuple[Tensor, ...] | None = None
) -> return_types.median: ...
@composite(method=True, guard=False, dims="along")
def median(
    input: Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Any:
    """Return the median of all elements; with `dim`, a named tuple (values, indices).

    Of an even number of elements it is the lower of the middle two; with NaN among them it is NaN (see `nanmedian`).
    The median of an empty tensor is NaN without `dim`, an IndexError with it.

    >>> tl.median(tl.tensor([3.0, 1.0, 2.0, 4.0]))
    tensor(2.)
    """
    return _overloaded("median", input, dim, keepdim, out)


@overload
def nanmedian(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def nanmedian(
    input: Tensor, dim: int, keepdim: bool = False, *, out: tuple[Tensor, ...] | None = None
) -> return_types.nanmedian: ...
@composite(method=True, guard=False, dims="along")
def nanmedian(
    input: Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Any:
    """Return the median of the elements that are not NaN, of all or, with the indices, along `dim`; see `median`.

    >>> tl.nanmedian(tl.tensor([3.0, tl.nan, 2.0]))
    tensor(2.)
    """
    return _overloaded("nanmedian", input, dim, keepdim, out)


#: The longest lines that PyTorch sorts by insertion sort alone.
_INSERTED = 16


def _inserted(xp: Namespace, lines: Any) -> Any:
    """Return the order after an insertion sort of each line by `<`, where an element passes a NaN only to the front."""
    ordered = lines
    places = xp.arange(lines.shape[-1])
    order = xp.broadcast_to(places, lines.shape)
    for count in range(1, lines.shape[-1]):
        element = ordered[..., count : count + 1]
        smaller = element < ordered[..., :count]
        # Insert after the last element that is not greater; at the front where it is smaller than the first.
        place = count - xp.argmax(~smaller[..., ::-1], axis=-1)[..., None]
        place = xp.where(smaller[..., :1], 0, place)
        source = xp.where(places < place, places, places - 1)
        source = xp.where(places == place, count, xp.where(places > count, places, source))
        ordered = xp.take_along_axis(ordered, source, -1)
        order = xp.take_along_axis(order, source, -1)
    return order


@primitive(outputs=("values", "indices"), out=True, dims="along")
def mode(xp: Namespace, input: Array, dim: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
    """Return the most frequent elements along `dim`, the smallest of several, and where each occurs last.

    A NaN is equal to no other element, so that each counts as one that occurs once. In lines of up to 16 elements, NaN
    come where PyTorch's sort leaves them, which decides between elements of which all occur once; in longer lines,
    where PyTorch's order is not defined, they come last.

    >>> tl.mode(tl.tensor([3, 1, 3, 1, 2]))
    tensorlike.return_types.mode(
    values=tensor(1),
    indices=tensor(3))
    """
    if input.dtype.kind == "c":
        unsupported("mode", input.dtype)
    lines, axis = _along_last(xp, "mode", input, dim)
    order = xp.argsort(comparable(lines), -1, kind="stable")
    if 1 < lines.shape[-1] <= _INSERTED and lines.size and lines.dtype.kind not in "biu" and xp.isnan(lines).any():
        order = _inserted(xp, lines)
    ordered = xp.take_along_axis(lines, order, -1)
    places = xp.arange(lines.shape[-1])
    # The length of the run of equal elements up to each index; the first maximum is the end of the longest run.
    starts = xp.ones(lines.shape, bool)
    starts[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    length = places - xp.maximum.accumulate(xp.where(starts, places, 0), -1)
    if not lines.size:
        return _picked(xp, lines, xp.zeros((*lines.shape[:-1], 1), _INT64), axis, keepdim, False)
    ends = xp.argmax(length, axis=-1)[..., None]
    return _picked(xp, lines, xp.take_along_axis(order, ends, -1), axis, keepdim, not input.ndim)


for _each in (_median_dim, _nanmedian_dim, mode):
    derivatives(
        _each,
        input=lambda grad, input_shape, indices, dim, keepdim: place_picked(grad, indices, input_shape, dim, keepdim),
    )


# ------------------------------------------------------------------------------------------------------- quantiles

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile(
    function: str, input: Any, q: Any, dim: int | None, keepdim: bool, interpolation: str, out: Any, skip_nan: bool
) -> Tensor:
    if not hasattr(input, "_tl_data"):
        wrong_type(function, "input", 1, input)
    dtype = input._tl_data.dtype
    if dtype.kind != "f" or dtype.itemsize < 4:
        raise RuntimeError(
            f"{function}(): {function}() input tensor must be either float or double dtype, got {input.dtype}"
        )
    if not input._tl_data.size:
        raise RuntimeError(f"{function}(): {function}() input tensor must be non-empty, got shape {list(input.shape)}")
    if hasattr(q, "_tl_data"):
        if q._tl_data.ndim > 1:
            raise RuntimeError(
                f"{function}(): {function}() q must be a scalar or 1D tensor, got {q._tl_data.ndim} dimensions"
            )
        if q._tl_data.dtype != dtype:
            raise RuntimeError(
                f"{function}(): {function}() q tensor must be same dtype as the input tensor, got {q.dtype} and "
                f"{input.dtype}"
            )
        with device_guard(q._tl_data):
            outside = bool(((q._tl_data < 0) | (q._tl_data > 1)).any())
    elif isinstance(q, (int, float)) and not isinstance(q, bool):
        outside = not 0 <= q <= 1
        if not outside:
            q = make_tensor(q, dtype=input.dtype, device=input.device)
    else:
        raise TypeError(
            f"{function}() received an invalid combination of arguments: q must be Tensor or float, not "
            f"{type(q).__name__} ({q!r})"
        )
    if outside:
        raise RuntimeError(f"{function}(): {function}() q must be in the range [0, 1] but got {q}")
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(
            f"{function}(): {function}() interpolation must be one of linear, lower, higher, midpoint or nearest, but "
            f"got {interpolation}"
        )
    shape = tuple(input.shape)
    axis = None if dim is None else one_axis(dim, len(shape), function)
    lines = input.reshape(-1) if axis is None or not shape else input.movedim(axis, -1)
    ordered = lines.sort(-1)[0]
    last = lines.shape[-1] - 1
    missing = lines.isnan()
    many = q.dim() == 1
    fractions = q if many else q.reshape(1)
    if skip_nan:
        # Lines of only NaN keep their first element, which is NaN.
        ranks = fractions * (last - missing.sum(-1, True)).clamp(min=0)
    else:
        # NaN is sorted to the end, and is the result where there is any.
        ranks = (fractions * last).expand((*lines.shape[:-1], fractions.shape[0]))
        ranks = ranks.masked_fill(missing.any(-1, True), last)
    if interpolation == "nearest":
        ranks = ranks.round()
    elif interpolation == "higher":
        ranks = ranks.ceil()
    below = ranks.floor()
    result = pick_along(ordered, below.long(), below.dim() - 1, True)
    if interpolation in ("linear", "midpoint"):
        above = pick_along(ordered, ranks.ceil().long(), below.dim() - 1, True)
        result = result + (above - result) * (ranks - below if interpolation == "linear" else 0.5)
    if many:
        result = result.movedim(-1, 0)
    else:
        result = result.squeeze(-1)
    if keepdim and shape:
        result = result.unsqueeze(axis + many) if axis is not None else result.reshape((*q.shape, *[1] * len(shape)))
    return result if out is None else write_out(function, out, result._tl_data, input, rule="exact")


@composite(method=True, dims="reduced")
def quantile(
    input: Tensor,
    q: Tensor | float,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
    out: Tensor | None = None,
) -> Tensor:
    """Return the `q`-th quantiles along `dim`, or of all elements; for a one-dimensional `q` they come first.

    `interpolation` is one of linear, lower, higher, midpoint and nearest. Where there is NaN, the quantiles are NaN.
    Composes `sort` with picking and interpolating. Raises RuntimeError unless the input is float32 or float64 and `q`
    of the same dtype, between 0 and 1.

    >>> tl.quantile(tl.tensor([1.0, 2.0, 3.0, 4.0]), 0.5)
    tensor(2.5000)
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation, out, False)


@composite(method=True, dims="reduced")
def nanquantile(
    input: Tensor,
    q: Tensor | float,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
    out: Tensor | None = None,
) -> Tensor:
    """Return the `q`-th quantiles of the elements that are not NaN; see `quantile`.

    >>> tl.nanquantile(tl.tensor([1.0, tl.nan, 3.0]), 0.5)
    tensor(2.)
    """
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, out, True)


def _check_weights(argument: str, weights: Tensor | None, count: int, kinds: str, what: str) -> None:
    if weights is None:
        return
    if weights.dim() > 1:
        raise RuntimeError(
            f"cov(): expected {argument} to have one or fewer dimensions but got {argument} with {weights.dim()} "
            "dimensions"
        )
    if weights._tl_data.dtype.kind.replace("V", "f") not in kinds:
        raise RuntimeError(
            f"cov(): expected {argument} to have {what} dtype but got {argument} with "
            f"{dtype_name(weights._tl_data.dtype)} dtype"
        )
    if weights.numel() != count:
        raise RuntimeError(
            f"cov(): expected {argument} to have the same numel as there are observations in the input but got "
            f"{weights.numel()} != {count}"
        )
    if count and bool((weights < 0).any()):
        raise RuntimeError(f"cov(): {argument} cannot be negative")


@composite(method=True)
def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """Return the covariances of the variables in the rows of `input`, whose columns are observations.

    Divided by the number of observations less `correction`. `fweights` are integers, how often each observation was
    made; `aweights` are its weight. Raises RuntimeError for more than two dimensions, booleans, and weights of another
    size.

    >>> tl.cov(tl.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if input.dim() > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {input.dim()} dimensions"
        )
    if input._tl_data.dtype.kind == "b":
        raise RuntimeError("cov(): bool dtype is not supported for input: convert it to numbers first")
    rows = input.view((1, -1)) if input.dim() < 2 else input
    count = rows.size(1)
    _check_weights("fweights", fweights, count, "iu", "integral")
    _check_weights("aweights", aweights, count, "f", "floating point")
    weights = fweights
    if aweights is not None:
        weights = aweights if weights is None else weights * aweights
    if weights is not None:
        weights = weights.reshape(-1)
    total: Any = count if weights is None else weights.sum()
    mean = (rows if weights is None else rows * weights).sum(1, keepdim=True) / total
    if correction == 0 or weights is None or aweights is None:
        freedom = total - correction
    else:
        freedom = total - correction * (weights * aweights).sum() / total
    if float(freedom) <= 0:
        warnings.warn(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.",
            UserWarning,
            stacklevel=outside_stacklevel(),
        )
        freedom = 0.0 if weights is None else freedom * 0
    away = rows - mean
    product = away.matmul((away if weights is None else away * weights).t().conj())
    # A quotient by the Python number 0 is nan or infinite, as it is by a tensor.
    return product.div(freedom).squeeze()  # type: ignore[no-any-return]


@composite(method=True)
def corrcoef(input: Tensor) -> Tensor:
    """Return the correlation coefficients of the variables in the rows of `input`, whose columns are observations.

    Raises RuntimeError for more than two dimensions and for booleans.

    >>> tl.corrcoef(tl.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if input.dim() > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {input.dim()} dimensions"
        )
    found = cov(input)
    if not found.dim():
        return found / found
    spread = found.diagonal()
    spread = (spread.real if spread._tl_data.dtype.kind == "c" else spread).sqrt()
    found = found / spread.unsqueeze(1) / spread.unsqueeze(0)
    return found if found._tl_data.dtype.kind == "c" else found.clamp(-1, 1)
