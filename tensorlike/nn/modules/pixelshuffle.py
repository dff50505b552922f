"""Layers that exchange channels and pixels."""

from __future__ import annotations

import tensorlike.nn.functional as F
from tensorlike.tensor import Tensor

from .module import Module

__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Module):
    """Rearranges channels into pixels: (..., channels · factor², height, width) becomes (..., channels, height ·
    factor, ...).

    >>> tl.nn.PixelShuffle(2)(tl.arange(4.0).reshape(4, 1, 1))
    tensor([[[0., 1.],
             [2., 3.]]])
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
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"
