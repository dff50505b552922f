"""Functions of the standard that join, split, turn and index arrays."""

from __future__ import annotations

from collections.abc import Sequence

from tensorlike._originals import tl

from ._promotion import Array, axes_of, promoted

Axes = int | Sequence[int]


def concat(arrays: Sequence[Array], /, *, axis: int | None = 0) -> Array:
    """Return arrays joined along an axis, or one after the other with all their elements for None."""
    if not arrays:
        raise ValueError("concat(): at least one array is needed")
    found = promoted("concat", *arrays)
    return tl.cat([tl.flatten(x) for x in found]) if axis is None else tl.cat(found, axis)


def stack(arrays: Sequence[Array], /, *, axis: int = 0) -> Array:
    """Return arrays of one shape joined along a new axis."""
    if not arrays:
        raise ValueError("stack(): at least one array is needed")
    return tl.stack(promoted("stack", *arrays), axis)


def unstack(x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Return the arrays that `x` consists of along an axis."""
    return tuple(tl.unbind(x, axis))


def expand_dims(x: Array, /, axis: Axes = 0) -> Array:
    """Return `x` with new axes of size 1, at the places they have in the result."""
    axes = [axis] if isinstance(axis, int) else list(axis)
    count = len(x.shape) + len(axes)
    places = sorted(one % count if -count <= one < count else _absent(one, count) for one in axes)
    if len(set(places)) != len(places):
        raise ValueError(f"expand_dims(): argument 'axis' names an axis twice: {axis}")
    for place in places:
        x = tl.unsqueeze(x, place)
    return x


def _absent(axis: int, count: int) -> int:
    raise IndexError(f"axis {axis} is out of range for an array of {count} dimensions")


def squeeze(x: Array, /, axis: Axes) -> Array:
    """Return `x` without axes of size 1; ValueError for one of another size."""
    axes = axes_of(x, axis)
    for one in axes:
        if x.shape[one] != 1:
            raise ValueError(f"squeeze(): axis {one} has size {x.shape[one]}, not 1")
    return tl.squeeze(x, axes)


def flip(x: Array, /, *, axis: Axes | None = None) -> Array:
    """Return `x` with its elements in reverse order along axes."""
    return tl.flip(x, axes_of(x, axis))


def moveaxis(x: Array, source: int | tuple[int, ...], destination: int | tuple[int, ...], /) -> Array:
    """Return `x` with axes at other places."""
    return tl.moveaxis(x, source, destination)


def permute_dims(x: Array, /, axes: Sequence[int]) -> Array:
    """Return `x` with its axes in another order."""
    return tl.permute(x, tuple(axes))


def repeat(x: Array, repeats: int | Array, /, *, axis: int | None = None) -> Array:
    """Return `x` with its elements repeated, along an axis or all of them."""
    return tl.repeat_interleave(x, repeats, axis)


def reshape(x: Array, /, shape: Sequence[int], *, copy: bool | None = None) -> Array:
    """Return `x` in another shape: with `copy` in memory of its own, with `copy=False` a view or ValueError."""
    if copy is False:
        try:
            return x.view(tuple(shape))
        except RuntimeError as error:
            raise ValueError(f"reshape(): copy=False, and a view is not possible: {error}") from error
    found = tl.reshape(x, tuple(shape))
    return tl.clone(found) if copy else found


def roll(x: Array, /, shift: Axes, *, axis: Axes | None = None) -> Array:
    """Return `x` with elements shifted along axes, those that leave coming back at the other end."""
    if axis is not None and isinstance(shift, int) and not isinstance(axis, int):
        shift = (shift,) * len(axis)
    return tl.roll(x, shift, axis)


def tile(x: Array, repetitions: Sequence[int], /) -> Array:
    """Return `x` repeated along its axes."""
    return tl.tile(x, tuple(repetitions))


def take(x: Array, indices: Array, /, *, axis: int | None = None) -> Array:
    """Return the elements of `x` at indices along an axis, which only an array of one dimension may leave out."""
    if axis is None:
        if len(x.shape) != 1:
            raise ValueError("take(): argument 'axis' is needed where the array has several dimensions")
        axis = 0
    (axis,) = axes_of(x, axis)
    count = x.shape[axis]
    found = tl.index_select(x, axis, tl.where(indices < 0, indices + count, indices).reshape(-1).to(tl.int64))
    return found.reshape((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))


def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Array:
    """Return, for each line along an axis, its elements at the indices of the same line."""
    count = x.shape[axis]
    return tl.take_along_dim(x, tl.where(indices < 0, indices + count, indices).to(tl.int64), axis)
