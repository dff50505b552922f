"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math

from tensorlike._originals import functional as F
from tensorlike._originals import tl
from tensorlike.tensor import Tensor

from . import constraints
from .exp_family import ExponentialFamily
from .probabilities import ProbsOrLogits
from .utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ProbsOrLogits, ExponentialFamily):
    """Continuous Bernoulli distribution on [0, 1], of density in proportion to `probs ** x * (1 - probs) ** (1 - x)`.

    Within `lims` the formulas divide two small numbers, and their Taylor series around 0.5 are used.

    >>> tl.distributions.ContinuousBernoulli(tl.tensor([0.5])).mean
    tensor([0.5000])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self, probs: Tensor | float | None = None, logits: Tensor | float | None = None,
        lims: tuple[float, float] = (0.499, 0.501), validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        batch_shape = self._set_probs_or_logits(probs, logits)
        if probs is not None:
            # Before they are moved inside.
            if validate_args is not None and validate_args and not constraints.unit_interval.check(self.probs).all():
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(self.probs)
        self._lims = lims
        super().__init__(batch_shape, validate_args=validate_args)

    @lazy_property
    def probs(self) -> Tensor:
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _outside_unstable_region(self) -> Tensor:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self) -> Tensor:
        """Return the probabilities, and the lower limit for those for which the series is used."""
        return tl.where(self._outside_unstable_region(), self.probs, self._lims[0] * tl.ones_like(self.probs))

    def _choose(self, formula: Tensor, series: Tensor) -> Tensor:
        return tl.where(self._outside_unstable_region(), formula, series)

    def _cont_bern_log_norm(self) -> Tensor:
        """Return the logarithm of what makes the density integrate to 1."""
        cut = self._cut_probs()
        # Each branch sees values of its half alone, so that its gradient is finite in the other.
        below = tl.where(cut <= 0.5, cut, tl.zeros_like(cut))
        above = tl.where(cut >= 0.5, cut, tl.ones_like(cut))
        width = tl.where(cut <= 0.5, (-2.0 * below).log1p(), (2.0 * above - 1.0).log())
        square = (self.probs - 0.5).pow(2)
        series = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * square) * square
        return self._choose(((-cut).log1p() - cut.log()).abs().log() - width, series)

    @property
    def mean(self) -> Tensor:
        cut = self._cut_probs()
        x = self.probs - 0.5
        series = 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x
        return self._choose(cut / (2.0 * cut - 1.0) + 1.0 / ((-cut).log1p() - cut.log()), series)

    @property
    def stddev(self) -> Tensor:
        return self.variance.sqrt()

    @property
    def variance(self) -> Tensor:
        cut = self._cut_probs()
        square = (self.probs - 0.5).pow(2)
        series = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * square) * square
        odds = (-cut).log1p() - cut.log()
        return self._choose(cut * (cut - 1.0) / (1.0 - 2.0 * cut).pow(2) + 1.0 / odds.pow(2), series)

    def rsample(self, sample_shape: tuple[int, ...] | list[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(tl.rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        likelihood = -F.binary_cross_entropy_with_logits(logits, value, reduction="none")
        return likelihood + self._cont_bern_log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        cut = self._cut_probs()
        formula = (cut.pow(value) * (1.0 - cut).pow(1.0 - value) + cut - 1.0) / (2.0 * cut - 1.0)
        return self._choose(formula, value).clamp(min=0.0, max=1.0)

    def icdf(self, value: Tensor) -> Tensor:
        cut = self._cut_probs()
        formula = ((-cut + value * (2.0 * cut - 1.0)).log1p() - (-cut).log1p()) / (cut.log() - (-cut).log1p())
        return self._choose(formula, value)

    def entropy(self) -> Tensor:
        none, one = (-self.probs).log1p(), self.probs.log()
        return self.mean * (none - one) - self._cont_bern_log_norm() - none

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        low, high = self._lims[0] - 0.5, self._lims[1] - 0.5
        outside = (x <= low) | (x > high)
        cut = tl.where(outside, x, low * tl.ones_like(x))
        series = 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0
        return tl.where(outside, tl.expm1(cut).abs().log() - cut.abs().log(), series)
