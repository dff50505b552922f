"""Convolutions, and the linear maps of their derivatives.

Windows are a strided view of the input; its copy, one column a window, goes through BLAS once for the whole batch. A
convolution is linear in each operand, so its two derivatives are maps of the same kind, and the derivatives of those
are the three maps again: any order of derivative follows, and `conv_transpose` is one of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.dispatch.tracebacks import explained
from tensorlike.tensor.declarations.declare import composite, derivatives, internal, undispatched
from tensorlike.tensor.declarations.formulas import conj
from tensorlike.tensor.declarations.runtime import dtype_name
from tensorlike.tensor.layouts import laid_out
from tensorlike.tensor.types import Array, Namespace, Tensor

from .declaring import array_of, functional, narrowed, shared_format, widened
from .sliding_windows import Pads, Sizes, accumulate_windows, crop, output_size, padded, sizes, windows


class Geometry(NamedTuple):
    """The geometry of a convolution's windows: `out` is their number along each dimension.

    `format` is the memory format of its result and its gradients.
    """

    stride: Sizes
    pads: Pads
    dilation: Sizes
    groups: int
    out: Sizes
    format: str | None = None


def _columns(xp: Namespace, input: Any, kernel: Sizes, geometry: Geometry) -> Any:
    """Return the windows of a batch as columns: (N, groups, channels * places, windows)."""
    view = windows(xp, padded(xp, input, geometry.pads), kernel, geometry.stride, geometry.dilation, geometry.out)
    count, channels = input.shape[:2]
    groups = geometry.groups
    return view.reshape((count, groups, channels // groups * math.prod(kernel), math.prod(geometry.out)))


def _convolve(xp: Namespace, input: Array, weight: Array, bias: Any, geometry: Geometry) -> Array:
    groups = geometry.groups
    batched = input.ndim == weight.ndim
    x = widened(input if batched else input[None])
    w = widened(weight)
    columns = _columns(xp, x, weight.shape[2:], geometry)
    channels = weight.shape[0]
    w = w.reshape((groups, channels // groups, math.prod(weight.shape[1:])))
    result = xp.matmul(w, columns).reshape((x.shape[0], channels, *geometry.out))
    if bias is not None:
        result += widened(bias).reshape((channels, *(1 for _ in geometry.out)))
    result = laid_out(narrowed(result, input), geometry.format)
    return result if batched else result[0]


def _spread(xp: Namespace, upstream: Any, weight: Array, bias: Any, size: Sizes, geometry: Geometry) -> Array:
    """Return the gradient of a convolution's input: every window adds `upstream` times the weight; and the bias."""
    groups = geometry.groups
    batched = upstream.ndim == weight.ndim
    g = widened(upstream if batched else upstream[None])
    w = widened(weight)
    kernel = weight.shape[2:]
    channels = weight.shape[0]
    per_group = weight.shape[1]
    w = w.reshape((groups, channels // groups, per_group * math.prod(kernel)))
    g = g.reshape((g.shape[0], groups, channels // groups, math.prod(geometry.out)))
    columns = xp.matmul(w.swapaxes(1, 2), g)
    columns = columns.reshape((g.shape[0], groups * per_group, *kernel, *geometry.out))
    spatial = size[-len(kernel) :]
    shape = [n + b + a for n, (b, a) in zip(spatial, geometry.pads)]
    result = accumulate_windows(xp, columns, shape, kernel, geometry.stride, geometry.dilation, geometry.out)
    result = narrowed(crop(result, geometry.pads, spatial), upstream)
    if bias is not None:
        result += bias.reshape((-1, *(1 for _ in geometry.out)))
    result = laid_out(result, geometry.format)
    return result if batched else result[0]


@internal(name="convolution", own_layout=True)
def convolve(xp: Namespace, input: Array, weight: Array, bias: Array | None, geometry: Geometry) -> Array:
    """Return the convolution of `input`, with or without a batch, with `weight`."""
    return _convolve(xp, input, weight, bias, geometry)


@internal(own_layout=True)
def conv_input_grad(xp: Namespace, upstream: Array, weight: Array, size: Sizes, geometry: Geometry) -> Array:
    """Return the gradient of a convolution's input, of shape `size`."""
    return _spread(xp, upstream, weight, None, size, geometry)


@internal(own_layout=True)
def conv_transpose(
    xp: Namespace, input: Array, weight: Array, bias: Array | None, size: Sizes, geometry: Geometry
) -> Array:
    """Return the gradient of a convolution's input, as an operation of its own, and with a bias."""
    return _spread(xp, input, weight, bias, size, geometry)


@internal(own_layout=True)
def conv_weight_grad(xp: Namespace, upstream: Array, input: Array, size: Sizes, geometry: Geometry) -> Array:
    """Return the gradient of a convolution's weight, of shape `size`."""
    groups = geometry.groups
    batched = input.ndim == len(size)
    x = widened(input if batched else input[None])
    g = widened(upstream if batched else upstream[None])
    count, channels = x.shape[0], size[0] // groups
    columns = _columns(xp, x, size[2:], geometry)
    rows, places = columns.shape[2:]
    g = g.reshape((count, groups, channels, places))
    if channels <= 4 * places:
        result = xp.matmul(g, columns.swapaxes(2, 3)).sum(axis=0)
    else:
        # Few windows and many channels: products for each item of the batch would be larger than their operands.
        g = g.transpose(1, 2, 0, 3).reshape((groups, channels, count * places))
        columns = columns.transpose(1, 2, 0, 3).reshape((groups, rows, count * places))
        result = xp.matmul(g, columns.swapaxes(1, 2))
    return laid_out(narrowed(result.reshape(size), input), geometry.format)


def _channel_sum(grad: Tensor, spatial: int) -> Tensor:
    """Return the sum over everything but the channels: the gradient of a bias."""
    return grad.sum(tuple(d for d in range(grad.dim()) if d != grad.dim() - spatial - 1))


derivatives(
    convolve,
    input=lambda grad, input_shape, weight, geometry: conv_input_grad(grad, conj(weight), input_shape, geometry),
    weight=lambda grad, input, weight_shape, geometry: conv_weight_grad(grad, conj(input), weight_shape, geometry),
    bias=lambda grad, geometry: _channel_sum(grad, len(geometry.out)),
)
derivatives(
    conv_input_grad,
    upstream=lambda grad, weight, geometry: convolve(grad, conj(weight), None, geometry),
    weight=lambda grad, upstream, weight_shape, geometry: conv_weight_grad(
        conj(upstream), grad, weight_shape, geometry
    ),
)
derivatives(
    conv_transpose,
    input=lambda grad, weight, geometry: convolve(grad, conj(weight), None, geometry),
    weight=lambda grad, input, weight_shape, geometry: conv_weight_grad(conj(input), grad, weight_shape, geometry),
    bias=lambda grad, geometry: _channel_sum(grad, len(geometry.out)),
)
derivatives(
    conv_weight_grad,
    upstream=lambda grad, input, geometry: convolve(conj(input), grad, None, geometry),
    input=lambda grad, upstream, input_shape, geometry: conv_input_grad(conj(upstream), grad, input_shape, geometry),
)

_convolution: Callable[..., Tensor] = undispatched(convolve)
_conv_transpose: Callable[..., Tensor] = undispatched(conv_transpose)

# ----------------------------------------------------------------------------------------------------------- arguments


def _listed(value: int | Sequence[int], count: int, name: str, function: str) -> Sizes:
    if isinstance(value, (tuple, list)) and len(value) not in (1, count):
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {count} values to match the convolution "
            f"dimensions, but got {name}={list(value)}"
        )
    return sizes(value, count, name, function)


def _check_operands(
    function: str, count: int, input: Tensor, weight: Tensor, bias: Tensor | None, integers_refused: bool
) -> None:
    for name, value in (("input", input), ("weight", weight), ("bias", bias)):
        if not isinstance(value, TensorBase) and not (name == "bias" and value is None):
            raise TypeError(f"{function}(): argument '{name}' must be Tensor, not {type(value).__name__}")
    x, w = input._tl_data, weight._tl_data
    if x.ndim not in (count + 1, count + 2):
        raise RuntimeError(
            f"Expected {count + 1}D (unbatched) or {count + 2}D (batched) input to {function}, but got input of size: "
            f"{list(x.shape)}"
        )
    if w.ndim != count + 2:
        raise RuntimeError(
            f"{function}(): expected a {count + 2}D weight (channels out, channels in, *kernel), but got weight of "
            f"size: {list(w.shape)}"
        )
    for name, other in (("weight", w), ("bias", None if bias is None else bias._tl_data)):
        if other is not None and other.dtype != x.dtype:
            raise RuntimeError(
                f"Input type ({dtype_name(x.dtype)}) and {name} type ({dtype_name(other.dtype)}) should be the same"
            )
    if x.dtype.kind == "b" or (x.dtype.kind in "iu" and x.dtype != np.int64 and integers_refused):
        raise NotImplementedError(
            f"\"{function}\" not implemented for '{dtype_name(x.dtype)}': convert the operands, e.g. with .float()"
        )


def _check_windows(stride: Sizes, dilation: Sizes, groups: int) -> None:
    if any(s <= 0 for s in stride):
        raise RuntimeError(f"non-positive stride is not supported, got {list(stride)}")
    if any(d <= 0 for d in dilation):
        raise RuntimeError(f"dilation should be greater than zero, but got {list(dilation)}")
    if groups <= 0:
        raise RuntimeError(f"non-positive groups is not supported, got {groups}")


def _check_bias(bias: Tensor | None, channels: int, shape: tuple[int, ...], transposed: bool) -> None:
    if bias is not None and (bias._tl_data.ndim != 1 or bias._tl_data.shape[0] != channels):
        raise RuntimeError(
            f"Given {'transposed=1, ' if transposed else ''}weight of size {list(shape)}, expected bias to be "
            f"1-dimensional with {channels} elements, but got bias of size {list(bias._tl_data.shape)} instead"
        )


def _pads(padding: int | str | Sequence[int], kernel: Sizes, stride: Sizes, dilation: Sizes, function: str) -> Pads:
    if isinstance(padding, str):
        if padding == "valid":
            return ((0, 0),) * len(kernel)
        if padding != "same":
            raise RuntimeError(f"Invalid padding string: '{padding}', use 'same', 'valid' or integers")
        if any(s != 1 for s in stride):
            raise RuntimeError(f"padding='same' is not supported for strided convolutions, got stride {list(stride)}")
        totals = [d * (k - 1) for d, k in zip(dilation, kernel)]
        return tuple((t // 2, t - t // 2) for t in totals)
    found = _listed(padding, len(kernel), "padding", function)
    if any(p < 0 for p in found):
        raise RuntimeError(f"negative padding is not supported, got {list(found)}")
    return tuple((p, p) for p in found)


def _times(values: Any) -> str:
    return "(" + " x ".join(str(v) for v in values) + ")"


def plain_convolution(
    function: str, count: int, input: Tensor, weight: Tensor, bias: Tensor | None, stride: int | Sequence[int],
    padding: int | str | Sequence[int], dilation: int | Sequence[int], groups: int,
) -> Tensor:  # fmt: skip
    """Return the convolution along the last `count` dimensions, its arguments checked."""
    stride = _listed(stride, count, "stride", function)
    dilation = _listed(dilation, count, "dilation", function)
    _check_operands(function, count, input, weight, bias, any(d > 1 for d in dilation))
    _check_windows(stride, dilation, groups)
    shape, size = weight._tl_data.shape, input._tl_data.shape
    kernel = shape[2:]
    pads = _pads(padding, kernel, stride, dilation, function)
    channels = size[-count - 1]
    if shape[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size "
            f"{list(shape)} instead"
        )
    if shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of "
            f"size {list(shape)} instead"
        )
    if channels != shape[1] * groups:
        raise explained(
            RuntimeError, "conv-channels",
            f"Given groups={groups}, weight of size {list(shape)}, expected input{list(size)} to have "
            f"{shape[1] * groups} channels, but got {channels} channels instead",
        )  # fmt: skip
    _check_bias(bias, shape[0], shape, False)
    room = [n + b + a for n, (b, a) in zip(size[-count:], pads)]
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, kernel)]
    if any(r > n for r, n in zip(reach, room)):
        raise RuntimeError(
            f"Calculated padded input size per channel: {_times(room)}. Kernel size: {_times(reach)}. Kernel size "
            "can't be greater than actual input size"
        )
    out = tuple(
        output_size(n, k, s, b, a, d, False)
        for n, k, s, (b, a), d in zip(size[-count:], kernel, stride, pads, dilation)
    )
    found = shared_format(input._tl_data, weight._tl_data)
    return _convolution(input, weight, bias, Geometry(stride, pads, dilation, groups, out, found))


def transposed_convolution(
    function: str, count: int, input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any,
    output_padding: Any, groups: int, dilation: Any,
) -> Tensor:  # fmt: skip
    """Return the transposed convolution along the last `count` dimensions, its arguments checked."""
    _check_operands(function, count, input, weight, bias, True)
    stride = _listed(stride, count, "stride", function)
    dilation = _listed(dilation, count, "dilation", function)
    extra = _listed(output_padding, count, "output_padding", function)
    _check_windows(stride, dilation, groups)
    if isinstance(padding, str):
        raise TypeError(f"{function}(): argument 'padding' must be tuple of ints, not str")
    shape, size = weight._tl_data.shape, input._tl_data.shape
    kernel = shape[2:]
    pads = _pads(padding, kernel, stride, dilation, function)
    channels = size[-count - 1]
    if channels != shape[0]:
        raise RuntimeError(
            f"Given transposed=1, weight of size {list(shape)}, expected input{list(size)} to have {shape[0]} "
            f"channels, but got {channels} channels instead"
        )
    if shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of "
            f"size {list(shape)} instead"
        )
    if any(e < 0 for e in extra):
        raise RuntimeError(f"negative output_padding is not supported, got {list(extra)}")
    if any(e >= s and e >= d for e, s, d in zip(extra, stride, dilation)):
        raise RuntimeError(
            f"output padding must be smaller than either stride or dilation, but got output_padding: {list(extra)} "
            f"stride: {list(stride)} dilation: {list(dilation)}"
        )
    _check_bias(bias, shape[1] * groups, shape, True)
    spatial = tuple(
        (n - 1) * s - b - a + d * (k - 1) + e + 1
        for n, k, s, (b, a), d, e in zip(size[-count:], kernel, stride, pads, dilation, extra)
    )
    if any(n <= 0 for n in spatial):
        raise RuntimeError(
            f"Given input size per channel: {_times(size[-count:])}. Calculated output size per channel: "
            f"{_times(spatial)}. Output size is too small"
        )
    result = (*size[: -count - 1], shape[1] * groups, *spatial)
    found = shared_format(input._tl_data, weight._tl_data)
    geometry = Geometry(stride, pads, dilation, groups, tuple(size[-count:]), found)
    return _conv_transpose(input, weight, bias, result, geometry)


# -------------------------------------------------------------------------------------------------------------- public


@functional(dims=3)
def conv1d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1,
) -> Tensor:  # fmt: skip
    """Return the cross-correlation of signals with kernels.

    `input` has the shape (N, C, L) or (C, L), `weight` (channels out, C / groups, K), `bias` (channels out,).
    `padding` is an amount, "valid" or "same". Raises RuntimeError for shapes or dtypes that do not match.

    >>> tl.nn.functional.conv1d(tl.tensor([[1.0, 2.0, 4.0]]), tl.tensor([[[1.0, -1.0]]]))
    tensor([[-1., -2.]])
    """
    return plain_convolution("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


@functional(dims=4)
def conv2d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1,
) -> Tensor:  # fmt: skip
    """Return the cross-correlation of images with kernels.

    `input` has the shape (N, C, H, W) or (C, H, W), `weight` (channels out, C / groups, KH, KW), `bias` (channels
    out,). `padding` is an amount, one for each of H and W, "valid" or "same". Raises RuntimeError for shapes or dtypes
    that do not match.

    >>> tl.nn.functional.conv2d(tl.ones(1, 1, 3, 3), tl.ones(1, 1, 2, 2))
    tensor([[[[4., 4.],
              [4., 4.]]]])
    """
    return plain_convolution("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


@functional(dims=5)
def conv3d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1,
) -> Tensor:  # fmt: skip
    """Return the cross-correlation of volumes with kernels.

    `input` has the shape (N, C, D, H, W) or (C, D, H, W), `weight` (channels out, C / groups, KD, KH, KW), `bias`
    (channels out,). `padding` is an amount, one for each dimension, "valid" or "same". Raises RuntimeError for shapes
    or dtypes that do not match.

    >>> tl.nn.functional.conv3d(tl.ones(1, 1, 2, 2, 2), tl.ones(1, 1, 2, 2, 2)).item()
    8.0
    """
    return plain_convolution("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


@functional(dims=3)
def conv_transpose1d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0,
    output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
) -> Tensor:  # fmt: skip
    """Return the transposed convolution of signals: the gradient that `conv1d` sends to its input.

    `input` has the shape (N, C, L) or (C, L), `weight` (C, channels out / groups, K). Raises RuntimeError for shapes or
    dtypes that do not match.

    >>> tl.nn.functional.conv_transpose1d(tl.tensor([[1.0, 2.0]]), tl.tensor([[[1.0, 10.0]]]))
    tensor([[ 1., 12., 20.]])
    """
    return transposed_convolution(
        "conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


@functional(dims=4)
def conv_transpose2d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0,
    output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
) -> Tensor:  # fmt: skip
    """Return the transposed convolution of images: the gradient that `conv2d` sends to its input.

    `input` has the shape (N, C, H, W) or (C, H, W), `weight` (C, channels out / groups, KH, KW). Raises RuntimeError
    for shapes or dtypes that do not match.

    >>> tl.nn.functional.conv_transpose2d(tl.ones(1, 1, 2, 2), tl.ones(1, 1, 2, 2), stride=2).shape
    tensorlike.Size([1, 1, 4, 4])
    """
    return transposed_convolution(
        "conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


@functional(dims=5)
def conv_transpose3d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0,
    output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
) -> Tensor:  # fmt: skip
    """Return the transposed convolution of volumes: the gradient that `conv3d` sends to its input.

    `input` has the shape (N, C, D, H, W) or (C, D, H, W), `weight` (C, channels out / groups, KD, KH, KW). Raises
    RuntimeError for shapes or dtypes that do not match.

    >>> tl.nn.functional.conv_transpose3d(tl.ones(1, 1, 1, 1, 1), tl.ones(1, 1, 2, 2, 2)).shape
    tensorlike.Size([1, 1, 2, 2, 2])
    """
    return transposed_convolution(
        "conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


_conv1d = undispatched(conv1d)


def _ints(name: str, position: int, value: Sequence[int]) -> tuple[int, ...]:
    if not isinstance(value, (tuple, list)):
        raise TypeError(
            f"convolution(): argument '{name}' (position {position}) must be tuple of ints, not {type(value).__name__}"
        )
    return tuple(value)


@composite
def convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any, transposed: bool,
    output_padding: Any, groups: int,
) -> Tensor:  # fmt: skip
    """Return the convolution of a batch along 1, 2 or 3 dimensions, the transposed one if `transposed`.

    The same as `nn.functional.conv1d` to `conv_transpose3d`, chosen by the number of dimensions of `weight`. Strides,
    paddings and dilations are tuples of one number, or one for each dimension. Raises RuntimeError for shapes or dtypes
    that do not match.

    >>> tl.convolution(tl.ones(1, 1, 3), tl.ones(1, 1, 2), None, [1], [0], [1], False, [0], 1)
    tensor([[[2., 2.]]])
    """
    x = array_of("convolution", "input", 1, input)
    w = array_of("convolution", "weight", 2, weight)
    amounts = [
        _ints(name, position, value)
        for name, position, value in (
            ("stride", 4, stride), ("padding", 5, padding), ("dilation", 6, dilation),
            ("output_padding", 8, output_padding),
        )
    ]  # fmt: skip
    if w.ndim < 3 or x.ndim != w.ndim:
        raise RuntimeError(
            f"Expected {w.ndim}-dimensional input for {w.ndim}-dimensional weight {list(w.shape)}, but got "
            f"{x.ndim}-dimensional input of size {list(x.shape)} instead"
        )
    count = w.ndim - 2
    stride, padding, dilation, output_padding = amounts
    if transposed:
        return transposed_convolution(
            "convolution", count, input, weight, bias, stride, padding, output_padding, groups, dilation
        )
    return plain_convolution("convolution", count, input, weight, bias, stride, padding, dilation, groups)


