"""Transposed convolution layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import tensorlike.nn.functional as F
from tensorlike.tensor import Tensor
from tensorlike.tensor.device import device as Device
from tensorlike.tensor.dtypes import dtype as Dtype

from .conv import LazyConvolution, _ConvNd
from .utils import repeated

__all__ = [
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
]

Sizes = int | tuple[int, ...]


class _ConvTransposeNd(_ConvNd):
    """Base class of transposed convolutions: their arguments, parameters and text."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: str | tuple[int, ...],
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Device | str | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, transposed, output_padding, groups, bias,
            padding_mode, device, dtype,
        )  # fmt: skip


class _TransposedConvolution(_ConvTransposeNd):
    _dimensions: ClassVar[int]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        padding_mode: str = "zeros",
        device: Device | str | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        sizes, steps, sides, holes, more = (
            repeated(value, self._dimensions) for value in (kernel_size, stride, padding, dilation, output_padding)
        )
        super().__init__(
            in_channels, out_channels, sizes, steps, sides, holes, True, more, groups, bias, padding_mode, device, dtype
        )

    def _extra_rows(self, input: Tensor, output_size: Sequence[int] | None) -> tuple[int, ...]:
        """Return the output padding that gives the requested output size."""
        if output_size is None:
            return self.output_padding
        count = self._dimensions
        other = 2 if input.dim() == count + 2 else 1
        if len(output_size) not in (count, count + other):
            raise ValueError(
                f"ConvTranspose{count}D: for {input.dim()}D input, output_size must have {count} or {count + other} "
                f"elements (got {len(output_size)})"
            )
        wanted = [int(size) for size in output_size][-count:]
        spatial = tuple(input.shape)[-count:]
        paddings: Any = self.padding
        least = [
            (size - 1) * step - 2 * int(pad) + hole * (width - 1) + 1
            for size, step, pad, hole, width in zip(spatial, self.stride, paddings, self.dilation, self.kernel_size)
        ]
        most = [size + step - 1 for size, step in zip(least, self.stride)]
        if any(not low <= size <= high for low, size, high in zip(least, wanted, most)):
            raise ValueError(
                f"requested an output size of {wanted}, but valid sizes range from {least} to {most} (for an input of "
                f"{list(spatial)})"
            )
        return tuple(size - low for size, low in zip(wanted, least))

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return type(self)._function(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self._extra_rows(input, output_size),
            self.groups,
            self.dilation,
        )


class ConvTranspose1d(_TransposedConvolution):
    """The transposed convolution, the gradient of `Conv1d` by its input: (batch, channels, length) to (batch, out,
    length').

    `output_padding` makes the output longer at its end, since several lengths give the same output of the strided
    `Conv1d`; so does `output_size`, an argument of `forward`. `weight` is (in_channels, out_channels / groups,
    kernel_size). Raises ValueError for a padding mode other than "zeros".

    >>> module = tl.nn.ConvTranspose1d(2, 4, 3, stride=2)
    >>> module(tl.ones(1, 2, 4)).shape == (1, 4, 9), module(tl.ones(1, 2, 4), output_size=[10]).shape == (1, 4, 10)
    (True, True)
    """

    _dimensions = 1
    _function = staticmethod(F.conv_transpose1d)


class ConvTranspose2d(_TransposedConvolution):
    """The transposed convolution, the gradient of `Conv2d` by its input; the arguments are those of `ConvTranspose1d`,
    in two dimensions.

    >>> tl.nn.ConvTranspose2d(3, 6, 3, stride=2)(tl.ones(1, 3, 4, 4)).shape == (1, 6, 9, 9)
    True
    """

    _dimensions = 2
    _function = staticmethod(F.conv_transpose2d)


class ConvTranspose3d(_TransposedConvolution):
    """The transposed convolution, the gradient of `Conv3d` by its input; the arguments are those of `ConvTranspose1d`,
    in three dimensions.

    >>> tl.nn.ConvTranspose3d(2, 4, 2)(tl.ones(1, 2, 2, 2, 2)).shape == (1, 4, 3, 3, 3)
    True
    """

    _dimensions = 3
    _function = staticmethod(F.conv_transpose3d)


class _LazyConvTranspose(LazyConvolution, _TransposedConvolution):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        padding_mode: str = "zeros",
        device: Device | str | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__(
            0, out_channels, kernel_size, stride, padding, output_padding, groups, bias, dilation, padding_mode, device,
            dtype,
        )  # fmt: skip


class LazyConvTranspose1d(_LazyConvTranspose):
    """`ConvTranspose1d` that finds the number of input channels from its first input.

    >>> tl.nn.LazyConvTranspose1d(4, 3)(tl.ones(2, 3, 8)).shape == (2, 4, 10)
    True
    """

    cls_to_become = ConvTranspose1d
    _dimensions = 1
    _function = staticmethod(F.conv_transpose1d)


class LazyConvTranspose2d(_LazyConvTranspose):
    """`ConvTranspose2d` that finds the number of input channels from its first input.

    >>> tl.nn.LazyConvTranspose2d(4, 3)(tl.ones(2, 3, 8, 8)).shape == (2, 4, 10, 10)
    True
    """

    cls_to_become = ConvTranspose2d
    _dimensions = 2
    _function = staticmethod(F.conv_transpose2d)


class LazyConvTranspose3d(_LazyConvTranspose):
    """`ConvTranspose3d` that finds the number of input channels from its first input.

    >>> tl.nn.LazyConvTranspose3d(4, 3)(tl.ones(2, 3, 2, 2, 2)).shape == (2, 4, 4, 4, 4)
    True
    """

    cls_to_become = ConvTranspose3d
    _dimensions = 3
    _function = staticmethod(F.conv_transpose3d)
