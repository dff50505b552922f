"""Resizing images: interpolation, and shuffles between channels and pixels."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from tensorlike.tensor.declarations.declare import composite, derivatives, internal
from tensorlike.tensor.layouts import format_of
from tensorlike.tensor.types import Array, Namespace, Tensor

from .adaptive_pooling import adaptive_average
from .declaring import array_of, formatted, functional, need_float, other_name
from .separable import along_dims, take_along

_LINEAR = {"linear": 3, "bilinear": 4, "trilinear": 5}
# The slope of the cubic kernel at distance 1.
_CUBIC = -0.75


def _sources(size: int, out: int, scale: float | None, align_corners: bool) -> Array:
    """Return the position in the input of each element of the output."""
    place = np.arange(out, dtype=np.float64)
    if align_corners:
        return place * ((size - 1) / (out - 1) if out > 1 else 0.0)
    return (place + 0.5) * (1 / scale if scale else size / out) - 0.5


def _matrix(size: int, out: int, indices: tuple[Array, ...], weights: tuple[Array, ...]) -> Array:
    result = np.zeros((out, size))
    rows = np.arange(out)
    for index, weight in zip(indices, weights):
        np.add.at(result, (rows, index.clip(0, size - 1)), weight)
    return result


def _linear_matrix(size: int, out: int, scale: float | None, align_corners: bool) -> Array:
    source = _sources(size, out, scale, align_corners).clip(0)
    first = np.minimum(np.floor(source).astype(np.int64), size - 1)
    part = (source - first).clip(0, 1)
    return _matrix(size, out, (first, first + 1), (1 - part, part))


def _cubic_matrix(size: int, out: int, scale: float | None, align_corners: bool) -> Array:
    source = _sources(size, out, scale, align_corners)
    first = np.floor(source).astype(np.int64)
    part = source - first

    def near(x: Array) -> Array:
        return ((_CUBIC + 2) * x - (_CUBIC + 3)) * x * x + 1

    def far(x: Array) -> Array:
        return ((_CUBIC * x - 5 * _CUBIC) * x + 8 * _CUBIC) * x - 4 * _CUBIC

    weights = (far(part + 1), near(part), near(1 - part), far(2 - part))
    return _matrix(size, out, (first - 1, first, first + 1, first + 2), weights)


def _smooth_matrix(size: int, out: int, scale: float | None, align_corners: bool, mode: str) -> Any:
    """Return the matrix of an antialiasing filter, as wide as the step between elements of the output."""
    if align_corners:
        step = (size - 1) / (out - 1) if out > 1 else 0.0
    else:
        step = 1 / scale if scale else size / out
    stretch = max(step, 1.0)
    support = (1 if mode == "bilinear" else 2) * stretch
    center = step * (np.arange(out) + 0.5)
    first = (center - support + 0.5).astype(np.int64).clip(0)
    last = (center + support + 0.5).astype(np.int64).clip(None, size)
    place = np.arange(size)
    x = np.abs((place + 0.5 - center[:, None]) / stretch)
    if mode == "bilinear":
        weights = (1 - x).clip(0)
    else:
        slope = -0.5
        near = ((slope + 2) * x - (slope + 3)) * x * x + 1
        far = ((slope * x - 5 * slope) * x + 8 * slope) * x - 4 * slope
        weights = np.where(x < 1, near, np.where(x < 2, far, 0.0))
    weights = weights * ((place >= first[:, None]) & (place < last[:, None]))
    return weights / weights.sum(axis=1, keepdims=True)


def _nearest_indices(size: int, out: int, scale: float | None, exact: bool) -> Any:
    """Return the index in the input of each element of the output."""
    # In single precision, as the positions are defined.
    step = np.float32(1 / scale) if scale else np.float32(size) / np.float32(out)
    place = np.arange(out, dtype=np.float32) + np.float32(0.5 if exact else 0)
    return np.minimum(np.floor(place * step).astype(np.int64), size - 1)


def _bytes(input: Any, matrices: Any) -> Any:
    """Resample bytes along one dimension after the other, rounding each time."""
    result = input
    for axis in range(len(matrices) - 1, -1, -1):
        if matrices[axis] is not None:
            single = tuple(m if i == axis else None for i, m in enumerate(matrices))
            result = (along_dims(result.float(), single, None) + 0.5).floor().clamp(0, 255).type_as(input)
    return result.clone() if result is input else result


def _sizes(input: Tensor, size: Any, scale_factor: Any, recompute: bool) -> tuple[tuple[int, ...], list[Any]]:
    """Return the output size and, where the caller gave them, the scales."""
    spatial = tuple(input.shape[2:])
    count = len(spatial)
    form = "Please provide input tensor in (N, C, d1, d2, ...,dK) format"
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        wanted = tuple(size) if isinstance(size, (tuple, list)) else (size,) * count
        if len(wanted) != count:
            raise ValueError(
                f"Input and output must have the same number of spatial dimensions, but got input with spatial "
                f"dimensions of {list(spatial)} and output size of {size}. {form} and output size in (o1, o2, ...,oK) "
                "format."
            )
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        return tuple(operator.index(n) for n in wanted), [None] * count
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    scales = list(scale_factor) if isinstance(scale_factor, (tuple, list)) else [scale_factor] * count
    if len(scales) != count:
        raise ValueError(
            f"Input and scale_factor must have the same number of spatial dimensions, but got input with spatial "
            f"dimensions of {list(spatial)} and scale_factor of shape {scale_factor}. {form} and scale_factor in (s1, "
            "s2, ...,sK) format."
        )
    out = tuple(math.floor(n * s) for n, s in zip(spatial, scales))
    return out, [None] * count if recompute else scales


@functional(guard=True)
def interpolate(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
    align_corners: bool | None = None, recompute_scale_factor: bool | None = None, antialias: bool = False,
) -> Tensor:  # fmt: skip
    """Return `input` resampled to `size`, or to `scale_factor` times its size.

    `input` has the shape (N, C, *spatial) with one to three spatial dimensions. `mode` is "nearest", "nearest-exact",
    "area", "linear" (one dimension), "bilinear" and "bicubic" (two) or "trilinear" (three). `recompute_scale_factor`
    takes the scale from the rounded size. With `align_corners` the
    first and last elements stay where they are. With `antialias` ("bilinear", "bicubic") downsampling averages. Raises
    ValueError or NotImplementedError for arguments that do not match.

    >>> tl.nn.functional.interpolate(tl.tensor([[[0.0, 1.0]]]), scale_factor=2)
    tensor([[[0., 0., 1., 1.]]])
    >>> tl.nn.functional.interpolate(tl.tensor([[[0.0, 1.0]]]), size=3, mode="linear", align_corners=True)
    tensor([[[0.0000, 0.5000, 1.0000]]])
    """
    array = array_of("interpolate", "input", 1, input)
    plain = mode in ("nearest", "nearest-exact", "area")
    if plain and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    if array.dtype != np.uint8:
        need_float("interpolate", array)
    if antialias and (mode not in ("bilinear", "bicubic") or input.dim() != 4):
        raise ValueError(
            f"Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input: got "
            f"{mode!r} and {input.dim()}D"
        )
    if input.dim() not in (3, 4, 5) or not (plain or mode in _LINEAR or (mode == "bicubic" and input.dim() == 4)):
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.dim()}D) for the modes: nearest | "
            f"linear | bilinear | bicubic | trilinear | area | nearest-exact (got {mode})"
        )
    out, scales = _sizes(input, size, scale_factor, bool(recompute_scale_factor))
    if any(n <= 0 for n in (*out, *input.shape[2:])):
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input {list(input.shape)} and output {list(out)}"
        )
    if mode == "area":
        return adaptive_average("interpolate", len(out), input, out)
    if plain:
        exact, spatial = mode == "nearest-exact", array.shape[2:]
        indices = tuple(_nearest_indices(n, m, s, exact) for n, m, s in zip(spatial, out, scales))
        # As in PyTorch, whose gradients of volumes and of bicubic interpolation are contiguous.
        return take_along(input, indices, spatial, (format_of(array), None) if len(out) == 3 else None)
    if mode in _LINEAR:
        if input.dim() != _LINEAR[mode]:
            raise NotImplementedError(f"Got {input.dim()}D input, but {mode} mode needs {_LINEAR[mode]}D input")
        build = _linear_matrix
    else:
        build = _cubic_matrix
    matrices = tuple(
        _smooth_matrix(n, m, s, bool(align_corners), mode) if antialias else build(n, m, s, bool(align_corners))
        for n, m, s in zip(input.shape[2:], out, scales)
    )
    if array.dtype.kind == "u":
        return _bytes(input, matrices)  # type: ignore[no-any-return]
    return along_dims(input, matrices, (format_of(array), None) if mode == "bicubic" else None)


@other_name
def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """Return `interpolate(input, size, scale_factor, mode, align_corners)`: its older name.

    Types receive `interpolate`.

    >>> tl.nn.functional.upsample(tl.tensor([[[0.0, 1.0]]]), 3)
    tensor([[[0., 0., 1.]]])
    """
    return interpolate(input, size, scale_factor, mode, align_corners)


@other_name
def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Return `interpolate(input, size, scale_factor, mode="nearest")`: an older name.

    Types receive `interpolate`.

    >>> tl.nn.functional.upsample_nearest(tl.tensor([[[0.0, 1.0]]]), 3)
    tensor([[[0., 0., 1.]]])
    """
    return interpolate(input, size, scale_factor, mode="nearest")


