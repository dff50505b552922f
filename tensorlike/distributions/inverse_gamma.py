"""The inverse gamma distribution."""

from __future__ import annotations

from typing import Any

from tensorlike._originals import tl
from tensorlike.tensor import Tensor

from . import constraints
from .gamma import Gamma
from .transformed_distribution import TransformedDistribution
from .transforms import PowerTransform

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """Inverse gamma distribution: the reciprocal of a gamma variable of shape `concentration` and rate `rate`.

    >>> tl.distributions.InverseGamma(tl.tensor([3.0]), tl.tensor([4.0])).mean
    tensor([2.])
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True
    base_dist: Any

    def __init__(self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args=validate_args)

    @property
    def concentration(self) -> Tensor:
        """The shape of the gamma distribution."""
        return self.base_dist.concentration  # type: ignore[no-any-return]

    @property
    def rate(self) -> Tensor:
        """The rate of the gamma distribution."""
        return self.base_dist.rate  # type: ignore[no-any-return]

    def _if_above(self, least: float, value: Tensor) -> Tensor:
        """Return a moment for concentrations above the least for which it is finite."""
        return tl.where(self.concentration > least, value, tl.inf)

    @property
    def mean(self) -> Tensor:
        return self._if_above(1, self.rate / (self.concentration - 1))

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        below = (self.concentration - 1).square() * (self.concentration - 2)
        return self._if_above(2, self.rate.square() / below)

    def entropy(self) -> Tensor:
        shape = self.concentration
        return shape + self.rate.log() + shape.lgamma() - (1 + shape) * shape.digamma()
