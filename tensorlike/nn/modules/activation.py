"""Activation functions as modules, elementwise unless stated otherwise."""

from __future__ import annotations

import warnings

import tensorlike.nn.functional as F
from tensorlike._originals import tl
from tensorlike.tensor import Tensor

from .module import Module

__all__ = [
    "ELU",
    "GELU",
    "GLU",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softsign",
    "Tanh",
]


def with_inplace(text: str, inplace: bool) -> str:
    """Return the text of a module's arguments, with `inplace` where it is set."""
    return ", ".join(part for part in (text, "inplace=True" if inplace else "") if part)


class ReLU(Module):
    """Rectified linear unit: max(0, x).

    >>> tl.nn.ReLU()(tl.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, inplace=self.inplace)

    def extra_repr(self) -> str:
        return with_inplace("", self.inplace)


class LeakyReLU(Module):
    """Leaky rectified linear unit: x where it is positive, `negative_slope` · x elsewhere.

    >>> tl.nn.LeakyReLU(0.1)(tl.tensor([-1.0, 2.0]))
    tensor([-0.1000,  2.0000])
    """

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return with_inplace(f"negative_slope={self.negative_slope}", self.inplace)


class ELU(Module):
    """Exponential linear unit: x where it is positive, `alpha` · (exp(x) − 1) elsewhere.

    >>> tl.nn.ELU()(tl.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return with_inplace(f"alpha={self.alpha}", self.inplace)


class SiLU(Module):
    """Sigmoid linear unit, or swish: x · sigmoid(x).

    >>> tl.nn.SiLU()(tl.tensor([-1.0, 2.0]))
    tensor([-0.2689,  1.7616])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, inplace=self.inplace)

    def extra_repr(self) -> str:
        return with_inplace("", self.inplace)


class GELU(Module):
    """Gaussian error linear unit: x · Φ(x), Φ the normal distribution function; `approximate="tanh"` is faster.

    >>> tl.nn.GELU()(tl.tensor([-1.0, 2.0]))
    tensor([-0.1587,  1.9545])
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Sigmoid(Module):
    """Logistic sigmoid: 1 / (1 + exp(−x)).

    >>> tl.nn.Sigmoid()(tl.tensor([0.0, 2.0]))
    tensor([0.5000, 0.8808])
    """

    def forward(self, input: Tensor) -> Tensor:
        return tl.sigmoid(input)


class Tanh(Module):
    """Hyperbolic tangent of each element.

    >>> tl.nn.Tanh()(tl.tensor([0.0, 2.0]))
    tensor([0.0000, 0.9640])
    """

    def forward(self, input: Tensor) -> Tensor:
        return tl.tanh(input)


class Softplus(Module):
    """Smooth rectifier: log(1 + exp(`beta` · x)) / `beta`, or x itself where `beta` · x is above `threshold`.

    >>> tl.nn.Softplus()(tl.tensor([0.0, 30.0]))
    tensor([ 0.6931, 30.0000])
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class Softmax(Module):
    """Softmax along the dimension `dim`: exp(x) divided by its sum.

    >>> tl.nn.Softmax(dim=0)(tl.tensor([1.0, 1.0]))
    tensor([0.5000, 0.5000])
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class LogSoftmax(Module):
    """Log-softmax along the dimension `dim`: the logarithm of `Softmax`, computed without underflow.

    >>> tl.nn.LogSoftmax(dim=0)(tl.tensor([1.0, 1.0]))
    tensor([-0.6931, -0.6931])
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Hardtanh(Module):
    """Piecewise linear tanh: x clamped to `min_val` and `max_val`; AssertionError unless the first is smaller.

    >>> tl.nn.Hardtanh()(tl.tensor([-3.0, 0.5, 2.0]))
    tensor([-1.0000,  0.5000,  1.0000])
    """

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        if min_value is not None:
            _warn_renamed("min_value", "min_val")
            min_val = min_value
        if max_value is not None:
            _warn_renamed("max_value", "max_val")
            max_val = max_value
        if max_val <= min_val:
            raise AssertionError(f"max_val ({max_val}) must be greater than min_val ({min_val})")
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return with_inplace(f"min_val={self.min_val}, max_val={self.max_val}", self.inplace)


def _warn_renamed(old: str, new: str) -> None:
    warnings.warn(f"keyword argument `{old}` is deprecated and renamed to `{new}`", FutureWarning, stacklevel=3)


class ReLU6(Hardtanh):
    """Rectified linear unit with a ceiling: min(max(0, x), 6).

    >>> tl.nn.ReLU6()(tl.tensor([-1.0, 2.0, 8.0]))
    tensor([0., 2., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return with_inplace("", self.inplace)


class LogSigmoid(Module):
    """Log-sigmoid: the logarithm of 1 / (1 + exp(−x)), computed without underflow.

    >>> tl.nn.LogSigmoid()(tl.tensor([0.0, -100.0]))
    tensor([  -0.6931, -100.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Mish(Module):
    """Mish activation: x · tanh(log(1 + exp(x))).

    >>> tl.nn.Mish()(tl.tensor([0.0, 2.0]))
    tensor([0.0000, 1.9440])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)

    def extra_repr(self) -> str:
        return with_inplace("", self.inplace)


class GLU(Module):
    """Gated linear unit: the first half along the dimension `dim`, times the sigmoid of the second.

    >>> tl.nn.GLU()(tl.tensor([4.0, 0.0]))
    tensor([2.])
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softsign(Module):
    """Softsign activation: x / (1 + |x|).

    >>> tl.nn.Softsign()(tl.tensor([-1.0, 3.0]))
    tensor([-0.5000,  0.7500])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Softmin(Module):
    """Softmin along the dimension `dim`: `Softmax` of −x.

    >>> tl.nn.Softmin(dim=0)(tl.tensor([1.0, 2.0]))
    tensor([0.7311, 0.2689])
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax2d(Module):
    """`Softmax` over the channels of (batch, channels, height, width) or (channels, height, width).

    Raises ValueError for other numbers of dimensions.

    >>> tl.nn.Softmax2d()(tl.zeros(2, 1, 1)).flatten()
    tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)
