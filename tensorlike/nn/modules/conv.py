"""Convolution layers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import tensorlike as tl
import tensorlike.nn.functional as F
from tensorlike.nn import init
from tensorlike.tensor import Tensor
from tensorlike.tensor.parameter import Parameter

from .module import Module
from .utils import repeated

__all__ = ["Conv1d", "Conv2d"]

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _Convolution(Module):
    """What convolutions of all dimensions share: their arguments, parameters and text."""

    weight: Parameter
    bias: Parameter | None
    #: How many dimensions the kernel moves along.
    _dimensions: ClassVar[int]
    _function: ClassVar[Callable[..., Tensor]]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] = 1,
        padding: str | int | tuple[int, ...] = 0,
        dilation: int | tuple[int, ...] = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of 'same', 'valid'")
            if padding == "same" and any(step != 1 for step in repeated(stride, self._dimensions)):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in _PADDING_MODES:
            modes = ", ".join(map(repr, _PADDING_MODES))
            raise ValueError(f"padding_mode must be one of {modes}, but got padding_mode={padding_mode!r}")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = repeated(kernel_size, self._dimensions)
        self.stride = repeated(stride, self._dimensions)
        self.padding = padding if isinstance(padding, str) else repeated(padding, self._dimensions)
        self.dilation = repeated(dilation, self._dimensions)
        self.transposed = False
        self.output_padding = repeated(0, self._dimensions)
        self.groups = groups
        self.padding_mode = padding_mode
        self._padding_for_pad = self._pad_argument()
        self.weight = Parameter(
            tl.empty((out_channels, in_channels // groups, *self.kernel_size), device=device, dtype=dtype)
        )
        if bias:
            self.bias = Parameter(tl.empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _pad_argument(self) -> tuple[int, ...]:
        """Return the padding as `pad` wants it: the last dimension first, each from the left and from the right."""
        if self.padding == "valid":
            return (0, 0) * len(self.kernel_size)
        if self.padding == "same":
            totals = [step * (size - 1) for step, size in zip(self.dilation, self.kernel_size)]
            sides = [(total // 2, total - total // 2) for total in totals]
        else:
            sides = [(int(amount), int(amount)) for amount in self.padding]
        return tuple(amount for side in reversed(sides) for amount in side)

    def reset_parameters(self) -> None:
        """Fill the parameters anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._padding_for_pad, mode=self.padding_mode)
            padding = (0,) * len(self.kernel_size)
        return type(self)._function(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        parts = [
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}",
        ]
        if self.padding != (0,) * len(self.padding):
            parts.append(f"padding={self.padding}")
        if self.dilation != (1,) * len(self.dilation):
            parts.append(f"dilation={self.dilation}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)


class Conv1d(_Convolution):
    """The cross-correlation of (batch, in_channels, length) with a kernel, giving (batch, out_channels, length').

    `padding` is a number, "valid" (none) or "same" (as much as keeps the length, with stride 1); `padding_mode` is
    "zeros", "reflect", "replicate" or "circular". `weight` is (out_channels, in_channels / groups, kernel_size).

    >>> import tensorlike as tl
    >>> tl.nn.Conv1d(2, 4, 3, padding="same")(tl.ones(1, 2, 8)).shape == (1, 4, 8)
    True

    Source: PyTorch's `torch.nn.Conv1d`.
    """

    _dimensions = 1
    _function = staticmethod(F.conv1d)


class Conv2d(_Convolution):
    """The cross-correlation of (batch, in_channels, height, width) with a kernel, as `Conv1d` in two dimensions.

    `weight` is (out_channels, in_channels / groups, kernel height, kernel width).

    >>> import tensorlike as tl
    >>> tl.nn.Conv2d(3, 6, kernel_size=3, stride=2, padding=1)(tl.ones(1, 3, 8, 8)).shape == (1, 6, 4, 4)
    True

    Source: PyTorch's `torch.nn.Conv2d`.
    """

    _dimensions = 2
    _function = staticmethod(F.conv2d)
