"""Normalization layers that treat each sample separately."""

from __future__ import annotations

import operator
from collections.abc import Sequence

import tensorlike.nn.functional as F
from tensorlike._originals import tl
from tensorlike.nn import init
from tensorlike.tensor import Tensor
from tensorlike.tensor.device import device as Device
from tensorlike.tensor.dtypes import dtype as Dtype
from tensorlike.tensor.parameter import Parameter

from .module import Module

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


class _Affine(Module):
    weight: Parameter | None
    bias: Parameter | None

    def _make_parameters(
        self, shape: tuple[int, ...], affine: bool, bias: bool, device: Device | str | None, dtype: Dtype | None
    ) -> None:
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            value = tl.empty(shape, device=device, dtype=dtype) if wanted else None
            self.register_parameter(name, None if value is None else Parameter(value))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialise the parameters again."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class LayerNorm(_Affine):
    """Layer normalization: standardizes over the last dimensions, of the shape `normalized_shape`.

    With `elementwise_affine` there is a learned `weight` and, with `bias`, a learned `bias` of that shape. `eps` is
    added to the variance.

    >>> tl.nn.LayerNorm(2, elementwise_affine=False)(tl.tensor([[1.0, 3.0], [30.0, 10.0]]))
    tensor([[-1.0000,  1.0000],
            [ 1.0000, -1.0000]])
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__()
        sizes = normalized_shape if isinstance(normalized_shape, Sequence) else (operator.index(normalized_shape),)
        self.normalized_shape = tuple(sizes)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self._make_parameters(self.normalized_shape, elementwise_affine, bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class GroupNorm(_Affine):
    """Group normalization: standardizes each of `num_groups` groups of channels of (batch, channels, ...).

    With `affine` there is a learned `weight` and, with `bias`, a learned `bias` for each channel. Raises ValueError
    unless `num_channels` is a multiple of `num_groups`.

    >>> tl.nn.GroupNorm(2, 6)(tl.randn(3, 6, 4)).shape == (3, 6, 4)
    True
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Device | str | None = None,
        dtype: Dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self._make_parameters((num_channels,), affine, bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(_Affine):
    """Root mean square normalization: divides by it over the last dimensions, of the shape `normalized_shape`.

    With `elementwise_affine` there is a learned `weight` of that shape. `eps`, added to the mean, is the smallest
    difference of the input's dtype when None.

    >>> tl.nn.RMSNorm(2, elementwise_affine=False)(tl.tensor([3.0, 4.0]))
    tensor([0.8485, 1.1314])
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Device | str | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__()
        sizes = normalized_shape if isinstance(normalized_shape, Sequence) else (operator.index(normalized_shape),)
        self.normalized_shape = tuple(sizes)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        weight = tl.empty(self.normalized_shape, device=device, dtype=dtype) if elementwise_affine else None
        self.register_parameter("weight", None if weight is None else Parameter(weight))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialise the parameters again."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class LocalResponseNorm(Module):
    """Local response normalization: divides by a power of the mean square of `size` neighbouring channels.

    The divisor is (`k` + `alpha` · mean) to the power `beta`.

    >>> tl.nn.LocalResponseNorm(1, alpha=3.0, beta=0.5)(tl.ones(1, 1, 1))
    tensor([[[0.5000]]])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(Module):
    """Divides by a power of the sum of squares over `size` neighbouring channels of (batch, channels, height, width).

    The divisor is (`k` + `alpha` / `size` · sum) to the power `beta`. As in PyTorch, the first channel counts for all
    those behind its neighbours, too; `LocalResponseNorm` leaves it out there. The gradient is that of this function;
    PyTorch's leaves it out.

    >>> tl.nn.CrossMapLRN2d(1, alpha=3.0, beta=0.5)(tl.ones(1, 1, 1, 1))
    tensor([[[[0.5000]]]])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        channels, reach = input.shape[1], (self.size - 1) // 2 + 1
        squares = input.square()
        number = tl.arange(channels, device=input.device)
        near = (number[:, None] - number).abs() < reach
        first = (number[:, None] >= reach) & (number == 0)
        total = tl.einsum("cd,ndhw->nchw", (near | first).to(input.dtype), squares)
        return input * (total * (self.alpha / self.size) + self.k).pow(-self.beta)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
