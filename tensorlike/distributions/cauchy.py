"""The Cauchy distribution."""

from __future__ import annotations

import math

from tensorlike._originals import tl
from tensorlike.tensor import Tensor

from .location_scale import LocationScale

__all__ = ["Cauchy"]


class Cauchy(LocationScale):
    """Cauchy distribution with median `loc` and half width at half maximum `scale`.

    >>> tl.distributions.Cauchy(0.0, tl.ones(1)).cdf(tl.tensor([1.0]))
    tensor([0.7500])
    """

    @property
    def mean(self) -> Tensor:
        return tl.full_like(self.loc, tl.nan)

    @property
    def variance(self) -> Tensor:
        return tl.full_like(self.loc, tl.inf)

    def rsample(self, sample_shape: tuple[int, ...] | list[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.loc + tl.empty(shape, dtype=self.loc.dtype, device=self.loc.device).cauchy_() * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -math.log(math.pi) - self.scale.log() - ((value - self.loc) / self.scale).pow(2).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return tl.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return tl.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + self.scale.log()
