"""Layers that pad the last dimensions."""

from __future__ import annotations

from typing import ClassVar

import tensorlike.nn.functional as F
from tensorlike.tensor import Tensor

from .module import Module
from .utils import repeated

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]

Sizes = int | tuple[int, ...]


class _Pad(Module):
    #: The number of padded dimensions.
    _dimensions: ClassVar[int]
    _mode: ClassVar[str]

    def __init__(self, padding: Sizes) -> None:
        super().__init__()
        self.padding = repeated(padding, 2 * self._dimensions)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(Module):
    _dimensions: ClassVar[int]

    def __init__(self, padding: Sizes, value: float) -> None:
        super().__init__()
        self.value = value
        self.padding = repeated(padding, 2 * self._dimensions)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ZeroPad(_ConstantPadNd):
    def __init__(self, padding: Sizes) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ReflectionPadNd(_Pad):
    _mode = "reflect"


class _ReplicationPadNd(_Pad):
    _mode = "replicate"


class _CircularPadNd(_Pad):
    _mode = "circular"

    def _check_input_dim(self, input: Tensor) -> None:
        count = self._dimensions
        if input.dim() not in (count + 1, count + 2):
            raise ValueError(f"expected {count + 1}D or {count + 2}D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        return super().forward(input)


class ConstantPad1d(_ConstantPadNd):
    """Pads the last dimension with `value`.

    `padding` is one amount for both sides, or one for each; negative amounts cut off.

    >>> tl.nn.ConstantPad1d((1, 2), 9)(tl.tensor([1.0, 2.0]))
    tensor([9., 1., 2., 9., 9.])
    """

    _dimensions = 1


class ConstantPad2d(_ConstantPadNd):
    """Pads the last two dimensions with `value`; `padding` is one amount, or (left, right, top, bottom).

    >>> tl.nn.ConstantPad2d((1, 0, 0, 1), 9)(tl.tensor([[1.0, 2.0]]))
    tensor([[9., 1., 2.],
            [9., 9., 9.]])
    """

    _dimensions = 2


class ConstantPad3d(_ConstantPadNd):
    """Pads the last three dimensions with `value`; `padding` is one amount, or two for each, the last first.

    >>> tl.nn.ConstantPad3d(1, 0)(tl.ones(2, 2, 2)).shape == (4, 4, 4)
    True
    """

    _dimensions = 3


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Pads the last dimension with zeros; `padding` is as in `ConstantPad1d`.

    >>> tl.nn.ZeroPad1d(1)(tl.tensor([1.0, 2.0]))
    tensor([0., 1., 2., 0.])
    """


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Pads the last two dimensions with zeros; `padding` is as in `ConstantPad2d`.

    >>> tl.nn.ZeroPad2d((1, 0, 0, 1))(tl.tensor([[1.0, 2.0]]))
    tensor([[0., 1., 2.],
            [0., 0., 0.]])
    """


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Pads the last three dimensions with zeros; `padding` is as in `ConstantPad3d`.

    >>> tl.nn.ZeroPad3d(1)(tl.ones(1, 1, 1)).sum()
    tensor(1.)
    """


class ReflectionPad1d(_ReflectionPadNd):
    """Pads the last dimension of (batch, channels, length) with its reflection at the border.

    `padding` is as in `ConstantPad1d`; the batch may be missing.

    >>> tl.nn.ReflectionPad1d((2, 1))(tl.tensor([[1.0, 2.0, 3.0]]))
    tensor([[3., 2., 1., 2., 3., 2.]])
    """

    _dimensions = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Pads the last two dimensions with their reflection at the border.

    `padding` is as in `ConstantPad2d`; the batch may be missing.

    >>> tl.nn.ReflectionPad2d((1, 0, 0, 0))(tl.tensor([[[1.0, 2.0]]]))
    tensor([[[2., 1., 2.]]])
    """

    _dimensions = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Pads the last three dimensions with their reflection at the border.

    `padding` is as in `ConstantPad3d`; the batch may be missing.

    >>> tl.nn.ReflectionPad3d(1)(tl.ones(1, 2, 2, 2)).shape == (1, 4, 4, 4)
    True
    """

    _dimensions = 3


class ReplicationPad1d(_ReplicationPadNd):
    """Pads the last dimension of (batch, channels, length) with the elements at its border.

    `padding` is as in `ConstantPad1d`; the batch may be missing.

    >>> tl.nn.ReplicationPad1d((2, 1))(tl.tensor([[1.0, 2.0, 3.0]]))
    tensor([[1., 1., 1., 2., 3., 3.]])
    """

    _dimensions = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Pads the last two dimensions of (batch, channels, height, width) with the elements at the border.

    `padding` is as in `ConstantPad2d`; the batch may be missing.

    >>> tl.nn.ReplicationPad2d((1, 0, 0, 0))(tl.tensor([[[1.0, 2.0]]]))
    tensor([[[1., 1., 2.]]])
    """

    _dimensions = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Pads the last three dimensions of (batch, channels, depth, height, width) with the elements at the border.

    `padding` is as in `ConstantPad3d`; the batch may be missing.

    >>> tl.nn.ReplicationPad3d(1)(tl.ones(1, 2, 2, 2)).shape == (1, 4, 4, 4)
    True
    """

    _dimensions = 3


class CircularPad1d(_CircularPadNd):
    """Pads the last dimension of (batch, channels, length) with the elements from its other end.

    `padding` is as in `ConstantPad1d`; the batch may be missing. Raises ValueError for other numbers of dimensions.

    >>> tl.nn.CircularPad1d((2, 1))(tl.tensor([[1.0, 2.0, 3.0]]))
    tensor([[2., 3., 1., 2., 3., 1.]])
    """

    _dimensions = 1


class CircularPad2d(_CircularPadNd):
    """Pads the last two dimensions of (batch, channels, height, width) with the elements from their other ends.

    `padding` is as in `ConstantPad2d`; the batch may be missing. Raises ValueError for other numbers of dimensions.

    >>> tl.nn.CircularPad2d((1, 0, 0, 0))(tl.tensor([[[1.0, 2.0]]]))
    tensor([[[2., 1., 2.]]])
    """

    _dimensions = 2


class CircularPad3d(_CircularPadNd):
    """Pads the last three dimensions with the elements from their other ends.

    `padding` is as in `ConstantPad3d`; the batch may be missing. Raises ValueError for other numbers of dimensions.

    >>> tl.nn.CircularPad3d(1)(tl.ones(1, 2, 2, 2)).shape == (1, 4, 4, 4)
    True
    """

    _dimensions = 3
