"""The F distribution of Fisher and Snedecor."""

from __future__ import annotations

from tensorlike._originals import tl
from tensorlike.tensor import Tensor

from . import constraints
from .distribution import Distribution
from .gamma import Gamma

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """F distribution: the quotient of two chi-squared variables, each divided by its degrees of freedom.

    >>> tl.distributions.FisherSnedecor(tl.tensor([2.0]), tl.tensor([4.0])).mean
    tensor([2.])
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    df1: Tensor
    df2: Tensor

    def __init__(self, df1: Tensor | float, df2: Tensor | float, validate_args: bool | None = None) -> None:
        batch_shape = self._set_parameters(df1=df1, df2=df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)
        super().__init__(batch_shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        defined = self.df2.masked_fill(self.df2 <= 2, tl.nan)
        return defined / (defined - 2)

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return mode.masked_fill(self.df1 <= 2, tl.nan)

    @property
    def variance(self) -> Tensor:
        defined = self.df2.masked_fill(self.df2 <= 4, tl.nan)
        above = 2 * defined.pow(2) * (self.df1 + defined - 2)
        return above / (self.df1 * (defined - 2).pow(2) * (defined - 4))

    def rsample(self, sample_shape: tuple[int, ...] | list[int] = ()) -> Tensor:
        tiny = tl.finfo(self.df2.dtype).tiny
        shape = self._extended_shape(sample_shape)
        above = self._gamma1.rsample(sample_shape).view(shape)
        below = self._gamma2.rsample(sample_shape).view(shape).clamp(min=tiny)
        return (above / below).clamp(min=tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        first, second, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        constant = (first + second).lgamma() - first.lgamma() - second.lgamma() + first * ratio.log()
        return constant + (first - 1) * tl.log(value) - (first + second) * tl.log1p(ratio * value)
