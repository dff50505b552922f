"""Reductions of segments: runs of neighbouring elements along a dimension, with given lengths."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorlike._library_name import LIBRARY
from tensorlike.autograd.tensor_base import wrap
from tensorlike.tensor.backends import namespace_of
from tensorlike.tensor.declarations.declare import composite
from tensorlike.tensor.declarations.runtime import device_guard
from tensorlike.tensor.dims import one_dim
from tensorlike.tensor.types import Array, Namespace, Number, Tensor

from ..indexing.scatter_reduce import scatter_reduce
from ..shared import not_implemented, require_tensor

_EMPTY = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": -float("inf"), "min": float("inf")}
_OF_SCATTER = {"sum": "sum", "mean": "sum", "prod": "prod", "max": "amax", "min": "amin"}


def _check_axis(data: Array, bounds: Array, axis: int, name: str) -> int:
    where = one_dim(axis, data.ndim)
    if bounds.ndim - 1 != where:
        raise RuntimeError(
            f"segment_reduce(): Expected axis to be the last dimension of {name} but got {where}: {name} has the shape "
            f"{list(bounds.shape)}"
        )
    if bounds.ndim > data.ndim or data.shape[:where] != bounds.shape[:where]:
        raise RuntimeError(
            f"segment_reduce(): Expected {name} to have the sizes of data before its last dimension, but the shapes "
            f"are {list(bounds.shape)} and {list(data.shape)}"
        )
    if bounds.dtype.kind not in "iu":
        not_implemented("segment_reduce", bounds.dtype, f"{name} must be a tensor of integers")
    return where


def _starts_and_lengths(
    xp: Namespace, data: Array, lengths: Array | None, offsets: Any, where: int, unsafe: bool
) -> tuple[Array, Array]:
    """Return the start and the length of each segment, in rows of segments."""
    rows = int(np.prod(data.shape[:where]))
    if lengths is not None:
        counts = lengths.reshape(rows, -1).astype(np.int64)
        if not unsafe:
            if counts.size == 0 and data.shape[where]:
                raise RuntimeError("segment_reduce(): lengths has no elements, but data has some")
            if counts.size and int(xp.min(counts)) < 0:
                raise RuntimeError("lengths contains negative value!")
            if counts.size and not bool((counts.sum(1) == data.shape[where]).all()):
                raise RuntimeError(
                    "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) "
                    f"when !unsafe. The size is {data.shape[where]}"
                )
        return xp.cumsum(counts, 1) - counts, counts
    ends = offsets.reshape(rows, -1).astype(np.int64)
    counts = ends[:, 1:] - ends[:, :-1]
    if counts.size and int(xp.min(counts)) < 0:
        raise RuntimeError("segment_reduce(): Expected segment_length >= 0 to be true: offsets must not fall")
    return ends[:, :-1], counts


def _segment_of(xp: Namespace, size: int, starts: Array, counts: Array) -> Array:
    """Return the index of the segment of each element; the number of segments for elements outside all."""
    total = counts.shape[1]
    places = xp.arange(size)
    if not total:
        return xp.zeros((counts.shape[0], size), np.int64)
    # Empty segments end where they start: check whether the last segment that started before the element covers it.
    ends = starts + counts
    found = (ends[:, None, :] <= places[None, :, None]).sum(2) if total * size < 1 << 16 else _searched(xp, ends, size)
    inside = (found < total) & (places[None, :] >= starts[:, :1])
    return xp.where(inside, found, total)


def _searched(xp: Namespace, ends: Array, size: int) -> Any:
    # One search for all rows: each row is shifted beyond the one before.
    shift = size + 1
    rows = xp.arange(ends.shape[0])[:, None]
    found = xp.searchsorted((xp.minimum(ends, size) + rows * shift).reshape(-1),
                            (xp.arange(size)[None, :] + rows * shift).reshape(-1), side="right")  # fmt: skip
    return found.reshape(-1, size) - rows * ends.shape[1]


@composite
def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Number | None = None,
) -> Tensor:
    """Reduce each segment of `data` along `axis`; segments are given by `lengths` or `offsets`.

    `reduce` is "sum", "mean", "max", "min" or "prod". `lengths` has the sizes of `data` before `axis`, and then one
    length for each segment, which add up to the size of `data` unless `unsafe`; `offsets` has where each begins, and
    the end of the last. `initial` takes part in each reduction, and stands for segments without elements, which
    otherwise give 0, NaN, -inf, inf and 1. Raises RuntimeError for lengths and offsets that do not fit,
    NotImplementedError for integers.

    >>> tl.segment_reduce(tl.tensor([1.0, 2.0, 3.0]), "sum", lengths=tl.tensor([2, 1]))
    tensor([3., 3.])
    """
    require_tensor("segment_reduce", data, "data")
    if reduce not in _EMPTY:
        raise RuntimeError(f"segment_reduce(): reduce must be either sum, mean, max, min or prod, got {reduce!r}")
    tensor: Any = data
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet: give lengths or offsets")
    bounds = lengths if offsets is None else offsets
    if bounds is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    array, given = tensor._tl_data, bounds._tl_data
    where = _check_axis(array, given, axis, "lengths" if offsets is None else "offsets")
    if array.dtype.kind in "biuc":
        not_implemented("segment_reduce", array.dtype, f"convert data first, e.g. with .to({LIBRARY}.float32)")
    with device_guard(array):
        xp = namespace_of(array)
        starts, counts = _starts_and_lengths(
            xp, array, given if offsets is None else None, None if offsets is None else given, where, unsafe
        )
        segments = _segment_of(xp, array.shape[where], starts, counts)
    total, inner = counts.shape[1], tuple(array.shape[where + 1 :])
    ones = (1,) * len(inner)
    batch = tuple(array.shape[:where])
    index = wrap(segments.reshape((*batch, array.shape[where], *ones))).expand(array.shape)
    start = tensor.detach().new_full((*batch, total + 1, *inner), _EMPTY[reduce])
    found = scatter_reduce(start, where, index, tensor, _OF_SCATTER[reduce]).narrow(where, 0, total)
    if initial is not None:
        if reduce == "prod":
            found = found * initial
        elif reduce in ("sum", "mean"):
            found = found + initial
        else:
            beaten = found < initial if reduce == "max" else found > initial
            found = found.masked_fill(beaten, initial)
    if reduce == "mean":
        sizes = wrap(counts.reshape((*batch, total, *ones)).astype(array.dtype))
        divided = found / sizes
        found = divided if initial is None else divided.where(sizes > 0, found)
    return found