@other_name
def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Return `interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)`.

    Types receive `interpolate`.

    >>> tl.nn.functional.upsample_bilinear(tl.tensor([[[[0.0, 1.0]]]]), (1, 3))
    tensor([[[[0.0000, 0.5000, 1.0000]]]])
    """
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


# -------------------------------------------------------------------------------------------- channels and pixels


@internal(own_layout=True, linear_in=("input",))
def to_pixels(xp: Namespace, input: Array, factor: int) -> Array:
    """Rearrange `factor` * `factor` channels into pixels."""
    *lead, channels, height, width = input.shape
    rest, n = channels // (factor * factor), len(lead)
    split = input.reshape((*lead, rest, factor, factor, height, width))
    moved = split.transpose((*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return formatted(moved.reshape((*lead, rest, height * factor, width * factor)), input)


@internal(own_layout=True, linear_in=("input",))
def to_channels(xp: Namespace, input: Array, factor: int) -> Array:
    """Rearrange pixels into `factor` * `factor` channels."""
    *lead, channels, height, width = input.shape
    high, wide, n = height // factor, width // factor, len(lead)
    split = input.reshape((*lead, channels, high, factor, wide, factor))
    moved = split.transpose((*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return formatted(moved.reshape((*lead, channels * factor * factor, high, wide)), input)


@internal(own_layout=True, linear_in=("input",))
def regrouped(xp: Namespace, input: Array, groups: int) -> Array:
    """Reorder the channels: the first of every group, then the second of every group, ..."""
    shape = input.shape
    split = input.reshape((shape[0], groups, shape[1] // groups, *shape[2:]))
    return formatted(split.swapaxes(1, 2).reshape(shape), input)


derivatives(to_pixels, input=lambda grad, factor: to_channels(grad, factor))
derivatives(to_channels, input=lambda grad, factor: to_pixels(grad, factor))
derivatives(regrouped, input=lambda grad, input_shape, groups: regrouped(grad, input_shape[1] // groups))


def _shuffled(input: Tensor, factor: int) -> Tensor:
    array_of("pixel_shuffle", "input", 1, input)
    if input.dim() < 3:
        raise RuntimeError(
            f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {input.dim()} dimension(s)"
        )
    if factor <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {factor}")
    channels = input.shape[-3]
    if channels % (factor * factor):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={channels} is not divisible by {factor * factor}"
        )
    return to_pixels(input, factor)


def _unshuffled(input: Tensor, factor: int) -> Tensor:
    array_of("pixel_unshuffle", "input", 1, input)
    if input.dim() < 3:
        raise RuntimeError(
            "pixel_unshuffle expects input to have at least 3 dimensions, but got input with "
            f"{input.dim()} dimension(s)"
        )
    if factor <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {factor}")
    for name, at in (("height", -2), ("width", -1)):
        if (n := input.shape[at]) % factor:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({at})={n} is not "
                f"divisible by {factor}"
            )
    return to_channels(input, factor)


@functional(guard=True)
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Rearrange r * r channels into pixels: enlarge images by `upscale_factor` r.

    The shape (*, C * r * r, H, W) becomes (*, C, H * r, W * r). Raises RuntimeError if the sizes do not divide.

    >>> tl.nn.functional.pixel_shuffle(tl.arange(4.0).reshape(4, 1, 1), 2)
    tensor([[[0., 1.],
             [2., 3.]]])
    """
    return _shuffled(input, upscale_factor)


