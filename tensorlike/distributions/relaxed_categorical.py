"""Categorical variables made continuous."""

from __future__ import annotations

from tensorlike._originals import tl
from tensorlike.tensor import Tensor

from . import constraints
from .categorical import Categorical
from .probabilities import ProbsOrLogitsOfCategorical
from .relaxed import Relaxed
from .transforms import ExpTransform
from .utils import broadcast_all, clamp_probs

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(ProbsOrLogitsOfCategorical):
    """The logarithm of `RelaxedOneHotCategorical`.

    >>> tl.distributions.relaxed_categorical.ExpRelaxedCategorical(tl.tensor(0.5), tl.ones(3)).sample().shape
    tensorlike.Size([3])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    # The exponentials sum to 1, which no constraint says.
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, temperature: Tensor, probs: Tensor | float | None = None, logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        shape = self._categorical.param_shape
        super().__init__(self._categorical.batch_shape, shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: tuple[int, ...] | list[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        drawn = clamp_probs(tl.rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        scores = (self.logits - (-drawn.log()).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        count = self._categorical._num_events
        logits, value = broadcast_all(self.logits, value)
        temperature = self.temperature
        constant = tl.full_like(temperature, float(count)).lgamma() + temperature.log() * (count - 1)
        scores = logits - value * temperature
        return (scores - scores.logsumexp(dim=-1, keepdim=True)).sum(-1) + constant  # type: ignore[no-any-return]


class RelaxedOneHotCategorical(Relaxed):
    """Relaxed one-hot categorical (concrete) distribution: `OneHotCategorical` in the limit of low temperature.

    >>> tl.distributions.RelaxedOneHotCategorical(tl.tensor(0.5), probs=tl.ones(3)).rsample().shape
    tensorlike.Size([3])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex

    def __init__(
        self, temperature: Tensor, probs: Tensor | float | None = None, logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)
