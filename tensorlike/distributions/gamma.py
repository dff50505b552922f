"""The gamma distribution."""

from __future__ import annotations

from typing import Any

from tensorlike._originals import tl
from tensorlike.tensor import Tensor

from . import constraints
from .exp_family import ExponentialFamily

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    """Gamma distribution on (0, ∞), of shape `concentration` and rate `rate`.

    >>> tl.distributions.Gamma(tl.tensor([2.0]), tl.tensor([4.0])).mean
    tensor([0.5000])
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    concentration: Tensor
    rate: Tensor

    def __init__(self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None) -> None:
        batch_shape = self._set_parameters(concentration=concentration, rate=rate)
        super().__init__(batch_shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: tuple[int, ...] | list[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        value: Any = tl._standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        # Not part of the gradient: a draw that rounds to 0 is moved inside.
        value.detach().clamp_(min=tl.finfo(value.dtype).tiny)
        return value  # type: ignore[no-any-return]

    def log_prob(self, value: Tensor) -> Tensor:
        value = tl.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        if self._validate_args:
            self._validate_sample(value)
        return (
            tl.xlogy(self.concentration, self.rate)
            + tl.xlogy(self.concentration - 1, value)
            - self.rate * value
            - tl.lgamma(self.concentration)
        )

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return tl.special.gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Tensor:
        shape = self.concentration
        return shape - self.rate.log() + tl.lgamma(shape) + (1.0 - shape) * tl.digamma(shape)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration - 1, -self.rate)

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return tl.lgamma(x + 1) - (x + 1) * tl.log(-y)
