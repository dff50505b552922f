"""The Kumaraswamy distribution."""

from __future__ import annotations

from tensorlike._originals import tl
from tensorlike.tensor import Tensor

from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .uniform import Uniform
from .utils import euler_constant

__all__ = ["Kumaraswamy"]


class Kumaraswamy(TransformedDistribution):
    """Kumaraswamy distribution on (0, 1), with cdf `1 - (1 - x ** concentration1) ** concentration0`.

    >>> tl.distributions.Kumaraswamy(tl.ones(1), tl.ones(1)).mean
    tensor([0.5000])
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True
    concentration1: Tensor
    concentration0: Tensor

    def __init__(
        self, concentration1: Tensor | float, concentration0: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self._set_parameters(concentration1=concentration1, concentration0=concentration0)
        base = Uniform(
            tl.zeros_like(self.concentration0), tl.ones_like(self.concentration0), validate_args=validate_args
        )
        transforms = [
            PowerTransform(exponent=self.concentration0.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(exponent=self.concentration1.reciprocal()),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def _moment(self, order: int) -> Tensor:
        """Return the mean of a power."""
        first = 1 + order / self.concentration1
        second = self.concentration0
        return second * (first.lgamma() + second.lgamma() - (first + second).lgamma()).exp()

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        mode = ((-a).log1p() - (-a * b).log1p()).div(a).exp()
        return mode.masked_fill((a < 1) | (b < 1), tl.nan)

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - self._moment(1).pow(2)

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - a.log() - b.log()
