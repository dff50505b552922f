"""Functions of the standard that reduce, accumulate, search, sort, and find what is unique."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tensorlike._originals import tl

from ._promotion import Array, Dtype, Number, axes_of, promoted, wide_dtype

Axis = int | tuple[int, ...] | None


def _one_by_one(x: Array, axis: Axis, keepdims: bool, function: Callable[[Array, int], Array]) -> Array:
    """Reduce axes one after the other, by a function that takes one."""
    axes = sorted(axes_of(x, axis), reverse=True)
    for one in axes:
        x = function(x, one)
    for one in reversed(axes if keepdims else []):
        x = tl.unsqueeze(x, one)
    return x


def _kept(found: Array, x: Array, axis: Axis, keepdims: bool) -> Array:
    """Return a reduction over all axes with the dimensions that it is to keep."""
    return found.reshape((1,) * len(x.shape)) if keepdims and axis is None else found


def sum(x: Array, /, *, axis: Axis = None, dtype: Dtype | None = None, keepdims: bool = False) -> Array:
    """Return sums; those of integers have the widest dtype of their kind."""
    found = tl.sum(x, axes_of(x, axis), keepdims, dtype=dtype or wide_dtype(x)) if axis != () else _cast(x, dtype)
    return found


def _cast(x: Array, dtype: Dtype | None) -> Array:
    wanted = dtype or wide_dtype(x)
    return tl.clone(x) if wanted is None else x.to(wanted)


def prod(x: Array, /, *, axis: Axis = None, dtype: Dtype | None = None, keepdims: bool = False) -> Array:
    """Return products; those of integers have the widest dtype of their kind."""
    if axis is None and not keepdims:
        return tl.prod(x, dtype=dtype or wide_dtype(x))
    return _one_by_one(_cast(x, dtype), axis, keepdims, lambda x, one: tl.prod(x, one, dtype=x.dtype))


def mean(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return means."""
    return tl.mean(x, axes_of(x, axis), keepdims) if len(x.shape) and axis != () else tl.clone(x)


def max(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return the largest elements."""
    return tl.amax(x, axes_of(x, axis), keepdims) if axis != () else tl.clone(x)


def min(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return the smallest elements."""
    return tl.amin(x, axes_of(x, axis), keepdims) if axis != () else tl.clone(x)


def std(x: Array, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Array:
    """Return standard deviations; `correction` is subtracted from the number of elements."""
    return tl.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))


