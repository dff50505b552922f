"""The arguments of a step as dask arrays whose chunks lie side by side: chunk `i` of each holds the same rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from tensorlike.dispatch.pytree import leaves

from ._dask import dask_module


def place_of(sizes: Sequence[float], index: int) -> str:
    """Return where the chunk `index` lies among chunks of so many rows, for errors."""
    ends = sizes[: index + 1]
    if any(math.isnan(size) for size in ends):
        return f"chunk {index} of {len(sizes)}"
    end = int(sum(ends))
    return f"chunk {index} of {len(sizes)} (rows {end - int(ends[-1])} to {end})"


class Rows(NamedTuple):
    """Arrays that are cut into the same rows."""

    #: The dask arrays, the leaves of the arguments in order.
    arrays: tuple[Any, ...]
    #: The number of rows in each chunk, nan where dask does not know it.
    sizes: tuple[float, ...]


def _as_dask_array(value: Any, position: int, function: str) -> Any:
    da = dask_module("dask.array")
    if hasattr(value, "to_dask"):
        value = value.to_dask()
    if hasattr(value, "to_dask_array"):
        # A dask DataFrame, whose chunks have as many rows as they turn out to have.
        value = value.to_dask_array()
    if not isinstance(value, da.Array):
        raise TypeError(
            f"{function}(): array {position} must be a dask array, not {type(value).__name__}; make it one with "
            "dask.array.from_array(values, chunks=...), or pass what is the same for every chunk among the parameters"
        )
    if value.ndim == 0:
        raise ValueError(f"{function}(): array {position} has no dimensions, and so no rows to be cut into chunks")
    cut = [dim for dim, count in enumerate(value.numblocks) if dim and count != 1]
    if cut:
        whole = ", ".join(f"{dim}: -1" for dim in cut)
        raise ValueError(
            f"{function}(): array {position} is cut along dimension {cut[0]} into chunks of "
            f"{_short(value.chunks[cut[0]])}: a chunk must hold whole rows. Rechunk it with array.rechunk({{{whole}}})"
        )
    if value.dtype == object:
        raise TypeError(f"{function}(): array {position} has the dtype object, which tensors do not have")
    return value


def _short(sizes: Sequence[Any]) -> str:
    """Return the sizes of chunks as errors show them: all of a few, the first ones of many."""
    listed = ", ".join(str(size) for size in sizes[:4])
    return f"({listed}{', ...' if len(sizes) > 4 else ''})"


def _same(one: float, other: float) -> bool:
    """Return whether two sizes can be the same; one that is not known is compared where the chunk lies."""
    return one == other or math.isnan(one) or math.isnan(other)


def rows_of(arguments: Sequence[Any], function: str) -> Rows:
    """Return the arrays in `arguments`, a pytree, once it is certain that their chunks line up by rows.

    A leaf is a dask array, or has a method `to_dask` or `to_dask_array`. Raises TypeError for other leaves, ValueError
    for arrays that are cut along another dimension than the first, or into different rows.
    """
    found = leaves(tuple(arguments))
    if not found:
        raise TypeError(f"{function}(): at least one dask array is needed, whose chunks the loss is computed of")
    arrays = tuple(_as_dask_array(value, position, function) for position, value in enumerate(found))
    sizes = tuple(arrays[0].chunks[0])
    for position, array in enumerate(arrays[1:], 1):
        others = tuple(array.chunks[0])
        if len(others) != len(sizes) or not all(map(_same, sizes, others)):
            raise ValueError(
                f"{function}(): arrays 0 and {position} do not line up by rows: their chunks have {_short(sizes)} and "
                f"{_short(others)} rows, {len(sizes)} and {len(others)} chunks. Rechunk one like the other, with "
                "other.rechunk({0: array.chunks[0]})"
            )
        sizes = tuple(b if math.isnan(a) else a for a, b in zip(sizes, others))
    return Rows(arrays, sizes)
