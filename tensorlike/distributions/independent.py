"""Batch dimensions taken as part of the event."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from tensorlike.tensor import Tensor
from tensorlike.tensor.size import Size

from . import constraints
from .distribution import Distribution
from .utils import _sum_rightmost

__all__ = ["Independent"]


_D = TypeVar("_D", bound=Distribution)


class Independent(Distribution, Generic[_D]):
    """A distribution of which the last `reinterpreted_batch_ndims` batch dimensions are part of the event.

    >>> normal = tl.distributions.Normal(tl.zeros(3), 1.0)
    >>> tl.distributions.Independent(normal, 1).log_prob(tl.zeros(3))
    tensor(-2.7568)
    """

    arg_constraints: Any = {}

    def __init__(
        self, base_distribution: _D, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:  # fmt: skip
        if reinterpreted_batch_ndims > len(base_distribution.batch_shape):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                f"{reinterpreted_batch_ndims} vs {len(base_distribution.batch_shape)}"
            )
        self.base_dist: _D = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        shape = base_distribution.batch_shape + base_distribution.event_shape
        first = len(base_distribution.batch_shape) - reinterpreted_batch_ndims
        super().__init__(shape[:first], shape[first:], validate_args=validate_args)

    def _expand_inner(self, inner: Distribution, shape: Size) -> Any:
        return inner.expand(shape + self.event_shape[: self.reinterpreted_batch_ndims])

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """Whether the distribution inside has samples with gradients."""
        return bool(self.base_dist.has_rsample)

    @property
    def has_enumerate_support(self) -> bool:  # type: ignore[override]
        """Whether all values can be listed: those of several variables cannot."""
        return self.reinterpreted_batch_ndims == 0 and bool(self.base_dist.has_enumerate_support)

    @constraints.dependent_property
    def support(self) -> Any:
        inner, taken = self.base_dist.support, self.reinterpreted_batch_ndims
        return constraints.independent(inner, taken) if taken else inner

    @property
    def mean(self) -> Tensor:
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def sample(self, sample_shape: tuple[int, ...] | list[int] = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: tuple[int, ...] | list[int] = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        return _sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return _sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
