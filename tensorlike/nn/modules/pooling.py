"""Pooling layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import tensorlike.nn.functional as F
from tensorlike.tensor import Tensor

from .module import Module
from .utils import repeated

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
]

Sizes = int | tuple[int, ...]


class _MaxPoolNd(Module):
    _function: ClassVar[Callable[..., Any]]

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        return type(self)._function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """1D max pooling: the maximum over windows of (batch, channels, length).

    Windows are `kernel_size` wide and `stride` apart (`kernel_size` when None); `padding` adds -inf on both sides;
    `ceil_mode` keeps a last, incomplete window. With `return_indices` the positions of the maxima are returned as well.

    >>> tl.nn.MaxPool1d(2)(tl.tensor([[[1.0, 3.0, 2.0, 0.0]]]))
    tensor([[[3., 2.]]])
    """

    _function = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPoolNd):
    """2D max pooling of (batch, channels, height, width); the arguments are those of `MaxPool1d`.

    >>> tl.nn.MaxPool2d(2)(tl.tensor([[[[1.0, 3.0], [2.0, 0.0]]]]))
    tensor([[[[3.]]]])
    """

    _function = staticmethod(F.max_pool2d)


class MaxPool3d(_MaxPoolNd):
    """3D max pooling of (batch, channels, depth, height, width); the arguments are those of `MaxPool1d`.

    >>> tl.nn.MaxPool3d(2)(tl.arange(8.0).reshape(1, 1, 2, 2, 2)).item()
    7.0
    """

    _function = staticmethod(F.max_pool3d)


class _AvgPoolNd(Module):
    kernel_size: Any
    stride: Any
    padding: Any
    ceil_mode: bool
    count_include_pad: bool

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """1D average pooling: the mean over windows of (batch, channels, length).

    Windows are `kernel_size` wide and `stride` apart (`kernel_size` when None); `padding` adds zeros on both sides,
    which count unless `count_include_pad` is False; `ceil_mode` keeps a last, incomplete window.

    >>> tl.nn.AvgPool1d(2)(tl.tensor([[[1.0, 3.0, 2.0, 0.0]]]))
    tensor([[[2., 1.]]])
    """

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = repeated(kernel_size, 1)
        self.stride = self.kernel_size if stride is None else repeated(stride, 1)
        self.padding = repeated(padding, 1)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class _AvgPoolWithDivisor(_AvgPoolNd):
    _function: ClassVar[Callable[..., Tensor]]

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        return type(self)._function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class AvgPool2d(_AvgPoolWithDivisor):
    """2D average pooling: the mean over windows of (batch, channels, height, width).

    The arguments are those of `AvgPool1d`, and `divisor_override`, which takes the place of a window's size.

    >>> tl.nn.AvgPool2d(2)(tl.tensor([[[[1.0, 3.0], [2.0, 0.0]]]]))
    tensor([[[[1.5000]]]])
    """

    _function = staticmethod(F.avg_pool2d)


class AvgPool3d(_AvgPoolWithDivisor):
    """3D average pooling of (batch, channels, depth, height, width); the arguments are those of `AvgPool2d`.

    >>> tl.nn.AvgPool3d(2)(tl.arange(8.0).reshape(1, 1, 2, 2, 2)).item()
    3.5
    """

    _function = staticmethod(F.avg_pool3d)


class _AdaptiveAvgPoolNd(Module):
    def __init__(self, output_size: int | tuple[int | None, ...] | None) -> None:
        super().__init__()
        self.output_size: Any = output_size

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Average pooling to `output_size` elements: the means of that many windows of (batch, channels, length).

    >>> tl.nn.AdaptiveAvgPool1d(2)(tl.tensor([[[1.0, 3.0, 2.0, 0.0]]]))
    tensor([[[2., 1.]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Average pooling to `output_size`: the means of that many windows of (batch, channels, height, width).

    `output_size` is one number for both dimensions or a pair; None keeps the input's size.

    >>> tl.nn.AdaptiveAvgPool2d((1, None))(tl.ones(1, 2, 5, 7)).shape == (1, 2, 1, 7)
    True
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Average pooling to `output_size`: the means of windows of (batch, channels, depth, height, width).

    `output_size` is one number for all dimensions or three; None keeps the input's size.

    >>> tl.nn.AdaptiveAvgPool3d((1, None, 2))(tl.ones(1, 2, 3, 5, 7)).shape == (1, 2, 1, 5, 2)
    True
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool3d(input, self.output_size)


class _AdaptiveMaxPoolNd(Module):
    def __init__(self, output_size: int | tuple[int | None, ...] | None, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size: Any = output_size
        self.return_indices = return_indices

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Max pooling to `output_size` elements: the maxima of that many windows of (batch, channels, length).

    With `return_indices` the positions of the maxima are returned as well.

    >>> tl.nn.AdaptiveMaxPool1d(2)(tl.tensor([[[1.0, 3.0, 2.0, 0.0]]]))
    tensor([[[3., 2.]]])
    """

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Max pooling to `output_size`: the maxima of that many windows of (batch, channels, height, width).

    `output_size` is one number for both dimensions or a pair; None keeps the input's size.

    >>> tl.nn.AdaptiveMaxPool2d((1, None))(tl.tensor([[[1.0, 3.0], [2.0, 0.0]]]))
    tensor([[[2., 3.]]])
    """

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Max pooling to `output_size`: the maxima of windows of (batch, channels, depth, height, width).

    `output_size` is one number for all dimensions or three; None keeps the input's size.

    >>> tl.nn.AdaptiveMaxPool3d(1)(tl.arange(8.0).reshape(1, 2, 2, 2)).item()
    7.0
    """

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)
