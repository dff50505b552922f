"""The half-cauchy distribution."""

from __future__ import annotations

from tensorlike._originals import tl
from tensorlike.tensor import Tensor

from . import constraints
from .cauchy import Cauchy
from .half import HalfDistribution

__all__ = ["HalfCauchy"]


class HalfCauchy(HalfDistribution):
    """Half-Cauchy distribution: the absolute value of a Cauchy variable with median 0 and scale `scale`.

    >>> tl.distributions.HalfCauchy(tl.ones(1)).cdf(tl.tensor([1.0]))
    tensor([0.5000])
    """

    arg_constraints = {"scale": constraints.positive}

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return tl.full_like(self.scale, tl.inf)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance  # type: ignore[no-any-return]