@functional(guard=True)
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """Return the cross-correlation of sequences (time, batch, channels) with a kernel, plus `bias`.

    `weight` has the shape (K, channels, channels out), `bias` (channels out,); `pad` zeros are put before and after.
    Raises RuntimeError where shapes do not fit.

    >>> tl.nn.functional.conv_tbc(tl.ones(3, 1, 2), tl.ones(2, 2, 1), tl.zeros(1)).flatten()
    tensor([4., 4.])
    """
    x = array_of("conv_tbc", "input", 1, input)
    w = array_of("conv_tbc", "weight", 2, weight)
    b = array_of("conv_tbc", "bias", 3, bias)
    if x.ndim != 3:
        raise RuntimeError(f"Input must have 3 dims: time, batch, in_channel, got {x.ndim}")
    if w.ndim != 3:
        raise RuntimeError(f"Weight tensor must have 3 dims: kernel_width, in_channels, out_channels, got {w.ndim}")
    if b.ndim != 1:
        raise RuntimeError(f"Bias must be 1-D, got {b.ndim} dimensions")
    if x.shape[2] != w.shape[1]:
        raise RuntimeError(
            "Input dim 2 (input channels) is not == dim 1 in the weight tensor: "
            f"got {list(x.shape)} and {list(w.shape)}"
        )
    if b.shape[0] != w.shape[2]:
        raise RuntimeError(
            f"Bias size must equal dim 2 in the weight tensor (output channels): got {b.shape[0]} and {w.shape[2]}"
        )
    # A sequence one step too short gives an empty result, where conv1d would raise.
    empty = x.shape[0] + 2 * pad - w.shape[0] + 1 == 0
    found = _conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, 1, pad + empty)
    return found.permute(2, 0, 1)[:0] if empty else found.permute(2, 0, 1)
