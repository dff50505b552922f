"""Exponential families: distributions whose entropy follows from their log normalizer."""

from __future__ import annotations

from typing import Any

from tensorlike._originals import tl
from tensorlike.tensor import Tensor

from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """The base class of distributions with densities `exp(<t(x), theta> - F(theta) + k(x))`.

    `_natural_params` are theta, `_log_normalizer` is F, and `_mean_carrier_measure` the mean of k.

    >>> isinstance(tl.distributions.Normal(0.0, 1.0), tl.distributions.ExponentialFamily)
    True
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError(f"{type(self)} does not implement _natural_params")

    def _log_normalizer(self, *natural_params: Any) -> Tensor:
        raise NotImplementedError(f"{type(self)} does not implement _log_normalizer")

    @property
    def _mean_carrier_measure(self) -> float:
        raise NotImplementedError(f"{type(self)} does not implement _mean_carrier_measure")

    def _normalizer_and_means(self) -> tuple[Any, list[Any], list[Any]]:
        """Return the log normalizer, the natural parameters and the means of the statistics, its gradients."""
        natural = [parameter.detach().requires_grad_() for parameter in self._natural_params]
        normalizer: Any = self._log_normalizer(*natural)
        means = tl.autograd.grad(normalizer.sum(), natural, create_graph=True)
        return normalizer, natural, list(means)

    def entropy(self) -> Tensor:
        """Return the entropy, in units of `e`: F(theta) - <theta, grad F> - the mean of k."""
        normalizer, natural, means = self._normalizer_and_means()
        result = normalizer - self._mean_carrier_measure
        for parameter, mean in zip(natural, means):
            product = parameter * mean
            result = result - product.reshape((*self._batch_shape, -1)).sum(-1)
        return result  # type: ignore[no-any-return]