@functional(guard=True)
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Rearrange pixels into r * r channels: shrink images by `downscale_factor` r.

    The shape (*, C, H * r, W * r) becomes (*, C * r * r, H, W). Raises RuntimeError if the sizes do not divide.

    >>> tl.nn.functional.pixel_unshuffle(tl.arange(4.0).reshape(1, 2, 2), 2).shape
    tensorlike.Size([4, 1, 1])
    """
    return _unshuffled(input, downscale_factor)


@composite(name="pixel_shuffle", variant=("namesake", pixel_shuffle))
def _pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Rearrange r * r channels into pixels: enlarge images by `upscale_factor` r.

    >>> tl.pixel_shuffle(tl.ones(4, 1, 1), 2).shape
    tensorlike.Size([1, 2, 2])
    """
    return _shuffled(input, upscale_factor)


@composite(name="pixel_unshuffle", variant=("namesake", pixel_unshuffle))
def _pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Rearrange pixels into r * r channels: shrink images by `downscale_factor` r.

    >>> tl.pixel_unshuffle(tl.ones(1, 2, 2), 2).shape
    tensorlike.Size([4, 1, 1])
    """
    return _unshuffled(input, downscale_factor)


@functional(guard=True)
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Return `input` with its channels reordered: the first of every group, then the second of every group, ...

    Channels are the second dimension of at least three. Raises RuntimeError when they do not divide.

    >>> tl.nn.functional.channel_shuffle(tl.arange(4.0).reshape(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    return _channels_shuffled(input, groups)


@functional(guard=True)
def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Return `channel_shuffle(input, groups)`.

    >>> tl.nn.functional.native_channel_shuffle(tl.arange(4.0).reshape(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    return _channels_shuffled(input, groups)


def _channels_shuffled(input: Tensor, groups: int) -> Tensor:
    shape = array_of("channel_shuffle", "input", 1, input).shape
    if len(shape) < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(shape)}")
    if groups <= 0 or shape[1] % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {shape[1]} channels and {groups} groups."
        )
    return regrouped(input, groups)
