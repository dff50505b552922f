"""Layers that rearrange elements: windows and columns, pixels and channels."""

from __future__ import annotations

import tensorlike.nn.functional as F
from tensorlike.tensor import Tensor

from .module import Module

__all__ = ["ChannelShuffle", "Fold", "PixelShuffle", "PixelUnshuffle", "Unfold"]

Sizes = int | tuple[int, ...]


class Fold(Module):
    """Adds columns up as windows of images: (batch, channels · window, windows) becomes (batch, channels,
    *output_size).

    >>> tl.nn.Fold((2, 3), 2)(tl.ones(1, 4, 2))
    tensor([[[[1., 2., 1.],
              [1., 2., 1.]]]])

    Source: PyTorch's `torch.nn.Fold`.
    """

    def __init__(
        self, output_size: Sizes, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )


class Unfold(Module):
    """The windows of images (batch, channels, height, width) as columns (batch, channels · window, windows).

    >>> tl.nn.Unfold((2, 3))(tl.ones(2, 5, 3, 4)).shape == (2, 30, 4)
    True

    Source: PyTorch's `torch.nn.Unfold`.
    """

    def __init__(self, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"
        )


class PixelShuffle(Module):
    """Rearranges channels into pixels: (..., channels · factor², height, width) becomes (..., channels, height ·
    factor, ...).

    >>> tl.nn.PixelShuffle(2)(tl.arange(4.0).reshape(4, 1, 1))
    tensor([[[0., 1.],
             [2., 3.]]])

    Source: PyTorch's `torch.nn.PixelShuffle`.
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Rearranges pixels into channels: the inverse of `PixelShuffle`.

    >>> tl.nn.PixelUnshuffle(2)(tl.ones(1, 4, 6)).shape == (4, 2, 3)
    True

    Source: PyTorch's `torch.nn.PixelUnshuffle`.
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Reorders the channels of (batch, channels, ...): the first of each of `groups` groups, then the second of each.

    >>> tl.nn.ChannelShuffle(2)(tl.arange(4.0).reshape(1, 4, 1)).flatten()
    tensor([0., 2., 1., 3.])

    Source: PyTorch's `torch.nn.ChannelShuffle`.
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
