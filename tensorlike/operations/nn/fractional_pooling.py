"""Fractional max pooling: windows at random positions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorlike.autograd.tensor_base import wrap
from tensorlike.tensor.backends import namespace_of
from tensorlike.tensor.declarations.runtime import guarded
from tensorlike.tensor.types import Array, Namespace, Tensor

from .declaring import array_of, functional, need_float
from .pooling import elements_at
from .sliding_windows import Sizes, sizes

_DIRECTIONS = {2: ("height", "width"), 3: ("time", "height", "width")}
#: The dimension of each of an image's random numbers: PyTorch draws the width of images first.
_SAMPLE_OF = {2: (1, 0), 3: (0, 1, 2)}


def _one_or_all(function: str, name: str, value: int | Sequence[int], count: int) -> Sizes:
    if isinstance(value, (tuple, list)) and len(value) != count:
        raise RuntimeError(f"{function}: {name} must either be a single Int or tuple of {count} Ints, got {value!r}")
    return sizes(value, count, name, function)


def _wanted(
    function: str, count: int, spatial: Any, output_size: int | Sequence[int] | None,
    output_ratio: tuple[float, ...] | None,
) -> Sizes:  # fmt: skip
    if output_size is None and output_ratio is None:
        raise ValueError(f"{function} requires specifying either an output_size or an output_ratio")
    if output_size is not None:
        return _one_or_all(function, "output_size", output_size, count)
    ratios = output_ratio if isinstance(output_ratio, (tuple, list)) else (output_ratio,) * count
    if len(ratios) != count:
        raise ValueError(f"{function} requires output_ratio to be one number or {count}, got {output_ratio!r}")
    return tuple(int(n * ratio) for n, ratio in zip(spatial, ratios))


def _check_samples(samples: Tensor, array: Array, count: int) -> None:
    given = array_of("fractional_max_pool", "_random_samples", 6, samples)
    if given.dtype != array.dtype:
        raise RuntimeError(f"Expect _random_samples to have the same dtype as input, got {samples.dtype}")
    if given.ndim != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {given.ndim}")
    batch = array.shape[0] if array.ndim == count + 2 else 1
    for dim, least in ((0, batch), (1, array.shape[-count - 1])):
        if given.shape[dim] < least:
            raise RuntimeError(f"Expect _random_samples.size({dim}) to be at least {least}; got {given.shape[dim]}.")
    if given.shape[2] != count:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {count}; got {given.shape[2]}.")


def _starts(xp: Namespace, sample: Array, size: int, out: int, kernel: int) -> Array:
    """Return the starts of the windows along a dimension, for every image; the last window ends at the end."""
    last = xp.full((*sample.shape, 1), size - kernel, np.int64)
    if out == 1:
        return last
    step = sample.dtype.type((size - kernel) / (out - 1))
    places = xp.arange(out - 1).astype(sample.dtype) + sample[..., None]
    first = (sample * step).astype(np.int64)[..., None]
    return xp.concatenate([(places * step).astype(np.int64) - first, last], axis=-1)


@guarded
def _pool(
    function: str, count: int, input: Tensor, kernel_size: int | Sequence[int], output_size: int | Sequence[int] | None,
    output_ratio: tuple[float, ...] | None, samples: Tensor | None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    array = array_of(function, "input", 1, input)
    if array.ndim <= count:
        raise IndexError(
            f"Dimension out of range: {function}() takes {count + 1} or {count + 2} dimensions, got {array.ndim}"
        )
    kernel = _one_or_all(function, "kernel_size", kernel_size, count)
    spatial, lead = array.shape[-count:], array.shape[:-count]
    wanted = _wanted(function, count, spatial, output_size, output_ratio)
    need_float(function, array)
    if array.ndim not in (count + 1, count + 2) or 0 in array.shape[-count - 1 :]:
        raise RuntimeError(
            f"{function}(): Expected input to have {count + 1} or {count + 2} dimensions, of non-zero size but for the "
            f"batch, but got {list(array.shape)}"
        )
    for direction, n, k, out in zip(_DIRECTIONS[count], spatial, kernel, wanted):
        # PyTorch requires room for the windows to move in volumes, not in images.
        if out + k - 1 > n - (count == 3):
            raise RuntimeError(f"{function}(): pool {direction} {k} too large relative to input {direction} {n}")
    batch, channels = (lead if len(lead) == 2 else (1, lead[0]))  # fmt: skip
    if samples is None:
        samples = input.new_empty((batch, channels, count)).uniform_()
    _check_samples(samples, array, count)
    xp = namespace_of(array)
    drawn = samples._tl_data[:batch, :channels]
    # The index of every element of every window in the flattened spatial dimensions: (batch, channels, *out, *kernel).
    flat = xp.zeros((1,) * (2 + 2 * count), np.int64)
    for axis, (n, k, out) in enumerate(zip(spatial, kernel, wanted)):
        starts = _starts(xp, drawn[..., _SAMPLE_OF[count][axis]], n, out, k)[..., :out]
        shape = [batch, channels, *(1 for _ in range(2 * count))]
        shape[2 + axis], shape[2 + count + axis] = out, k
        flat = flat * n + (starts[..., None] + xp.arange(k)).reshape(shape)
    outputs = math.prod(wanted)
    flat = flat.reshape((batch, channels, outputs, math.prod(kernel)))
    rows = array.reshape((batch, channels, math.prod(spatial)))
    in_rows = flat.reshape((batch, channels, outputs * math.prod(kernel)))
    candidates = xp.take_along_axis(rows, in_rows, axis=-1).reshape(flat.shape)
    best = candidates.argmax(axis=-1) if outputs else xp.zeros(flat.shape[:-1], np.int64)
    found = wrap(xp.take_along_axis(flat, best[..., None], axis=-1).reshape((*lead, *wanted)))
    return elements_at(input, found, count, None), found


@functional(guard=True, random=True)
def fractional_max_pool2d(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:  # fmt: skip
    """Return the maxima of windows at random positions in the last two dimensions.

    `input` has the shape (N, C, H, W) or (C, H, W). The number of windows is `output_size`, or `output_ratio` times the
    input's size; `_random_samples` of the shape (N, C, 2), from 0 to 1, are their positions. With `return_indices` also
    returns the indices of the maxima. Raises ValueError when neither size nor ratio is given.

    >>> x = tl.arange(16.0).reshape(1, 4, 4)
    >>> tl.nn.functional.fractional_max_pool2d(x, 2, 2, _random_samples=tl.zeros(1, 1, 2))
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """
    found = _pool("fractional_max_pool2d", 2, input, kernel_size, output_size, output_ratio, _random_samples)
    return found if return_indices else found[0]


@functional(guard=True, random=True)
def fractional_max_pool3d(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:  # fmt: skip
    """Return the maxima of windows at random positions in the last three dimensions.

    `input` has the shape (N, C, D, H, W) or (C, D, H, W), `_random_samples` (N, C, 3). The rest is as in
    `fractional_max_pool2d`.

    >>> tl.nn.functional.fractional_max_pool3d(tl.arange(27.0).reshape(1, 3, 3, 3), 2, 1)
    tensor([[[[26.]]]])
    """
    found = _pool("fractional_max_pool3d", 3, input, kernel_size, output_size, output_ratio, _random_samples)
    return found if return_indices else found[0]


def _with_indices(count: int) -> None:
    name = f"fractional_max_pool{count}d"

    def pool_with_indices(
        input: Tensor, kernel_size: Any, output_size: Any = None,
        output_ratio: Any = None, return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        return _pool(name, count, input, kernel_size, output_size, output_ratio, _random_samples)

    pool_with_indices.__doc__ = f"""Return the maxima and their indices: `{name}` with `return_indices=True`.

        >>> x = tl.arange({3**count}.0).reshape(1, {", ".join(["3"] * count)})
        >>> values, indices = tl.nn.functional.{name}_with_indices(x, 2, 1)
        >>> indices.flatten()
        tensor([{3**count - 1}])
        """
    functional(pool_with_indices, guard=True, name=f"{name}_with_indices")


for _count in (2, 3):
    _with_indices(_count)
