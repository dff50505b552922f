"""The Laplace distribution."""

from __future__ import annotations

from tensorlike._originals import tl
from tensorlike.tensor import Tensor

from .distribution import Distribution
from .location_scale import LocationScale

__all__ = ["Laplace"]


class Laplace(LocationScale, Distribution):
    """Laplace distribution: exponential in both directions from `loc`, with the mean distance `scale`.

    >>> tl.distributions.Laplace(0.0, tl.tensor([2.0])).variance
    tensor([8.])
    """

    @property
    def stddev(self) -> Tensor:
        return 2**0.5 * self.scale

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.pow(2)

    def _from_center(self, offset: Tensor) -> Tensor:
        """Return the quantile of the probability 0.5 + offset / 2."""
        return self.loc - self.scale * offset.sign() * tl.log1p(-offset.abs())

    def rsample(self, sample_shape: tuple[int, ...] | list[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        drawn = tl.empty(shape, dtype=self.loc.dtype, device=self.loc.device)
        return self._from_center(drawn.uniform_(tl.finfo(self.loc.dtype).eps - 1, 1))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -tl.log(2 * self.scale) - tl.abs(value - self.loc) / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        offset = value - self.loc
        return 0.5 - 0.5 * offset.sign() * tl.expm1(-offset.abs() / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        return self._from_center(2 * (value - 0.5))

    def entropy(self) -> Tensor:
        return 1 + tl.log(2 * self.scale)
