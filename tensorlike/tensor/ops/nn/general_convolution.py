"""`convolution` with all arguments explicit, and `conv_tbc` of sequences whose first dimension is time."""

from __future__ import annotations

from typing import Any

from tensorlike.tensor.declare import composite, undispatched
from tensorlike.tensor.types import Tensor

from . import convolution as functions
from .declaring import array_of, functional

_conv1d = undispatched(functions.conv1d)


def _ints(name: str, position: int, value: Any) -> tuple[int, ...]:
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
    """Return the convolution, or transposed convolution, of a batch along 1, 2 or 3 dimensions.

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
        return functions.transposed_convolution(
            "convolution", count, input, weight, bias, stride, padding, output_padding, groups, dilation
        )
    return functions.plain_convolution(
        "convolution", count, input, weight, bias, stride, padding, dilation, groups
    )


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
