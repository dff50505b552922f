"""The normal distribution."""

from __future__ import annotations

import math

from tensorlike._originals import tl
from tensorlike.tensor import Tensor

from .exp_family import ExponentialFamily
from .location_scale import LocationScale
from .utils import _standard_normal

__all__ = ["Normal"]


class Normal(LocationScale, ExponentialFamily):
    """Normal distribution of mean `loc` and standard deviation `scale`.

    >>> tl.distributions.Normal(0.0, 1.0).cdf(tl.tensor([0.0, 1.0]))
    tensor([0.5000, 0.8413])
    """

    _mean_carrier_measure = 0

    @property
    def stddev(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def sample(self, sample_shape: tuple[int, ...] | list[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with tl.no_grad():
            return tl.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: tuple[int, ...] | list[int] = ()) -> Tensor:
        drawn = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype, self.loc.device)
        return self.loc + drawn * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -((value - self.loc) ** 2) / (2 * self.variance) - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 0.5 * (1 + tl.erf((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)))

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * tl.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Tensor:
        return 0.5 + 0.5 * math.log(2 * math.pi) + tl.log(self.scale)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.loc / self.scale.pow(2), -0.5 * self.scale.pow(2).reciprocal())

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return -0.25 * x.pow(2) / y + 0.5 * tl.log(-math.pi / y)
