"""Linear layers."""

from __future__ import annotations

import math
from typing import Any

import tensorlike.nn.functional as F
from tensorlike._originals import tl
from tensorlike.nn import init
from tensorlike.nn.parameter import UninitializedParameter
from tensorlike.tensor import Tensor
from tensorlike.tensor.device import device as Device
from tensorlike.tensor.dtypes import dtype as Dtype
from tensorlike.tensor.parameter import Parameter

from .lazy import LazyModuleMixin
from .module import Module

__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear"]


class Identity(Module):
    """A module that returns its input; takes any arguments, so that it can replace any other module.

    >>> tl.nn.Identity(54, unused=True)(tl.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """Fully connected layer: the affine map `input @ weight.T + bias`.

    `weight` is (out_features, in_features), `bias` (out_features,), both uniform within 1/√in_features at first. The
    input is (..., in_features), the output (..., out_features).

    >>> tl.nn.Linear(2, 3)(tl.ones(5, 2)).shape == (5, 3)
    True
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Device | str | None = None,
        dtype: Dtype | None = None,
    ) -> None:  # fmt: skip
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
        """Initialise the parameters again."""
        # With this slope the bound comes out as 1 / sqrt(in_features).
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Bilinear(Module):
    """Bilinear map of two inputs: for each output k, `x1 @ weight[k] @ x2 + bias[k]`.

    `weight` is (out_features, in1_features, in2_features), `bias` (out_features,), both uniform within 1/√in1_features
    at first. The inputs are (..., in1_features) and (..., in2_features). Raises ValueError unless `in1_features` is
    positive.

    >>> tl.nn.Bilinear(2, 3, 4)(tl.ones(5, 2), tl.ones(5, 3)).shape == (5, 4)
    True
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={in1_features})")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        self.weight = Parameter(tl.empty((out_features, in1_features, in2_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(tl.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialise the parameters again."""
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class NonDynamicallyQuantizableLinear(Linear):
    """A `Linear`, under the name that PyTorch gives the output projection of an attention; there is no quantization
    here.

    >>> tl.nn.MultiheadAttention(4, 2).out_proj
    NonDynamicallyQuantizableLinear(in_features=4, out_features=4, bias=True)

    Source: PyTorch's class of that name.
    """


class LazyLinear(LazyModuleMixin, Linear):
    """`Linear` that finds the number of input features from its first input.

    >>> module = tl.nn.LazyLinear(3)
    >>> output = module(tl.ones(5, 2))
    >>> module
    Linear(in_features=2, out_features=3, bias=True)
    """

    cls_to_become = Linear
    weight: Any
    bias: Any

    def __init__(
        self, out_features: int, bias: bool = True, device: Device | str | None = None, dtype: Dtype | None = None
    ) -> None:
        Module.__init__(self)
        self.in_features = 0
        self.out_features = out_features
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)
        else:
            self.register_parameter("bias", None)
        self._make_lazy()

    def reset_parameters(self) -> None:
        """Initialise the parameters again, if they are materialized."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Materialize the parameters for the last dimension of `input`."""
        if self.has_uninitialized_params():
            self.in_features = input.shape[-1]
            self.weight.materialize((self.out_features, self.in_features))
            if self.bias is not None:
                self.bias.materialize((self.out_features,))
            self.reset_parameters()

    def _infer_parameters(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        super()._infer_parameters(args, kwargs)
        if self.in_features == 0:
            # Already materialized by loading a state.
            self.in_features = self.weight.shape[-1]
