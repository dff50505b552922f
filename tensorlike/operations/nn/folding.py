"""`unfold` and `fold`: extracting windows as columns, and adding columns up as windows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tensorlike.tensor.declarations.declare import derivatives, internal, undispatched
from tensorlike.tensor.declarations.runtime import dtype_name
from tensorlike.tensor.types import Array, Namespace, Tensor

from .convolution import Geometry
from .declaring import array_of, functional
from .sliding_windows import accumulate_windows, crop, output_size, padded, sizes, windows


@internal()
def windows_to_columns(xp: Namespace, input: Array, window: Any, geometry: Geometry, spatial: Any) -> Array:
    """Return the windows of images as columns: (N, C * places, windows)."""
    view = windows(xp, padded(xp, input, geometry.pads), window, geometry.stride, geometry.dilation, geometry.out)
    lead = input.shape[:-3]
    columns = view.reshape((*lead, input.shape[-3] * math.prod(window), math.prod(geometry.out)))
    return columns.copy() if xp.may_share_memory(columns, input) else columns  # type: ignore[no-any-return]


@internal()
def columns_to_windows(xp: Namespace, input: Array, window: Any, geometry: Geometry, spatial: Any) -> Array:
    """Add columns up as the windows of images of the size `spatial`."""
    channels = input.shape[-2] // math.prod(window)
    values = input.reshape((*input.shape[:-2], channels, *window, *geometry.out))
    shape = [n + b + a for n, (b, a) in zip(spatial, geometry.pads)]
    result = accumulate_windows(xp, values, shape, window, geometry.stride, geometry.dilation, geometry.out)
    return xp.ascontiguousarray(crop(result, geometry.pads, spatial))


derivatives(
    windows_to_columns,
    input=lambda grad, window, geometry, spatial: columns_to_windows(grad, window, geometry, spatial),
)
derivatives(
    columns_to_windows,
    input=lambda grad, window, geometry, spatial: windows_to_columns(grad, window, geometry, spatial),
)
_unfold: Callable[..., Tensor] = undispatched(windows_to_columns)
_fold: Callable[..., Tensor] = undispatched(columns_to_windows)


def _geometry(
    function: str, spatial: Any, kernel_size: int | Sequence[int], dilation: Any, padding: Any, stride: Any
) -> tuple[Any, Geometry]:
    kernel = sizes(kernel_size, 2, "kernel_size", function)
    dilation = sizes(dilation, 2, "dilation", function)
    padding = sizes(padding, 2, "padding", function)
    stride = sizes(stride, 2, "stride", function)
    for name, values in (("kernel size", kernel), ("stride", stride), ("dilation", dilation)):
        if any(v <= 0 for v in values):
            raise RuntimeError(f"{name} should be greater than zero, but got {list(values)}")
    if any(p < 0 for p in padding):
        raise RuntimeError(f"padding should be non-negative, but got {list(padding)}")
    out = tuple(
        output_size(n, k, s, p, p, d, False) for n, k, s, p, d in zip(spatial, kernel, stride, padding, dilation)
    )
    return kernel, Geometry(stride, tuple((p, p) for p in padding), dilation, 1, out)


def _need_inexact(function: str, array: Array) -> None:
    if array.dtype.kind in "iu":
        raise NotImplementedError(
            f"\"{function}\" not implemented for '{dtype_name(array.dtype)}': convert the input, e.g. with .float()"
        )


@functional(linear_in=("input",), dims=4)
def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Return the windows of images as columns.

    `input` has the shape (N, C, H, W) or (C, H, W), the result (N, C * KH * KW, windows) or without N. Raises
    RuntimeError if no window fits into the image.

    >>> tl.nn.functional.unfold(tl.arange(9.0).reshape(1, 1, 3, 3), 2)[0, :, 0]
    tensor([0., 1., 3., 4.])
    """
    array = array_of("unfold", "input", 1, input)
    shape = array.shape
    _need_inexact("unfold", array)
    if len(shape) not in (3, 4) or 0 in shape[-3:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, "
            f"but got: {list(shape)}"
        )
    kernel, geometry = _geometry("unfold", shape[-2:], kernel_size, dilation, padding, stride)
    if any(n < 1 for n in geometry.out):
        raise RuntimeError(
            f"Given input with spatial size {tuple(shape[-2:])}, kernel_size={kernel}, dilation={geometry.dilation}, "
            f"padding={tuple(b for b, _ in geometry.pads)}, calculated shape of the array of sliding blocks as "
            f"{geometry.out}, but its components must be at least one."
        )
    return _unfold(input, kernel, geometry, tuple(shape[-2:]))


@functional(dims=3)
def fold(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Add columns up as the windows of images: the gradient of `unfold`.

    `input` has the shape (N, C * KH * KW, windows) or without N, the result (N, C, *output_size). Raises RuntimeError
    for another number of columns.

    >>> tl.nn.functional.fold(tl.ones(1, 4, 2), (2, 3), 2)
    tensor([[[[1., 2., 1.],
              [1., 2., 1.]]]])
    """
    array = array_of("fold", "input", 1, input)
    shape = array.shape
    _need_inexact("fold", array)
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
            f"input, but got: {list(shape)}"
        )
    spatial = sizes(output_size, 2, "output_size", "fold")
    kernel, geometry = _geometry("fold", spatial, kernel_size, dilation, padding, stride)
    places = math.prod(kernel)
    first = len(shape) - 2
    if shape[-2] % places:
        raise RuntimeError(
            f"Expected size of input's dimension {first} to be divisible by the product of kernel_size, but got "
            f"input.size({first})={shape[-2]} and kernel_size={kernel}."
        )
    if math.prod(geometry.out) != shape[-1] or any(n < 1 for n in geometry.out):
        raise RuntimeError(
            f"Given output_size={spatial}, kernel_size={kernel}, dilation={geometry.dilation}, "
            f"padding={tuple(b for b, _ in geometry.pads)}, stride={geometry.stride}, expected size of input's "
            f"dimension {first + 1} to match the calculated number of sliding blocks {geometry.out[0]} * "
            f"{geometry.out[1]} = {math.prod(geometry.out)}, but got input.size({first + 1})={shape[-1]}."
        )
    return _fold(input, kernel, geometry, spatial)
