"""The von Mises distribution."""

from __future__ import annotations

import math

from tensorlike._originals import tl
from tensorlike.tensor import Tensor
from tensorlike.tensor.size import Size

from . import constraints
from .distribution import Distribution
from .location_scale import Centred
from .utils import lazy_property

__all__ = ["VonMises"]


def _log_modified_bessel_fn(x: Tensor, order: int = 0) -> Tensor:
    """Return the logarithm of the modified Bessel function of the first kind, of order 0 or 1."""
    return (tl.special.i0e, tl.special.i1e)[order](x).log() + x


class VonMises(Centred, Distribution):
    """Von Mises distribution of angles in [-pi, pi), around `loc`, the narrower the larger `concentration` is.

    `variance` is the circular one. Samples have no gradients, and are computed in double precision.

    >>> tl.distributions.VonMises(tl.zeros(1), tl.tensor([4.0])).variance
    tensor([0.1365])
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False
    loc: Tensor
    concentration: Tensor

    def __init__(self, loc: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None) -> None:
        batch_shape = self._set_parameters(loc=loc, concentration=concentration)
        super().__init__(batch_shape, Size(), validate_args)

    @lazy_property
    def variance(self) -> Tensor:
        return 1 - tl.special.i1e(self.concentration) / tl.special.i0e(self.concentration)

    @lazy_property
    def _loc(self) -> Tensor:
        return self.loc.to(tl.double)

    @lazy_property
    def _concentration(self) -> Tensor:
        return self.concentration.to(tl.double)

    @lazy_property
    def _proposal_r(self) -> Tensor:
        """The parameter of the wrapped Cauchy distribution whose draws are accepted or not."""
        kappa = self._concentration
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        # Small concentrations lose all digits of rho: their series.
        return tl.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))

    def sample(self, sample_shape: tuple[int, ...] | list[int] = ()) -> Tensor:
        """Return samples, by the method of Best and Fisher (1979)."""
        shape = self._extended_shape(sample_shape)
        with tl.no_grad():
            r, kappa = self._proposal_r.expand(shape), self._concentration.expand(shape)
            angle = tl.zeros(shape, dtype=tl.double, device=self.loc.device)
            missing = tl.ones(shape, dtype=tl.bool, device=self.loc.device)
            while bool(missing.any()):
                first, second, side = tl.rand((3, *shape), dtype=tl.double, device=self.loc.device).unbind()
                z = tl.cos(math.pi * first)
                f = (1 + r * z) / (r + z)
                c = kappa * (r - f)
                accepted = (c * (2 - c) > second) | ((c / second).log() + 1 - c >= 0)
                angle = tl.where(missing & accepted, (side - 0.5).sign() * f.clamp(-1, 1).acos(), angle)
                missing = missing & ~accepted
            return ((angle + math.pi + self._loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        peak = self.concentration * (tl.cos(value - self.loc) - 1)
        return peak - math.log(2 * math.pi) - tl.special.i0e(self.concentration).log()
