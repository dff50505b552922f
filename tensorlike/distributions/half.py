"""The rule of the positive halves of symmetric distributions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tensorlike._originals import tl
from tensorlike.tensor import Tensor

from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform

if TYPE_CHECKING:
    from .distribution import Distribution

__all__ = ["HalfDistribution"]


class HalfDistribution(TransformedDistribution):
    """The base class of absolute values of distributions that are symmetric around 0."""

    support = constraints.nonnegative
    has_rsample = True
    base_dist: Any

    def __init__(self, base_distribution: Distribution, validate_args: bool | None = None) -> None:
        super().__init__(base_distribution, AbsTransform(), validate_args=validate_args)

    @property
    def scale(self) -> Tensor:
        """The scale of the symmetric distribution."""
        return self.base_dist.scale  # type: ignore[no-any-return]

    @property
    def mode(self) -> Tensor:
        return tl.zeros_like(self.scale)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value = tl.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
        density = self.base_dist.log_prob(value) + math.log(2)
        return tl.where(value >= 0, density, -tl.inf)  # type: ignore[no-any-return]

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1  # type: ignore[no-any-return]

    def icdf(self, value: Tensor) -> Tensor:
        return self.base_dist.icdf((value + 1) / 2)  # type: ignore[no-any-return]

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)  # type: ignore[no-any-return]
