"""The binomial distribution."""

from __future__ import annotations

from typing import Any

from tensorlike._originals import functional as F
from tensorlike._originals import tl
from tensorlike.tensor import Tensor

from . import constraints
from .probabilities import ProbsOrLogits

__all__ = ["Binomial"]


class Binomial(ProbsOrLogits):
    """Binomial distribution: successes in `total_count` trials, each of probability `probs` (or log odds `logits`).

    >>> tl.distributions.Binomial(10, tl.tensor([0.0, 0.5, 1.0])).mean
    tensor([ 0.,  5., 10.])
    """

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True
    total_count: Tensor

    def __init__(
        self, total_count: Tensor | float = 1, probs: Tensor | float | None = None,
        logits: Tensor | float | None = None, validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        batch_shape = self._set_probs_or_logits(probs, logits, total_count=total_count)
        self.total_count = self.total_count.type_as(self._param)
        super().__init__(batch_shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: tuple[int, ...] | list[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with tl.no_grad():
            return tl.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        total = self.total_count
        ways = tl.lgamma(total + 1) - tl.lgamma(value + 1) - tl.lgamma(total - value + 1)
        return value * self.logits + total * F.logsigmoid(-self.logits) + ways

    def _one_count(self, function: str) -> int:
        """Return the number of trials, which must be one for the whole batch."""
        count = int(self.total_count.max())
        if not self.total_count.min() == count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{function}`.")
        return count

    def entropy(self) -> Tensor:
        self._one_count("entropy")
        logarithms = self.log_prob(self.enumerate_support(False))
        return -(logarithms.exp() * logarithms).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self._one_count("enumerate_support")
        return self._enumerated(tl.arange(1 + count, dtype=self._param.dtype, device=self._param.device), expand)
