"""The categorical distribution of vectors with one 1."""

from __future__ import annotations

from tensorlike._originals import functional as F
from tensorlike._originals import tl
from tensorlike.tensor import Tensor
from tensorlike.tensor.size import Size

from . import constraints
from .categorical import Categorical
from .probabilities import ProbsOrLogitsOfCategorical

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(ProbsOrLogitsOfCategorical):
    """One-hot categorical distribution: vectors with a 1 at an index drawn by the weights `probs`, or by `logits`.

    >>> tl.distributions.OneHotCategorical(tl.tensor([0.0, 3.0, 0.0])).sample()
    tensor([0., 1., 0.])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(
        self, probs: Tensor | float | None = None, logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        self._categorical = Categorical(probs, logits)
        shape = self._categorical.param_shape
        super().__init__(self._categorical.batch_shape, shape[-1:], validate_args=validate_args)

    def _vectors(self, indices: Tensor) -> Tensor:
        return F.one_hot(indices, self._categorical._num_events).to(self._categorical._param)  # type: ignore[no-any-return]

    @property
    def mean(self) -> Tensor:
        return self._categorical.probs  # type: ignore[no-any-return]

    @property
    def mode(self) -> Tensor:
        return self._vectors(self._categorical.mode)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: tuple[int, ...] | list[int] = ()) -> Tensor:
        return self._vectors(self._categorical.sample(Size(sample_shape))).to(self.probs)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.argmax(-1))  # type: ignore[no-any-return]

    def entropy(self) -> Tensor:
        return self._categorical.entropy()  # type: ignore[no-any-return]

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self.event_shape[0]
        values = tl.eye(count, dtype=self._param.dtype, device=self._param.device)
        values = values.view((count, *(1,) * len(self.batch_shape), count))
        return values.expand((count, *self.batch_shape, count)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """`OneHotCategorical` with samples that have the gradient of `probs`.

    >>> probs = tl.tensor([0.5, 0.5], requires_grad=True)
    >>> tl.distributions.OneHotCategoricalStraightThrough(probs).rsample().requires_grad
    True
    """

    has_rsample = True

    def rsample(self, sample_shape: tuple[int, ...] | list[int] = ()) -> Tensor:
        probs = self._categorical.probs
        return self.sample(sample_shape) + (probs - probs.detach())  # type: ignore[no-any-return]
