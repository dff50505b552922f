"""The Gumbel distribution."""

from __future__ import annotations

import math

from tensorlike._originals import tl
from tensorlike.tensor import Tensor

from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """Gumbel distribution: the limit of the largest of many numbers, with mode `loc` and width `scale`.

    >>> tl.distributions.Gumbel(tl.tensor([1.0]), tl.tensor([2.0])).mean
    tensor([2.1544])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    loc: Tensor
    scale: Tensor

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self._set_parameters(loc=loc, scale=scale)
        limits = tl.finfo(self.loc.dtype)
        low, high = tl.full_like(self.loc, limits.tiny), tl.full_like(self.loc, 1 - limits.eps)
        transforms = [
            ExpTransform().inv,
            AffineTransform(loc=0, scale=-tl.ones_like(self.scale)),
            ExpTransform().inv,
            AffineTransform(loc=self.loc, scale=-self.scale),
        ]
        super().__init__(Uniform(low, high, validate_args=validate_args), transforms, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return (math.pi / math.sqrt(6)) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        loc, scale, value = broadcast_all(self.loc, self.scale, value)
        y = (loc - value) / scale
        return y - y.exp() - scale.log()

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)
