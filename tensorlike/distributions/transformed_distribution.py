"""Distributions of values of transforms."""

from __future__ import annotations

from typing import Any

from tensorlike._originals import tl
from tensorlike.tensor import Tensor
from tensorlike.tensor.size import Size

from . import constraints
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import _sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of `transforms`, one after the other, of samples of `base_distribution`.

    >>> d = tl.distributions
    >>> log_normal = d.TransformedDistribution(d.Normal(0.0, 1.0), [d.ExpTransform()])
    >>> log_normal.log_prob(tl.tensor(1.0))
    tensor(-0.9189)
    """

    arg_constraints: Any = {}

    def __init__(
        self, base_distribution: Distribution, transforms: Transform | list[Transform],
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        if isinstance(transforms, Transform):
            self.transforms = [transforms]
        elif not isinstance(transforms, list):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        elif not all(isinstance(transform, Transform) for transform in transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        else:
            self.transforms = transforms
        shape = base_distribution.batch_shape + base_distribution.event_shape
        base_event = len(base_distribution.event_shape)
        transform = ComposeTransform(self.transforms)
        if len(shape) < transform.domain.event_dim:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {transform.domain.event_dim}, but got "
                f"{shape}."
            )
        values = Size(transform.forward_shape(shape))
        # Parameters of the transforms may broadcast the base.
        wanted = Size(transform.inverse_shape(values))
        if shape != wanted:
            base_distribution = base_distribution.expand(wanted[: len(wanted) - base_event])
        taken = transform.domain.event_dim - base_event
        self.base_dist: Any = Independent(base_distribution, taken) if taken > 0 else base_distribution
        # The events of the base may have more dimensions than the transforms need.
        event_dim = transform.codomain.event_dim + max(-taken, 0)
        first = len(values) - event_dim
        super().__init__(values[:first], values[first:], validate_args=validate_args)

    def _expand_inner(self, inner: Distribution, shape: Size) -> Any:
        shape = shape + self.event_shape
        for transform in reversed(self.transforms):
            shape = Size(transform.inverse_shape(shape))
        return inner.expand(shape[: len(shape) - len(inner.event_shape)])

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """Whether the base has samples with gradients."""
        return bool(self.base_dist.has_rsample)

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        codomain = self.transforms[-1].codomain
        missing = len(self.event_shape) - codomain.event_dim
        return constraints.independent(codomain, missing) if missing > 0 else codomain

    def _transformed(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape: tuple[int, ...] | list[int] = ()) -> Tensor:
        with tl.no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: tuple[int, ...] | list[int] = ()) -> Tensor:
        return self._transformed(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        event_dim = len(self.event_shape)
        result: Any = 0.0
        for transform in reversed(self.transforms):
            origin = transform.inv(value)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            volume = transform.log_abs_det_jacobian(origin, value)
            result = result - _sum_rightmost(volume, event_dim - transform.domain.event_dim)
            value = origin
        return result + _sum_rightmost(  # type: ignore[no-any-return]
            self.base_dist.log_prob(value), event_dim - len(self.base_dist.event_shape)
        )

    def _monotonize_cdf(self, value: Tensor) -> Any:
        """Return a probability, or what it leaves of 1 where the transforms are decreasing."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))  # type: ignore[no-any-return]

    def icdf(self, value: Tensor) -> Tensor:
        return self._transformed(self.base_dist.icdf(self._monotonize_cdf(value)))
