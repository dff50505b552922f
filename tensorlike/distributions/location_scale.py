"""The rules of distributions that are symmetric around `loc`."""

from __future__ import annotations

from tensorlike.tensor import Tensor

from . import constraints
from .distribution import Distribution

__all__ = ["Centred", "LocationScale"]


class Centred(Distribution):
    """The base class of distributions whose mean and mode are `loc`."""

    loc: Tensor

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc


class LocationScale(Centred):
    """The base class of distributions of a number that `loc` moves and `scale` stretches."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    scale: Tensor

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(self._set_parameters(loc=loc, scale=scale), validate_args=validate_args)
