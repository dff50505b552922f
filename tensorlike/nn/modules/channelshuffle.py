"""The layer that shuffles channels."""

from __future__ import annotations

import tensorlike.nn.functional as F
from tensorlike.tensor import Tensor

from .module import Module

__all__ = ["ChannelShuffle"]


class ChannelShuffle(Module):
    """Reorders the channels of (batch, channels, ...): the first of each of `groups` groups, then the second of each.

    >>> tl.nn.ChannelShuffle(2)(tl.arange(4.0).reshape(1, 4, 1)).flatten()
    tensor([0., 2., 1., 3.])
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
