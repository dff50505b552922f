"""Piecewise activation functions as modules."""

from __future__ import annotations

import tensorlike.nn.functional as F
from tensorlike._originals import tl
from tensorlike.nn import init as initial
from tensorlike.tensor import Tensor
from tensorlike.tensor.device import device as Device
from tensorlike.tensor.dtypes import dtype as Dtype
from tensorlike.tensor.parameter import Parameter

from .activation import with_inplace
from .module import Module

__all__ = [
    "CELU",
    "SELU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "PReLU",
    "RReLU",
    "Softshrink",
    "Tanhshrink",
    "Threshold",
]


class Threshold(Module):
    """Threshold activation: x where it is above `threshold`, `value` elsewhere.

    >>> tl.nn.Threshold(1.5, 20)(tl.tensor([1.0, 2.0]))
    tensor([20.,  2.])
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return with_inplace(f"threshold={self.threshold}, value={self.value}", self.inplace)


class RReLU(Module):
    """Randomized leaky rectified linear unit: its slope is drawn from [`lower`, `upper`] in training, else their mean.

    >>> tl.nn.RReLU(0.25, 0.75).eval()(tl.tensor([-2.0, 4.0]))
    tensor([-1.,  4.])
    """

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return with_inplace(f"lower={self.lower}, upper={self.upper}", self.inplace)


class PReLU(Module):
    """Parametric rectified linear unit: x where it is positive, times a learned slope elsewhere.

    `weight` is (num_parameters,), `init` at first; channels are the second dimension.

    >>> tl.nn.PReLU()(tl.tensor([-2.0, 4.0])).detach()
    tensor([-0.5000,  4.0000])
    """

    weight: Parameter

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Device | str | None = None,
        dtype: Dtype | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(tl.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialise the slopes again."""
        initial.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class CELU(Module):
    """Continuously differentiable ELU: x where it is positive, `alpha` · (exp(x / `alpha`) − 1) elsewhere.

    >>> tl.nn.CELU(2.0)(tl.tensor([-1.0, 2.0]))
    tensor([-0.7869,  2.0000])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return with_inplace(f"alpha={self.alpha}", self.inplace)


class SELU(Module):
    """Scaled exponential linear unit: `ELU` with the constants that preserve mean and variance through deep networks.

    >>> tl.nn.SELU()(tl.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)

    def extra_repr(self) -> str:
        return with_inplace("", self.inplace)


class Hardsigmoid(Module):
    """Piecewise linear sigmoid: min(max(0, x + 3), 6) / 6.

    >>> tl.nn.Hardsigmoid()(tl.tensor([-4.0, 0.0, 4.0]))
    tensor([0.0000, 0.5000, 1.0000])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)


class Hardswish(Module):
    """Piecewise quadratic swish: x · min(max(0, x + 3), 6) / 6.

    >>> tl.nn.Hardswish()(tl.tensor([-1.0, 0.0, 4.0]))
    tensor([-0.3333,  0.0000,  4.0000])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)


class Hardshrink(Module):
    """Hard shrinkage: x where it is further than `lambd` from zero, zero elsewhere.

    >>> tl.nn.Hardshrink()(tl.tensor([-1.0, 0.3]))
    tensor([-1.,  0.])
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return f"{self.lambd}"


class Softshrink(Module):
    """Soft shrinkage: x moved towards zero by `lambd`, zero where that crosses it.

    >>> tl.nn.Softshrink()(tl.tensor([-1.0, 0.3]))
    tensor([-0.5000,  0.0000])
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)


class Tanhshrink(Module):
    """Tanh shrinkage: x − tanh(x).

    >>> tl.nn.Tanhshrink()(tl.tensor([0.0, 2.0]))
    tensor([0.0000, 1.0360])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)
