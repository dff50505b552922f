"""Dropout layers."""

from __future__ import annotations

import tensorlike.nn.functional as F
from tensorlike.tensor import Tensor

from .module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Module):
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Dropout: in training, sets each element to zero with probability `p` and scales the others by 1 / (1 − p).

    >>> module = tl.nn.Dropout(p=1.0)
    >>> module(tl.ones(2)), module.eval()(tl.ones(2))
    (tensor([0., 0.]), tensor([1., 1.]))
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Dropout of whole channels of (batch, channels, length), or of (channels, length).

    >>> tl.nn.Dropout1d(p=1.0)(tl.ones(1, 1, 2))
    tensor([[[0., 0.]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Dropout of whole channels of (batch, channels, height, width).

    >>> tl.nn.Dropout2d(p=1.0)(tl.ones(1, 1, 1, 2))
    tensor([[[[0., 0.]]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """Dropout of whole channels of (batch, channels, depth, height, width).

    >>> tl.nn.Dropout3d(p=1.0)(tl.ones(1, 1, 1, 1, 2)).flatten()
    tensor([0., 0.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Alpha dropout, for `SELU`: in training, sets elements to its negative limit, keeping mean and variance.

    >>> module = tl.nn.AlphaDropout(p=0.5)
    >>> len(module(tl.ones(1000)).unique()), module.eval()(tl.ones(2))
    (2, tensor([1., 1.]))
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """`AlphaDropout` of whole channels of (batch, channels, ...).

    >>> tl.nn.FeatureAlphaDropout().eval()(tl.ones(1, 2))
    tensor([[1., 1.]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
