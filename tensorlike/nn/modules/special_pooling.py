"""Lp pooling, fractional max pooling and max unpooling layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import tensorlike.nn.functional as F
from tensorlike.tensor import Tensor

from .module import Module
from .utils import repeated

__all__ = [
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]

Sizes = int | tuple[int, ...]


class _LPPoolNd(Module):
    def __init__(
        self, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """Power-average pooling: the root of the sum of powers `norm_type` over windows of (batch, channels, length).

    Windows are `kernel_size` wide and `stride` apart (`kernel_size` when None).

    >>> tl.nn.LPPool1d(2, 2)(tl.tensor([[[3.0, 4.0]]]))
    tensor([[[5.]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool1d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool2d(_LPPoolNd):
    """2D power-average pooling of (batch, channels, height, width); see `LPPool1d`.

    >>> tl.nn.LPPool2d(2, 2)(tl.ones(1, 1, 2, 2))
    tensor([[[[2.]]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool2d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool3d(_LPPoolNd):
    """3D power-average pooling of (batch, channels, depth, height, width); see `LPPool1d`.

    The arguments are those of `LPPool1d`.

    >>> tl.nn.LPPool3d(3, 2)(tl.ones(1, 1, 2, 2, 2)).item()
    2.0
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool3d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class _MaxUnpoolNd(Module):
    _dimensions: ClassVar[int]

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0) -> None:
        super().__init__()
        self.kernel_size = repeated(kernel_size, self._dimensions)
        self.stride = repeated(kernel_size if stride is None else stride, self._dimensions)
        self.padding = repeated(padding, self._dimensions)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Inverse of `MaxPool1d`: puts the maxima of (batch, channels, length) back at their indices, zeros elsewhere.

    Takes the maxima, their `indices`, and the size of the result, the usual one for these windows when None.

    >>> tl.nn.MaxUnpool1d(2)(tl.tensor([[3.0, 2.0]]), tl.tensor([[1, 2]]))
    tensor([[0., 3., 2., 0.]])
    """

    _dimensions = 1

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        return F.max_unpool1d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d(_MaxUnpoolNd):
    """Inverse of `MaxPool2d` for (batch, channels, height, width): see `MaxUnpool1d`.

    >>> tl.nn.MaxUnpool2d(2)(tl.tensor([[[5.0]]]), tl.tensor([[[3]]]))
    tensor([[[0., 0.],
             [0., 5.]]])
    """

    _dimensions = 2

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        return F.max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool3d(_MaxUnpoolNd):
    """Inverse of `MaxPool3d` for (batch, channels, depth, height, width): see `MaxUnpool1d`.

    The arguments are those of `MaxUnpool1d`.

    >>> tl.nn.MaxUnpool3d(2)(tl.tensor([[[[5.0]]]]), tl.tensor([[[[7]]]])).shape == (1, 2, 2, 2)
    True
    """

    _dimensions = 3

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        return F.max_unpool3d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class _FractionalMaxPool(Module):
    _dimensions: ClassVar[int]
    _function: ClassVar[Callable[..., Any]]
    output_size: tuple[int, ...] | None
    output_ratio: tuple[float, ...] | None

    def __init__(
        self,
        kernel_size: Sizes,
        output_size: Sizes | None = None,
        output_ratio: float | tuple[float, ...] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        count = self._dimensions
        self.kernel_size = repeated(kernel_size, count)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else repeated(output_size, count)
        self.output_ratio = None if output_ratio is None else repeated(output_ratio, count)
        kind = type(self).__name__
        if output_size is None and output_ratio is None:
            raise ValueError(f"{kind} requires specifying either an output size, or a pooling ratio")
        if self.output_size is not None and self.output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        return type(self)._function(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPool):
    """Fractional max pooling: the maxima of windows of (batch, channels, height, width) at random positions.

    The number of windows is `output_size`, or `output_ratio`, between 0 and 1, times the input's size. With
    `return_indices` the positions of the maxima are returned as well. Raises ValueError unless one of the two is given.

    >>> tl.nn.FractionalMaxPool2d(2, output_ratio=0.5)(tl.randn(1, 2, 8, 6)).shape == (1, 2, 4, 3)
    True
    """

    _dimensions = 2
    _function = staticmethod(F.fractional_max_pool2d)


class FractionalMaxPool3d(_FractionalMaxPool):
    """The maximum over windows of (batch, channels, depth, height, width) at random positions; see
    `FractionalMaxPool2d`.

    >>> tl.nn.FractionalMaxPool3d(2, output_size=(2, 3, 3))(tl.randn(1, 2, 4, 6, 6)).shape == (1, 2, 2, 3, 3)
    True
    """

    _dimensions = 3
    _function = staticmethod(F.fractional_max_pool3d)
