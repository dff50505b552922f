"""Mixtures of distributions of one family."""

from __future__ import annotations

from typing import Any

from tensorlike._library_name import LIBRARY
from tensorlike._originals import tl
from tensorlike.tensor import Tensor
from tensorlike.tensor.size import Size

from . import constraints
from .categorical import Categorical
from .constraints import MixtureSameFamilyConstraint
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """Mixture of distributions of one family: the last batch dimension of the components is drawn from.

    >>> d = tl.distributions
    >>> mixture = d.MixtureSameFamily(d.Categorical(tl.tensor([0.5, 0.5])), d.Normal(tl.tensor([-1.0, 1.0]), 1.0))
    >>> mixture.mean, mixture.variance
    (tensor(0.), tensor(2.))
    """

    arg_constraints: Any = {}
    has_rsample = False

    def __init__(
        self, mixture_distribution: Categorical, component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                f" The Mixture distribution needs to be an  instance of {LIBRARY}.distributions.Categorical: got "
                f"{type(mixture_distribution).__name__}"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                f"The Component distribution needs to be an instance of {LIBRARY}.distributions.Distribution: got "
                f"{type(component_distribution).__name__}"
            )
        mixtures, components = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        for size, other in zip(reversed(mixtures), reversed(components)):
            if size != 1 and other != 1 and size != other:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixtures}) is not compatible with "
                    f"`component_distribution.batch_shape`({components})"
                )
        count = mixture_distribution.logits.shape[-1]
        given = component_distribution.batch_shape[-1]
        if count != given:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal `component_distribution.batch_shape[-1]` "
                f"({given})"
            )
        self._num_component = count
        event_shape = component_distribution.event_shape
        self._event_ndims = len(event_shape)
        super().__init__(components, event_shape, validate_args)

    def _expand_inner(self, inner: Distribution, shape: Size) -> Any:
        return inner.expand(shape if inner is self._mixture_distribution else (*shape, self._num_component))

    @constraints.dependent_property
    def support(self) -> Any:
        return MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """The distribution of the component."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The components, in the last dimension of its batch."""
        return self._component_distribution

    def _average(self, values: Tensor) -> Tensor:
        """Return the mean over the components of a value for each."""
        weights = self._pad_mixture_dimensions(self.mixture_distribution.probs)
        return (weights * values).sum(dim=-1 - self._event_ndims)

    @property
    def mean(self) -> Tensor:
        return self._average(self.component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        # The law of total variance.
        within = self._average(self.component_distribution.variance)
        return within + self._average((self.component_distribution.mean - self._pad(self.mean)).pow(2.0))

    def cdf(self, x: Tensor) -> Tensor:
        probabilities = self.component_distribution.cdf(self._pad(x))
        return (probabilities * self.mixture_distribution.probs).sum(dim=-1)

    def log_prob(self, x: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(x)
        weights = tl.log_softmax(self.mixture_distribution.logits, dim=-1)
        return (self.component_distribution.log_prob(self._pad(x)) + weights).logsumexp(dim=-1)

    def sample(self, sample_shape: tuple[int, ...] | list[int] = ()) -> Tensor:
        with tl.no_grad():
            first = len(sample_shape) + len(self.batch_shape)
            chosen = self.mixture_distribution.sample(sample_shape)
            drawn = self.component_distribution.sample(sample_shape)
            index = chosen.reshape((*chosen.shape, *(1,) * (self._event_ndims + 1)))
            index = index.expand((*drawn.shape[:first], 1, *self.event_shape))
            return drawn.gather(first, index).squeeze(first)

    def _pad(self, x: Tensor) -> Tensor:
        """Return values with a dimension for the components."""
        return x.unsqueeze(-1 - self._event_ndims)

    def _pad_mixture_dimensions(self, x: Tensor) -> Tensor:
        """Return values of the mixture, such as its probabilities, with dimensions for batch and event."""
        own = len(self.mixture_distribution.batch_shape)
        missing = len(self.batch_shape) - own
        shape = (*x.shape[:own], *(1,) * (missing if own else 0), x.shape[-1], *(1,) * self._event_ndims)
        return x.reshape(shape)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