def var(x: Array, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Array:
    """Return variances; `correction` is subtracted from the number of elements."""
    if axis == ():
        return tl.zeros_like(x)
    return tl.var(x, axes_of(x, axis), correction=correction, keepdim=keepdims)


def _truth(x: Array) -> Array:
    """Return booleans, which those of other dtypes are not in PyTorch: bytes stay bytes."""
    return x if getattr(x, "dtype", None) in (None, tl.bool) else tl.ne(x, 0)


def all(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return whether all elements are true."""
    x = _truth(x)
    return tl.all(x) if axis is None and not keepdims else _one_by_one(x, axis, keepdims, tl.all)


def any(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return whether any element is true."""
    x = _truth(x)
    return tl.any(x) if axis is None and not keepdims else _one_by_one(x, axis, keepdims, tl.any)


def count_nonzero(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return the numbers of elements that are not zero."""
    return sum(tl.ne(x, 0).to(tl.int64), axis=axis, keepdims=keepdims)


def _accumulated(
    name: str, x: Array, axis: int | None, dtype: Dtype | None, first: int | None,
    function: Callable[[Array, int], Array],
) -> Array:  # fmt: skip
    if axis is None:
        if len(x.shape) != 1:
            raise ValueError(f"{name}(): argument 'axis' is needed where the array has several dimensions")
        axis = 0
    x = _cast(x, dtype)
    found = function(x, axis)
    if first is None:
        return found
    shape = list(x.shape)
    shape[axis] = 1
    return tl.cat([tl.full(shape, first, dtype=x.dtype, device=x.device), found], axis)


def cumulative_sum(
    x: Array, /, *, axis: int | None = None, dtype: Dtype | None = None, include_initial: bool = False
) -> Array:
    """Return the sums of all elements up to each; with `include_initial` they begin with 0."""
    first = 0 if include_initial else None
    name = "cumulative_sum"
    return _accumulated(name, x, axis, dtype, first, lambda x, a: tl.cumsum(x, a, dtype=x.dtype))


def cumulative_prod(
    x: Array, /, *, axis: int | None = None, dtype: Dtype | None = None, include_initial: bool = False
) -> Array:
    """Return the products of all elements up to each; with `include_initial` they begin with 1."""
    first = 1 if include_initial else None
    name = "cumulative_prod"
    return _accumulated(name, x, axis, dtype, first, lambda x, a: tl.cumprod(x, a, dtype=x.dtype))


def diff(
    x: Array, /, *, axis: int = -1, n: int = 1, prepend: Array | None = None, append: Array | None = None
) -> Array:
    """Return the differences of neighbours along an axis, `n` times over."""
    return tl.diff(x, n, axis, prepend, append)


# Searching.


def argmax(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Return the indices of the largest elements: the first one of equals."""
    return _kept(tl.argmax(x, axis, keepdims and axis is not None), x, axis, keepdims)


def argmin(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Return the indices of the smallest elements: the first one of equals."""
    return _kept(tl.argmin(x, axis, keepdims and axis is not None), x, axis, keepdims)


def nonzero(x: Array, /) -> tuple[Array, ...]:
    """Return the indices of elements that are not zero, an array for each axis; ValueError without axes."""
    if not len(x.shape):
        raise ValueError("nonzero(): an array without dimensions has no indices")
    return tuple(tl.nonzero(x, as_tuple=True))


def searchsorted(x1: Array, x2: Array | Number, /, *, side: str = "left", sorter: Array | None = None) -> Array:
    """Return where the elements of `x2` would stand in `x1`, which is sorted, or is by `sorter`."""
    one, two = promoted("searchsorted", x1, x2)
    return tl.searchsorted(one, two, side=side, sorter=sorter)


def where(condition: Array, x1: Array | Number, x2: Array | Number, /) -> Array:
    """Return the elements of `x1` where a condition holds, and those of `x2` elsewhere."""
    one, two = promoted("where", x1, x2)
    return tl.where(condition, one, two)


def isin(x1: Array | Number, x2: Array | Number, /, *, invert: bool = False) -> Array:
    """Return which elements of `x1` are in `x2`, or are not."""
    one, two = promoted("isin", x1, x2)
    return tl.isin(one, two, invert=invert)


def sort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Return the elements in order along an axis."""
    return tl.sort(x, dim=axis, descending=descending, stable=stable)[0]


def argsort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Return the indices that put the elements in order along an axis."""
    return tl.argsort(x, dim=axis, descending=descending, stable=stable)


# What is unique.


class UniqueAll(NamedTuple):
    """The unique values, the index of the first of each, where each element is among them, and their counts."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    """The unique values and how often each occurs."""

    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    """The unique values, and where each element is among them."""

    values: Array
    inverse_indices: Array


def unique_all(x: Array, /) -> UniqueAll:
    """Return the unique values with all that can be said of them."""
    values, inverse, counts = tl.unique(x, return_inverse=True, return_counts=True)
    # The first element of each comes first in a stable order of the values.
    order = tl.argsort(inverse.reshape(-1), stable=True)
    return UniqueAll(values, order[tl.cumsum(counts, 0) - counts], inverse, counts)


def unique_counts(x: Array, /) -> UniqueCounts:
    """Return the unique values and how often each occurs."""
    values, counts = tl.unique(x, return_counts=True)
    return UniqueCounts(values, counts)


def unique_inverse(x: Array, /) -> UniqueInverse:
    """Return the unique values, and where each element is among them."""
    values, inverse = tl.unique(x, return_inverse=True)
    return UniqueInverse(values, inverse)


def unique_values(x: Array, /) -> Array:
    """Return the unique values."""
    return tl.unique(x)
