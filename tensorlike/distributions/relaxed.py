"""The base class of distributions of choices made continuous."""

from __future__ import annotations

from typing import Any

from tensorlike.tensor import Tensor

from .transformed_distribution import TransformedDistribution

__all__ = ["Relaxed"]


class Relaxed(TransformedDistribution):
    """The base class of transformed distributions whose base has a temperature, and `probs` or `logits`."""

    has_rsample = True
    base_dist: Any

    @property
    def temperature(self) -> Tensor:
        """The temperature."""
        return self.base_dist.temperature  # type: ignore[no-any-return]

    @property
    def logits(self) -> Tensor:
        """The log odds, or the logarithms of the probabilities."""
        return self.base_dist.logits  # type: ignore[no-any-return]

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self.base_dist.probs  # type: ignore[no-any-return]
