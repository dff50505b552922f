"""The categorical distribution."""

from __future__ import annotations

from typing import Any

from tensorlike._originals import tl
from tensorlike.tensor import Tensor
from tensorlike.tensor.size import Size

from . import constraints
from .probabilities import ProbsOrLogits, one_of

__all__ = ["Categorical"]


class Categorical(ProbsOrLogits):
    """Categorical distribution on 0, 1, ..., K − 1, with the last dimension of `probs`, or of `logits`, as weights.

    >>> tl.distributions.Categorical(tl.tensor([0.0, 3.0, 0.0])).sample((2,))
    tensor([1, 1])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _is_binary = False
    probs: Tensor
    logits: Tensor

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        given = one_of(probs, logits)
        value = logits if probs is None else probs
        if value.dim() < 1:
            raise ValueError(f"`{given}` parameter must be at least one-dimensional.")
        if probs is None:
            self.logits = value - value.logsumexp(dim=-1, keepdim=True)
        else:
            self.probs = value / value.sum(-1, keepdim=True)
        self._num_events = value.shape[-1]
        super().__init__(value.shape[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    def _undefined(self) -> Tensor:
        return tl.full(self._extended_shape(), tl.nan, dtype=self.probs.dtype, device=self.probs.device)

    @property
    def mean(self) -> Tensor:
        return self._undefined()

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Tensor:
        return self._undefined()

    def sample(self, sample_shape: tuple[int, ...] | list[int] = ()) -> Tensor:
        sample_shape = Size(sample_shape)
        rows = self.probs.reshape(-1, self._num_events)
        drawn = tl.multinomial(rows, sample_shape.numel(), True).T
        return drawn.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value, logits = tl.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        # The logarithm of the probability 0, times it, is 0.
        finite = self.logits.clamp(min=tl.finfo(self.logits.dtype).min)
        return -(finite * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerated(tl.arange(self._num_events, device=self._param.device), expand)
