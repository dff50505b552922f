"""The rule of distributions that take probabilities or their logits."""

from __future__ import annotations

from typing import Any, ClassVar

from tensorlike.tensor import Tensor
from tensorlike.tensor.size import Size

from .distribution import Distribution
from .utils import lazy_property, logits_to_probs, probs_to_logits

__all__ = ["ProbsOrLogits", "ProbsOrLogitsOfCategorical"]


def one_of(probs: Tensor | float | None, logits: Tensor | float | None) -> str:
    """Return which of the two was given. Raises ValueError for none and for both."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return "logits" if probs is None else "probs"


class ProbsOrLogits(Distribution):
    """The base class of distributions that take `probs` or `logits`, and compute the other one when it is asked for."""

    #: Whether each logit stands for one probability, its log odds, and not for one of several that sum to 1.
    _is_binary: ClassVar[bool] = True

    def _set_probs_or_logits(self, probs: Tensor | float | None, logits: Tensor | float | None, **others: Any) -> Size:
        """Set the one that was given, broadcast with other parameters; return their shape."""
        given = one_of(probs, logits)
        return self._set_parameters(**others, **{given: logits if given == "logits" else probs})

    @lazy_property
    def logits(self) -> Tensor:
        """The logarithms of the odds, or of the probabilities."""
        return probs_to_logits(self.probs, is_binary=self._is_binary)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities."""
        return logits_to_probs(self.logits, is_binary=self._is_binary)

    @property
    def _param(self) -> Tensor:
        known = self.__dict__
        return known["probs"] if "probs" in known else known["logits"]  # type: ignore[no-any-return]

    @property
    def param_shape(self) -> Size:
        """The shape of `probs` and `logits`."""
        return Size(self._param.shape)

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._param.new(*args, **kwargs)


class ProbsOrLogitsOfCategorical(Distribution):
    """The base class of distributions that have their probabilities in a `Categorical`."""

    _categorical: Any

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return self._categorical.logits  # type: ignore[no-any-return]

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._categorical.probs  # type: ignore[no-any-return]

    @property
    def _param(self) -> Tensor:
        return self._categorical._param  # type: ignore[no-any-return]

    @property
    def param_shape(self) -> Size:
        """The shape of `probs` and `logits`."""
        return self._categorical.param_shape  # type: ignore[no-any-return]

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._categorical._new(*args, **kwargs)  # type: ignore[no-any-return]
