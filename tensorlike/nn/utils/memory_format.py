"""Converting the weights of convolutions to another memory format."""

from __future__ import annotations

from typing import TypeVar

from tensorlike.nn.modules.conv import Conv2d, Conv3d
from tensorlike.nn.modules.conv_transpose import ConvTranspose2d, ConvTranspose3d
from tensorlike.nn.modules.module import Module
from tensorlike.tensor.layouts import memory_format

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]

M = TypeVar("M", bound=Module)


def _convert(module: M, layers: tuple[type[Module], ...], format: memory_format) -> M:
    for part in module.modules():
        if isinstance(part, layers):
            part.weight.data = part.weight.detach().clone().contiguous(memory_format=format)
    return module


def convert_conv2d_weight_memory_format(module: M, memory_format: memory_format) -> M:
    """Convert the weights of every Conv2d and ConvTranspose2d in `module` to `memory_format`; return the module.

    >>> layer = tl.nn.utils.convert_conv2d_weight_memory_format(tl.nn.Conv2d(3, 4, 2), tl.channels_last)
    >>> layer.weight.is_contiguous(memory_format=tl.channels_last)
    True
    """
    return _convert(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: M, memory_format: memory_format) -> M:
    """Convert the weights of every Conv3d and ConvTranspose3d in `module` to `memory_format`; return the module.

    >>> layer = tl.nn.utils.convert_conv3d_weight_memory_format(tl.nn.Conv3d(3, 4, 2), tl.channels_last_3d)
    >>> layer.weight.is_contiguous(memory_format=tl.channels_last_3d)
    True
    """
    return _convert(module, (Conv3d, ConvTranspose3d), memory_format)
