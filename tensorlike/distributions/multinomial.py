"""The multinomial distribution."""

from __future__ import annotations

from typing import Any

from tensorlike._originals import tl
from tensorlike.tensor import Tensor
from tensorlike.tensor.size import Size

from . import constraints
from .binomial import Binomial
from .categorical import Categorical
from .distribution import Distribution
from .probabilities import ProbsOrLogitsOfCategorical
from .utils import broadcast_all

__all__ = ["Multinomial"]


class Multinomial(ProbsOrLogitsOfCategorical):
    """Multinomial distribution: the counts of outcomes, of weights `probs` or `logits`, in `total_count` trials.

    >>> tl.distributions.Multinomial(10, tl.tensor([0.0, 1.0])).sample()
    tensor([ 0., 10.])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(
        self, total_count: int = 1, probs: Tensor | float | None = None, logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args)

    def _expand_inner(self, inner: Distribution, shape: Size) -> Any:
        return inner.expand(shape if inner is self._categorical else shape + self.event_shape)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: tuple[int, ...] | list[int] = ()) -> Tensor:
        indices = self._categorical.sample(Size((self.total_count,)) + Size(sample_shape)).movedim(0, -1)
        counts = indices.new_zeros(self._extended_shape(sample_shape))
        return counts.scatter_add(-1, indices, tl.ones_like(indices)).type_as(self.probs)  # type: ignore[no-any-return]

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        # No draw of an index without probability is certain.
        logits = logits.masked_fill((value == 0) & (logits == -tl.inf), 0)
        ways = tl.lgamma(value.sum(-1) + 1) - tl.lgamma(value + 1).sum(-1)
        return ways + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        counts = tl.tensor(self.total_count, dtype=self.probs.dtype, device=self.probs.device)
        constant = counts * self._categorical.entropy() - tl.lgamma(counts + 1)
        support = self._binomial.enumerate_support(expand=False)[1:]
        probabilities = self._binomial.log_prob(support).exp()
        return constant + (probabilities * tl.lgamma(support + 1)).sum([0, -1])  # type: ignore[no-any-return]
