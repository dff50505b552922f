"""Convolution layers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import tensorlike.nn.functional as F
from tensorlike._originals import tl
from tensorlike.dispatch.tracebacks import short_tracebacks
from tensorlike.nn import init
from tensorlike.nn.parameter import UninitializedParameter
from tensorlike.tensor import Tensor
from tensorlike.tensor.device import device as Device
from tensorlike.tensor.dtypes import dtype as Dtype
from tensorlike.tensor.parameter import Parameter

from .lazy import LazyModuleMixin
from .module import Module
from .utils import _reverse_repeat_tuple, repeated

__all__ = ["Conv1d", "Conv2d", "Conv3d", "LazyConv1d", "LazyConv2d", "LazyConv3d", "LazyConvolution"]

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """Base class of convolutions: their arguments, parameters and text."""

    weight: Parameter
    bias: Parameter | None
    _function: ClassVar[Callable[..., Tensor]]

    @short_tracebacks
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
        super().__init__()
        self._check_channels(in_channels, out_channels, groups)
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of 'same', 'valid'")
            if padding == "same" and any(step != 1 for step in stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in _PADDING_MODES:
            modes = ", ".join(map(repr, _PADDING_MODES))
            raise ValueError(f"padding_mode must be one of {modes}, but got padding_mode={padding_mode!r}")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = self._pad_argument()
        self._make_parameters(bias, device, dtype)

    def _check_channels(self, in_channels: int, out_channels: int, groups: int) -> None:
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")

    def _make_parameters(self, bias: bool, device: Device | str | None, dtype: Dtype | None) -> None:
        self.weight = Parameter(tl.empty(self._weight_shape(), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(tl.empty(self.out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _weight_shape(self) -> tuple[int, ...]:
        if self.transposed:
            return (self.in_channels, self.out_channels // self.groups, *self.kernel_size)
        return (self.out_channels, self.in_channels // self.groups, *self.kernel_size)

    def _pad_argument(self) -> list[int]:
        """Return the padding in the form of `pad`: the last dimension first, each with both sides."""
        if self.padding == "same":
            totals = [step * (size - 1) for step, size in zip(self.dilation, self.kernel_size)]
            return [amount for total in reversed(totals) for amount in (total // 2, total - total // 2)]
        if isinstance(self.padding, str):
            return [0, 0] * len(self.kernel_size)
        return list(_reverse_repeat_tuple(tuple(int(amount) for amount in self.padding), 2))

    def reset_parameters(self) -> None:
        """Initialise the parameters again."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
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
        if self.output_padding != (0,) * len(self.output_padding):
            parts.append(f"output_padding={self.output_padding}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)


class _Convolution(_ConvNd):
    """Base class of the convolutions: arguments are one number for all dimensions, or one for each."""

    #: The number of spatial dimensions.
    _dimensions: ClassVar[int]

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
        device: Device | str | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        sizes, steps, holes = (repeated(value, self._dimensions) for value in (kernel_size, stride, dilation))
        sides = padding if isinstance(padding, str) else repeated(padding, self._dimensions)
        super().__init__(
            in_channels, out_channels, sizes, steps, sides, holes, False, repeated(0, self._dimensions), groups, bias,
            padding_mode, device, dtype,
        )  # fmt: skip


class Conv1d(_Convolution):
    """1D convolution of (batch, in_channels, length) with learned kernels, giving (batch, out_channels, length').

    `padding` is a number, "valid" (none) or "same" (the length is kept, only with stride 1); `padding_mode` is "zeros",
    "reflect", "replicate" or "circular". `weight` is (out_channels, in_channels / groups, kernel_size).

    >>> tl.nn.Conv1d(2, 4, 3, padding="same")(tl.ones(1, 2, 8)).shape == (1, 4, 8)
    True
    """

    _dimensions = 1
    _function = staticmethod(F.conv1d)


class Conv2d(_Convolution):
    """2D convolution of (batch, in_channels, height, width) with learned kernels, as `Conv1d` in two dimensions.

    `weight` is (out_channels, in_channels / groups, kernel height, kernel width).

    >>> tl.nn.Conv2d(3, 6, kernel_size=3, stride=2, padding=1)(tl.ones(1, 3, 8, 8)).shape == (1, 6, 4, 4)
    True
    """

    _dimensions = 2
    _function = staticmethod(F.conv2d)


class Conv3d(_Convolution):
    """3D convolution of (batch, in_channels, depth, height, width) with learned kernels, as `Conv1d`.

    `weight` is (out_channels, in_channels / groups, kernel depth, height, width).

    >>> tl.nn.Conv3d(2, 4, kernel_size=(1, 3, 3))(tl.ones(1, 2, 2, 4, 4)).shape == (1, 4, 2, 2, 2)
    True
    """

    _dimensions = 3
    _function = staticmethod(F.conv3d)


class LazyConvolution(LazyModuleMixin):
    """Base class of lazy convolutions, which take the number of input channels from their first input."""

    weight: Any
    bias: Any
    in_channels: int
    groups: int

    def _make_parameters(self, bias: bool, device: Device | str | None, dtype: Dtype | None) -> None:
        this: Any = self
        this.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            this.bias = UninitializedParameter(device=device, dtype=dtype)
        else:
            this.register_parameter("bias", None)

    def _check_channels(self, in_channels: int, out_channels: int, groups: int) -> None:
        if in_channels or groups <= 0:
            # The number of channels is unknown before the first input.
            super()._check_channels(in_channels, out_channels, groups)  # type: ignore[misc]

    def reset_parameters(self) -> None:
        """Initialise the parameters again, if they are materialized."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Materialize the parameters for the channels of `input`."""
        if not self.has_uninitialized_params():
            return
        this: Any = self
        channels = this._channels_of(input)
        this._check_channels(channels, this.out_channels, self.groups)
        self.in_channels = channels
        self.weight.materialize(this._weight_shape())
        if self.bias is not None:
            self.bias.materialize((this.out_channels,))
        self.reset_parameters()

    def _infer_parameters(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        super()._infer_parameters(args, kwargs)
        if self.in_channels == 0:
            # Already materialized by loading a state.
            this: Any = self
            self.in_channels = self.weight.shape[0] if this.transposed else self.weight.shape[1] * self.groups

    def _channels_of(self, input: Tensor) -> int:
        this: Any = self
        count = this._dimensions
        if input.dim() not in (count + 1, count + 2):
            raise RuntimeError(
                f"Expected {count + 1}D (unbatched) or {count + 2}D (batched) input to {type(self).__name__}, but got "
                f"input of size: {list(input.shape)}"
            )
        return int(input.shape[-count - 1])


class _LazyConv(LazyConvolution, _Convolution):
    def __init__(
        self,
        out_channels: int,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] = 1,
        padding: str | int | tuple[int, ...] = 0,
        dilation: int | tuple[int, ...] = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Device | str | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__(
            0, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device, dtype
        )


class LazyConv1d(_LazyConv):
    """`Conv1d` that finds the number of input channels from its first input.

    >>> tl.nn.LazyConv1d(4, 3)(tl.ones(2, 3, 8)).shape == (2, 4, 6)
    True
    """

    cls_to_become = Conv1d
    _dimensions = 1
    _function = staticmethod(F.conv1d)


class LazyConv2d(_LazyConv):
    """`Conv2d` that finds the number of input channels from its first input.

    >>> tl.nn.LazyConv2d(4, 3)(tl.ones(2, 3, 8, 8)).shape == (2, 4, 6, 6)
    True
    """

    cls_to_become = Conv2d
    _dimensions = 2
    _function = staticmethod(F.conv2d)


class LazyConv3d(_LazyConv):
    """`Conv3d` that finds the number of input channels from its first input.

    >>> tl.nn.LazyConv3d(4, 3)(tl.ones(2, 3, 4, 4, 4)).shape == (2, 4, 2, 2, 2)
    True
    """

    cls_to_become = Conv3d
    _dimensions = 3
    _function = staticmethod(F.conv3d)
