"""Student's t distribution."""

from __future__ import annotations

import math

from tensorlike._originals import tl
from tensorlike.tensor import Tensor

from . import constraints
from .chi2 import Chi2
from .distribution import Distribution
from .utils import _standard_normal

__all__ = ["StudentT"]


class StudentT(Distribution):
    """Student's t distribution with `df` degrees of freedom, moved by `loc` and widened by `scale`.

    >>> tl.distributions.StudentT(tl.tensor([3.0])).variance
    tensor([3.])
    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    df: Tensor
    loc: Tensor
    scale: Tensor

    def __init__(
        self, df: Tensor | float, loc: Tensor | float = 0.0, scale: Tensor | float = 1.0,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        batch_shape = self._set_parameters(df=df, loc=loc, scale=scale)
        self._chi2 = Chi2(self.df)
        super().__init__(batch_shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc.masked_fill(self.df <= 1, tl.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        variance = self.scale.pow(2) * self.df / (self.df - 2)
        return variance.masked_fill(self.df <= 2, tl.inf).masked_fill(self.df <= 1, tl.nan)

    def rsample(self, sample_shape: tuple[int, ...] | list[int] = ()) -> Tensor:
        drawn = _standard_normal(self._extended_shape(sample_shape), self.df.dtype, self.df.device)
        return self.loc + self.scale * drawn * tl.rsqrt(self._chi2.rsample(sample_shape) / self.df)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        half, y = 0.5 * self.df, (value - self.loc) / self.scale
        constant = self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi)
        constant = constant + tl.lgamma(half) - tl.lgamma(half + 0.5)
        return -(half + 0.5) * tl.log1p(y**2.0 / self.df) - constant

    def entropy(self) -> Tensor:
        half = 0.5 * self.df
        log_beta = tl.lgamma(half) + math.lgamma(0.5) - tl.lgamma(half + 0.5)
        spread = (half + 0.5) * (tl.digamma(half + 0.5) - tl.digamma(half))
        return self.scale.log() + spread + 0.5 * self.df.log() + log_beta
