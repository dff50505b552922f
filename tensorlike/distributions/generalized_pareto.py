"""The generalized Pareto distribution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorlike._originals import tl
from tensorlike.tensor import Tensor

from . import constraints
from .distribution import Distribution

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """Generalized Pareto distribution of excesses over `loc`; its tail is exponential where `concentration` is 0.

    >>> tl.distributions.GeneralizedPareto(0.0, 1.0, tl.tensor([0.5])).mean
    tensor([2.])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    loc: Tensor
    scale: Tensor
    concentration: Tensor

    def __init__(
        self, loc: Tensor | float, scale: Tensor | float, concentration: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        batch_shape = self._set_parameters(loc=loc, scale=scale, concentration=concentration)
        super().__init__(batch_shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        end = self.loc - self.scale / self.concentration
        upper = tl.where(self.concentration < 0, end, tl.full_like(end, tl.inf))
        return constraints.interval(self.loc, upper)

    def _by_tail(self, exponential: Tensor, power: Callable[[Tensor], Tensor]) -> Tensor:
        """Return `exponential` where the concentration is 0, and `power` of the others elsewhere."""
        zero = tl.isclose(self.concentration, tl.zeros_like(self.concentration))
        # The other branch sees a concentration that it can divide by, so that its gradient is finite.
        return tl.where(zero, exponential, power(tl.where(zero, tl.ones_like(self.concentration), self.concentration)))

    def _z(self, value: Tensor) -> Tensor:
        return (value - self.loc) / self.scale

    @property
    def mean(self) -> Tensor:
        # An infinite mean and variance are nan, as in PyTorch.
        mean = self.loc + self.scale / (1 - self.concentration)
        return mean.masked_fill(self.concentration >= 1, tl.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        shape = self.concentration
        variance = self.scale**2 / ((1 - shape) ** 2 * (1 - 2 * shape))
        return variance.masked_fill(shape >= 0.5, tl.nan)

    def rsample(self, sample_shape: tuple[int, ...] | list[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(tl.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = self._z(value)
        return self._by_tail(-z, lambda shape: -(1 / shape + 1) * tl.log1p(shape * z)) - tl.log(self.scale)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability of samples above `value`."""
        if self._validate_args:
            self._validate_sample(value)
        z = self._z(value)
        return self._by_tail(-z, lambda shape: -tl.log1p(shape * z) / shape)

    def log_cdf(self, value: Tensor) -> Tensor:
        """Return the logarithm of `cdf`."""
        return tl.log1p(-self.log_survival_function(value).exp())

    def cdf(self, value: Tensor) -> Tensor:
        return self.log_cdf(value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        log_above = tl.log1p(-value)
        return self.loc + self.scale * self._by_tail(
            -log_above, lambda shape: tl.expm1(-shape * log_above) / shape
        )  # fmt: skip

    def entropy(self) -> Tensor:
        return tl.log(self.scale) + self.concentration + 1
