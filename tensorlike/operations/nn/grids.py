"""Sampling images at the points of a grid, and grids of affine maps."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorlike.autograd.tensor_base import wrap
from tensorlike.tensor.backends import namespace_of
from tensorlike.tensor.creation.filled import linspace
from tensorlike.tensor.declarations.declare import composite, derivatives, internal, undispatched
from tensorlike.tensor.declarations.runtime import dtype_name, guarded
from tensorlike.tensor.types import Array, Namespace, Tensor

from ..shared import as_number
from .declaring import array_of, functional, need_float, warn

_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")

# -------------------------------------------------------------------------------------------------------------- places


def _in_pixels(grid: Array, size: int, align_corners: bool) -> Array:
    """Convert coordinates from -1 to 1 to pixels: the ends are the centers of the outer pixels, or their edges."""
    if align_corners:
        return (grid + 1) * ((size - 1) / 2)
    return ((grid + 1) * size - 1) / 2


def _clipped(xp: Namespace, pixels: Array, size: int) -> Array:
    # A NaN is taken for the first pixel, as in PyTorch.
    return xp.where(xp.isnan(pixels), xp.zeros((), pixels.dtype), xp.clip(pixels, 0, size - 1))


def _reflected(xp: Namespace, pixels: Array, size: int, align_corners: bool) -> tuple[Any, Any]:
    """Reflect pixel coordinates at the ends; return them and the sign of the derivative."""
    low, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
    if span == 0:
        return pixels * 0, pixels * 0
    away = xp.abs(pixels - low)
    rest = xp.fmod(away, span)
    odd = xp.fmod(xp.floor(away / span), 2) != 0
    folded = xp.where(odd, span - rest, rest) + low
    return folded, xp.where((pixels < low) != odd, -1.0, 1.0)


@internal()
def sample_places(xp: Namespace, grid: Array, size: int, padding_mode: str, align_corners: bool) -> Array:
    """Convert coordinates from -1 to 1 to pixels, moved inside the image unless the padding is zeros."""
    pixels = _in_pixels(grid, size, align_corners)
    if padding_mode == "zeros":
        return pixels
    if padding_mode == "reflection":
        pixels = _reflected(xp, pixels, size, align_corners)[0]
    return _clipped(xp, pixels, size).astype(grid.dtype)


@internal(differentiable=False)
def sample_slopes(xp: Namespace, grid: Array, size: int, padding_mode: str, align_corners: bool) -> Array:
    """Return the derivative of `sample_places`."""
    slope = xp.full(grid.shape, ((size - 1) if align_corners else size) / 2, grid.dtype)
    if padding_mode == "zeros":
        return slope
    pixels = _in_pixels(grid, size, align_corners)
    if padding_mode == "reflection":
        pixels, sign = _reflected(xp, pixels, size, align_corners)
        slope = slope * sign
    return xp.where((pixels > 0) & (pixels < size - 1), slope, 0).astype(grid.dtype)


derivatives(
    sample_places,
    grid=lambda grad, grid, size, padding_mode, align_corners: (
        grad * sample_slopes(grid, size, padding_mode, align_corners)
    ),
)
_places = undispatched(sample_places)

# ------------------------------------------------------------------------------------------------------------- sampling


def _cubic(t: Tensor) -> list[Any]:
    """Return the cubic weights of the four pixels around a point at distance `t` after the second."""
    a = -0.75

    def near(x: Tensor) -> Tensor:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Tensor) -> Tensor:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _bounded(xp: Namespace, index: Array, size: int, padding_mode: str, align_corners: bool) -> tuple[Any, Any]:
    """Clamp integral coordinates to the image; return integers and a mask of those that were inside."""
    if padding_mode == "border":
        return _clipped(xp, index, size).astype(np.int64), None
    if padding_mode == "reflection":
        folded = _reflected(xp, index, size, align_corners)[0]
        return _clipped(xp, folded, size).astype(np.int64), None
    inside = (index >= 0) & (index < size)
    return xp.where(inside, index, 0).astype(np.int64), inside


class _Axis:
    """The pixels around the points along one dimension: their indices, validity and weights."""

    def __init__(
        self, xp: Namespace, grid: Tensor, size: int, mode: str, padding_mode: str, align_corners: bool
    ) -> None:
        if mode == "bicubic":
            places = _places(grid, size, "zeros", align_corners)
            below = xp.floor(places._tl_data)
            self.pixels = [_bounded(xp, below + offset, size, padding_mode, align_corners) for offset in (-1, 0, 1, 2)]
            self.weights = _cubic(places - wrap(below))
            return
        places = _places(grid, size, padding_mode, align_corners)
        if mode == "nearest":
            self.pixels = [_bounded(xp, xp.rint(places._tl_data), size, "zeros", align_corners)]
            self.weights = [None]
            return
        below = xp.floor(places._tl_data)
        self.pixels = [_bounded(xp, below + offset, size, "zeros", align_corners) for offset in (0, 1)]
        behind = places - wrap(below)
        self.weights = [1 - behind, behind]


@guarded
def _sampled(input: Tensor, grid: Tensor, mode: str, padding_mode: str, align_corners: bool) -> Any:
    array = input._tl_data
    if array.dtype.itemsize == 2:
        return _sampled(input.float(), grid.float(), mode, padding_mode, align_corners).type_as(input)
    xp = namespace_of(array)
    count, channels, *spatial = array.shape
    points = grid._tl_data.shape[1:-1]
    # The last coordinate of a point is that of the first spatial dimension.
    axes = [
        _Axis(xp, grid[..., len(spatial) - 1 - i], size, mode, padding_mode, align_corners)
        for i, size in enumerate(spatial)
    ]
    rows = input.reshape((count, channels, math.prod(spatial)))
    total = math.prod(points)
    result: Any = None
    for corner in itertools.product(*(range(len(axis.pixels)) for axis in axes)):
        index: Any = 0
        inside = weight = None
        for axis, number, size in zip(axes, corner, spatial):
            places, counted = axis.pixels[number]
            index = index * size + places
            if counted is not None:
                inside = counted if inside is None else inside & counted
            share = axis.weights[number]
            if share is not None:
                weight = share if weight is None else weight * share
        flat = index.reshape((count, 1, total))
        found = rows.gather(-1, wrap(xp.broadcast_to(flat, (count, channels, total))))
        if inside is not None:
            found = found.where(wrap(inside.reshape((count, 1, total))), 0.0)
        if weight is not None:
            found = found * weight.reshape((count, 1, total))
        result = found if result is None else result + found
    return result.reshape((count, channels, *points))


def _check(input: Tensor, grid: Tensor, mode: str, dims: int | None = None) -> None:
    x = array_of("grid_sampler", "input", 1, input)
    g = array_of("grid_sampler", "grid", 2, grid)
    shapes = f"got input with sizes {list(x.shape)} and grid with sizes {list(g.shape)}"
    if x.shape[:1] != g.shape[:1]:
        raise RuntimeError(f"grid_sampler(): expected grid and input to have same batch size, but {shapes}")
    if g.ndim < 1 or g.shape[-1] != x.ndim - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {x.ndim - 2} in last dimension, but got grid with sizes "
            f"{list(g.shape)}"
        )
    if x.ndim not in ((4, 5) if dims is None else (dims,)) or g.ndim != x.ndim:
        words = "4D or 5D" if dims is None else f"{dims}D"
        raise RuntimeError(
            f"grid_sampler(): expected {words} input and grid with same number of dimensions, but {shapes}"
        )
    for dim in range(2, x.ndim):
        if x.shape[dim] == 0:
            raise RuntimeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
                f"{list(x.shape)} with dimension {dim} being empty"
            )
    if mode == "bicubic" and x.ndim == 5:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    need_float("grid_sampler", x)
    if g.dtype != x.dtype:
        raise RuntimeError(f"expected scalar type {dtype_name(x.dtype)} but found {dtype_name(g.dtype)}: the grid's")


@functional(guard=True)
def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: Any = "zeros", align_corners: bool | None = None
) -> Tensor:
    """Return images or volumes sampled at the points of `grid`.

    `input` has the shape (N, C, H, W), `grid` (N, H', W', 2), the result (N, C, H', W'); or (N, C, D, H, W), (N, D',
    H', W', 3), (N, C, D', H', W'). Points are (x, y) or (x, y, z) from -1 to 1, which are the centers of the outer
    pixels with `align_corners`, their outer edges otherwise. `mode` is "bilinear", "nearest", or "bicubic" for images;
    `padding_mode` is the content outside the image: "zeros", "border" (the pixel at the border) or "reflection". Raises
    ValueError for other names, RuntimeError for shapes or dtypes that do not match.

    >>> x = tl.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    >>> grid = tl.tensor([[[[0.0, 0.0], [1.0, 1.0]]]])
    >>> tl.nn.functional.grid_sample(x, grid, align_corners=True)
    tensor([[[[2.5000, 4.0000]]]])
    """
    if mode not in _MODES:
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: {mode!r}"
        )
    if padding_mode not in _PADDINGS:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"{padding_mode!r}"
        )
    if align_corners is None:
        _warn_default()
        align_corners = False
    _check(input, grid, mode)
    return _sampled(input, grid, mode, padding_mode, align_corners)  # type: ignore[no-any-return]


def _warn_default() -> None:
    warn("grid_sample and affine_grid take align_corners=False unless told otherwise: pass align_corners.")


def _named(function: str, number: int, names: tuple[str, ...], argument: str, position: int) -> str:
    number = as_number(number, integral=True)
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError(
            f"{function}(): argument '{argument}' (position {position}) must be int, not {type(number).__name__}"
        )
    if not 0 <= number < len(names):
        raise RuntimeError(f"{function}(): {argument} is 0 to {len(names) - 1}, for {', '.join(names)}; got {number}")
    return names[number]


def _numbered(
    function: str, input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool,
    dims: int | None = None,
) -> Tensor:  # fmt: skip
    mode = _named(function, interpolation_mode, _MODES, "interpolation_mode", 3)
    padding = _named(function, padding_mode, _PADDINGS, "padding_mode", 4)
    _check(input, grid, mode, dims)
    return _sampled(input, grid, mode, padding, align_corners)  # type: ignore[no-any-return]


@composite
def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """Return images or volumes sampled at the points of `grid`: `nn.functional.grid_sample` with modes as numbers.

    `interpolation_mode` is 0 (bilinear), 1 (nearest) or 2 (bicubic), `padding_mode` 0 (zeros), 1 (border) or 2
    (reflection).

    >>> tl.grid_sampler(tl.tensor([[[[1.0, 2.0]]]]), tl.tensor([[[[1.0, 0.0]]]]), 0, 0, True)
    tensor([[[[2.]]]])
    """
    return _numbered("grid_sampler", input, grid, interpolation_mode, padding_mode, align_corners)


@composite
def grid_sampler_2d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """Return images sampled at the points of `grid`: `grid_sampler` of four dimensions.

    >>> tl.grid_sampler_2d(tl.tensor([[[[1.0, 2.0]]]]), tl.tensor([[[[0.8, 0.0]]]]), 1, 0, False)
    tensor([[[[2.]]]])
    """
    return _numbered("grid_sampler_2d", input, grid, interpolation_mode, padding_mode, align_corners, 4)


@composite
def grid_sampler_3d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """Return volumes sampled at the points of `grid`: `grid_sampler` of five dimensions.

    >>> tl.grid_sampler_3d(tl.ones(1, 1, 2, 2, 2), tl.zeros(1, 1, 1, 1, 3), 0, 0, False)
    tensor([[[[[1.]]]]])
    """
    return _numbered("grid_sampler_3d", input, grid, interpolation_mode, padding_mode, align_corners, 5)


# --------------------------------------------------------------------------------------------------------------- grids


def _steps(like: Tensor, size: int, align_corners: bool) -> Tensor:
    """Return the coordinates of `size` pixels, from -1 to 1, in the dtype of `like`."""
    if size <= 1:
        return like.new_zeros((size,))
    steps = linspace(-1, 1, size, dtype=like.dtype, device=like.device)
    return steps if align_corners else (steps * (size - 1) / size).type_as(like)


def _affine(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    array = array_of("affine_grid_generator", "theta", 1, theta)
    count = len(size) - 2
    if array.ndim < 3:
        raise IndexError(
            f"Dimension out of range: affine_grid_generator() takes theta of 3 dimensions, got {array.ndim}"
        )
    if tuple(array.shape) != (size[0], count, count + 1):
        raise RuntimeError(
            f"Expected size for theta of a batch of {size[0]} {count}D affine maps to be "
            f"{[size[0], count, count + 1]} but got: {list(array.shape)}"
        )
    spatial = size[2:]
    like = theta.detach()
    base = like.new_ones((*spatial, count + 1))
    for axis, length in enumerate(spatial):
        shape = tuple(length if i == axis else 1 for i in range(count))
        base[..., count - 1 - axis] = _steps(like, length, align_corners).reshape(shape)
    points = base.reshape((math.prod(spatial), count + 1))
    return (points @ theta.transpose(1, 2)).reshape((size[0], *spatial, count))


@composite
def affine_grid_generator(theta: Tensor, size: Any, align_corners: bool) -> Tensor:
    """Return the grid of the points to which affine maps send the pixels of images or volumes, for `grid_sampler`.

    `theta` has the shape (N, 2, 3) for a `size` of (N, C, H, W), (N, 3, 4) for (N, C, D, H, W). Raises RuntimeError for
    other sizes.

    >>> tl.affine_grid_generator(tl.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]), (1, 1, 1, 2), True)
    tensor([[[[-1.,  0.],
              [ 1.,  0.]]]])
    """
    if len(size) not in (4, 5):
        raise RuntimeError("AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.")
    return _affine(theta, tuple(size), align_corners)


@functional(guard=True)
def affine_grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Tensor:
    """Return the grid of the points to which affine maps send the pixels of images or volumes, for `grid_sample`.

    `theta` has the shape (N, 2, 3) for a `size` of (N, C, H, W), the result (N, H, W, 2); or (N, 3, 4) for
    (N, C, D, H, W) and (N, D, H, W, 3). With `align_corners` -1 and 1 are the centers of the outer pixels. Raises
    ValueError for other shapes of `theta` and for integers, NotImplementedError for other numbers of dimensions.

    >>> tl.nn.functional.affine_grid(tl.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]), (1, 1, 1, 2), False)
    tensor([[[[-0.5000,  0.0000],
              [ 0.5000,  0.0000]]]])
    """
    if align_corners is None:
        _warn_default()
        align_corners = False
    array = array_of("affine_grid", "theta", 1, theta)
    size = tuple(size)
    if array.dtype.kind not in "fV":
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size "
            f"{size}."
        )
    count = len(size) - 2
    if array.ndim != 3 or tuple(array.shape[1:]) != (count, count + 1):
        raise ValueError(
            f"Expected a batch of {count}D affine matrices of shape Nx{count}x{count + 1} for size {size}. Got "
            f"{tuple(array.shape)}."
        )
    if align_corners and min(size[2:]) == 1:
        warn(
            "affine_grid with align_corners=True puts a dimension of one pixel at 0, the center; before version 1.3 "
            "PyTorch put it at -1."
        )
    elif min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    return _affine(theta, size, align_corners)
