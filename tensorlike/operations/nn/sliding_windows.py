"""Sliding windows over the last dimensions: arguments, sizes, and strided views of arrays."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Sequence
from typing import Any

from tensorlike.tensor.dims import first_that_is_no_integer
from tensorlike.tensor.types import Array, Namespace

from ..indexing.written_values import converted_number

Sizes = tuple[int, ...]
Pads = tuple[tuple[int, int], ...]


def sizes(value: int | Sequence[int], count: int, name: str, function: str) -> Sizes:
    """Return an argument that is one integer or one for each of `count` dimensions.

    Raises TypeError for values other than integers, RuntimeError for another number of them.
    """
    items = value if isinstance(value, (tuple, list)) else (value,)
    try:
        found = tuple(operator.index(v) for v in items)
    except TypeError:
        position = first_that_is_no_integer(items)
        bad = items[position]
        raise TypeError(
            f"{function}(): argument '{name}' must be tuple of ints, but found element of type {type(bad).__name__} at "
            f"pos {position}: got {value!r}"
        ) from None
    if len(found) == 1:
        return found * count
    if len(found) != count:
        words = {1: "one int", 2: "two ints", 3: "three ints"}
        raise RuntimeError(
            f"{function}: {name} must either be a single int, or a tuple of {words.get(count, f'{count} ints')}: got "
            f"{value!r}"
        )
    return found


def output_size(size: int, kernel: int, stride: int, before: int, after: int, dilation: int, ceil_mode: bool) -> int:
    """Return the number of windows along a dimension; with `ceil_mode` the last may extend past its end."""
    room = size + before + after - dilation * (kernel - 1) - 1
    count = (room + (stride - 1 if ceil_mode else 0)) // stride + 1
    # A window that would start in the padding after the end is left out.
    if ceil_mode and (count - 1) * stride >= size + before:
        count -= 1
    return count


def padded(xp: Namespace, array: Any, pads: Pads, value: Any = 0) -> Any:
    """Pad the last dimensions of `array` with `value`; negative amounts cut off."""
    if all(p == (0, 0) for p in pads):
        return array
    lead = array.ndim - len(pads)
    if any(b < 0 or a < 0 for b, a in pads):
        cut = tuple(slice(max(-b, 0), n - max(-a, 0)) for (b, a), n in zip(pads, array.shape[lead:]))
        array = array[(..., *cut)]
        pads = tuple((max(b, 0), max(a, 0)) for b, a in pads)
    shape = (*array.shape[:lead], *(n + b + a for (b, a), n in zip(pads, array.shape[lead:])))
    result = xp.zeros(shape, array.dtype) if value == 0 else xp.full(shape, converted_number(value, array.dtype))
    result[(..., *(slice(b, b + n) for (b, _), n in zip(pads, array.shape[lead:])))] = array  # type: ignore[index]
    return result


def crop(array: Any, pads: Pads, shape: Sequence[int]) -> Array:
    """Return the part of a padded array that is not padding; the inverse of `padded`."""
    if all(p == (0, 0) for p in pads):
        return array  # type: ignore[no-any-return]
    return array[(..., *(slice(b, b + n) for (b, _), n in zip(pads, shape)))]  # type: ignore[no-any-return]


def windows(xp: Namespace, array: Array, kernel: Sizes, stride: Sizes, dilation: Sizes, out: Sizes) -> Any:
    """Return a view of the shape (..., *kernel, *out): the windows over the last dimensions of `array`."""
    count = len(kernel)
    lead = array.shape[: array.ndim - count]
    steps = array.strides[array.ndim - count :]
    return xp.lib.stride_tricks.as_strided(
        array,
        (*lead, *kernel, *out),
        (
            *array.strides[: array.ndim - count],
            *(s * d for s, d in zip(steps, dilation)),
            *(s * t for s, t in zip(steps, stride)),
        ),
    )


@functools.lru_cache(maxsize=256)
def positions(kernel: Sizes) -> tuple[Sizes, ...]:
    """Return the positions inside a window, row by row."""
    return tuple(itertools.product(*(range(k) for k in kernel)))


@functools.lru_cache(maxsize=4096)
def places(position: Sizes, stride: Sizes, dilation: Sizes, out: Sizes) -> tuple[Any, ...]:
    """Return the index that selects this position in every window at once."""
    return (
        ...,
        *(
            slice(p * d, p * d + (n - 1) * s + 1, s) if n else slice(0, 0)
            for p, s, d, n in zip(position, stride, dilation, out)
        ),
    )


def accumulate_windows(
    xp: Namespace, values: Any, shape: Sequence[int], kernel: Sizes, stride: Sizes, dilation: Sizes, out: Sizes
) -> Array:
    """Add windows (..., *kernel, *out) up at their positions in an array of `shape`."""
    count = len(kernel)
    lead = values.shape[: values.ndim - 2 * count]
    result = xp.zeros((*lead, *shape), values.dtype)
    before = (slice(None),) * len(lead)
    for position in positions(kernel):


        result[places(position, stride, dilation, out)] += values[(*before, *position)]
    return result
