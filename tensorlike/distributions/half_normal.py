"""The half-normal distribution."""

from __future__ import annotations

import math

from tensorlike.tensor import Tensor

from . import constraints
from .half import HalfDistribution
from .normal import Normal

__all__ = ["HalfNormal"]


class HalfNormal(HalfDistribution):
    """Half-normal distribution: the absolute value of a normal variable with mean 0 and standard deviation `scale`.

    >>> tl.distributions.HalfNormal(tl.ones(1)).mean
    tensor([0.7979])
    """

    arg_constraints = {"scale": constraints.positive}

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (1 - 2 / math.pi)
