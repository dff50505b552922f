"""Linear layers."""

from __future__ import annotations

import math
from typing import Any

import tensorlike as tl
import tensorlike.nn.functional as F
from tensorlike.nn import init
from tensorlike.tensor import Tensor
from tensorlike.tensor.parameter import Parameter

from .module import Module

__all__ = ["Identity", "Linear"]


class Identity(Module):
    """A module that returns its input; it takes any arguments, so that it can stand in for any other.

    >>> import tensorlike as tl
    >>> tl.nn.Identity(54, unused=True)(tl.ones(2))
    tensor([1., 1.])

    Source: PyTorch's `torch.nn.Identity`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """The affine map `input @ weight.T + bias`.

    `weight` is (out_features, in_features), `bias` (out_features,), both uniform within 1/√in_features at first. The
    input is (..., in_features), the output (..., out_features).

    >>> import tensorlike as tl
    >>> tl.nn.Linear(2, 3)(tl.ones(5, 2)).shape == (5, 3)
    True

    Source: PyTorch's `torch.nn.Linear`.
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(tl.empty((out_features, in_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(tl.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Fill the parameters anew."""
        # With this slope the bound comes out as 1 / sqrt(in_features).
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"
