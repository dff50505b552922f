"""The Dirichlet distribution."""

from __future__ import annotations

from tensorlike._originals import functional as F
from tensorlike._originals import tl
from tensorlike.operations.random.gamma import dirichlet_backward
from tensorlike.tensor import Tensor

from . import constraints
from .exp_family import ExponentialFamily

__all__ = ["Dirichlet"]


def _Dirichlet_backward(x: Tensor, concentration: Tensor, grad_output: Tensor) -> Tensor:
    """Return the gradient of concentrations of which `x` are draws."""
    return dirichlet_backward(grad_output, concentration, x)  # type: ignore[no-any-return]


class Dirichlet(ExponentialFamily):
    """Dirichlet distribution on the simplex: vectors of K numbers that sum to 1, of shape `concentration`.

    >>> tl.distributions.Dirichlet(tl.tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration: Tensor = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        # Concentrations below 1 have their mode in a corner.
        corner = F.one_hot(mode.argmax(dim=-1), self.concentration.shape[-1]).to(mode)
        return tl.where((self.concentration < 1).all(dim=-1, keepdim=True), corner, mode)

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: tuple[int, ...] | list[int] = ()) -> Tensor:
        return tl._sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return tl.xlogy(self.concentration - 1.0, value).sum(-1) - self._log_normalizer(self.concentration)

    def entropy(self) -> Tensor:
        count = self.concentration.shape[-1]
        total = self.concentration.sum(-1)
        spread = (count - total) * tl.digamma(total)
        return (
            self._log_normalizer(self.concentration)
            - spread
            - ((self.concentration - 1.0) * tl.digamma(self.concentration)).sum(-1)
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return x.lgamma().sum(-1) - tl.lgamma(x.sum(-1))
