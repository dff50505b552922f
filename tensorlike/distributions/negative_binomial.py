"""The negative binomial distribution."""

from __future__ import annotations

from tensorlike._originals import functional as F
from tensorlike._originals import tl
from tensorlike.tensor import Tensor

from . import constraints
from .gamma import Gamma
from .probabilities import ProbsOrLogits
from .utils import lazy_property

__all__ = ["NegativeBinomial"]


class NegativeBinomial(ProbsOrLogits):
    """Negative binomial distribution: successes, of probability `probs` (or `logits`), before `total_count` failures.

    >>> tl.distributions.NegativeBinomial(2.0, tl.tensor([0.75])).mean
    tensor([6.])
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    total_count: Tensor

    def __init__(
        self, total_count: Tensor | float, probs: Tensor | float | None = None, logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        batch_shape = self._set_probs_or_logits(probs, logits, total_count=total_count)
        self.total_count = self.total_count.type_as(self._param)
        super().__init__(batch_shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / tl.sigmoid(-self.logits)

    @lazy_property
    def _gamma(self) -> Gamma:
        # A Poisson variable whose rate is a gamma variable.
        return Gamma(self.total_count, (-self.logits).exp(), validate_args=False)

    def sample(self, sample_shape: tuple[int, ...] | list[int] = ()) -> Tensor:
        with tl.no_grad():
            return tl.poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        total = self.total_count
        likelihood = total * F.logsigmoid(-self.logits) + value * F.logsigmoid(self.logits)
        ways = tl.lgamma(total + value) - tl.lgamma(1.0 + value) - tl.lgamma(total)
        return likelihood + ways.masked_fill(total + value == 0.0, 0.0)
