"""The multivariate normal distribution with a covariance of low rank plus a diagonal."""

from __future__ import annotations

import math
from typing import Any

from tensorlike._originals import tl
from tensorlike.tensor import Tensor
from tensorlike.tensor.size import Size

from . import constraints
from .distribution import Distribution
from .location_scale import Centred
from .multivariate_normal import _batch_mahalanobis, _batch_mv
from .utils import _standard_normal, lazy_property

__all__ = ["LowRankMultivariateNormal"]


def _batch_capacitance_tril(W: Tensor, D: Tensor) -> Tensor:
    """Return the Cholesky factor of `I + W.T @ D**-1 @ W`, for diagonals `D` as vectors."""
    weighted = W.mT / D.unsqueeze(-2)
    return tl.linalg.cholesky(weighted @ W + tl.eye(W.shape[-1], dtype=W.dtype, device=W.device))


def _batch_lowrank_logdet(W: Tensor, D: Tensor, capacitance_tril: Tensor) -> Tensor:
    """Return the logarithm of the determinant of `W @ W.T + D`, by the matrix determinant lemma."""
    return 2 * capacitance_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1) + D.log().sum(-1)


def _batch_lowrank_mahalanobis(W: Tensor, D: Tensor, x: Tensor, capacitance_tril: Tensor) -> Tensor:
    """Return the squared Mahalanobis length of `x` under the covariance `W @ W.T + D`, by Woodbury's identity."""
    inner = _batch_mv(W.mT / D.unsqueeze(-2), x)
    return (x.pow(2) / D).sum(-1) - _batch_mahalanobis(capacitance_tril, inner)


class LowRankMultivariateNormal(Centred, Distribution):
    """Multivariate normal distribution with the covariance `cov_factor @ cov_factor.T + diag(cov_diag)`.

    >>> normal = tl.distributions.LowRankMultivariateNormal(tl.zeros(2), tl.tensor([[1.0], [0.0]]), tl.ones(2))
    >>> normal.covariance_matrix
    tensor([[2., 0.],
            [0., 1.]])
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = Size(loc.shape[-1:])
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if Size(cov_factor.shape[-2:-1]) != event_shape:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
        if Size(cov_diag.shape[-1:]) != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        try:
            batch_shape = tl.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from error
        self.loc: Tensor = loc.expand(batch_shape + event_shape)
        self.cov_factor: Tensor = cov_factor.expand(batch_shape + Size(cov_factor.shape[-2:]))
        self.cov_diag: Tensor = cov_diag.expand(batch_shape + event_shape)
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = _batch_capacitance_tril(cov_factor, cov_diag)
        super().__init__(batch_shape, event_shape, validate_args=validate_args)

    def _matrices(self, matrix: Tensor) -> Tensor:
        """Return a matrix for each element of the batch."""
        return matrix.expand(self._extended_shape() + self._event_shape)

    @lazy_property
    def variance(self) -> Tensor:
        variance = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return variance.expand(self._extended_shape())

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        # Factored after the diagonal is divided out, which keeps the condition of the matrix small.
        deviation = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / deviation
        unit = tl.eye(self._event_shape[0], dtype=scaled.dtype, device=scaled.device)
        return self._matrices(deviation * tl.linalg.cholesky(scaled @ scaled.mT + unit))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        factor = self._unbroadcasted_cov_factor
        return self._matrices(factor @ factor.mT + self._unbroadcasted_cov_diag.diag_embed())

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        weighted = self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)
        half = tl.linalg.solve_triangular(self._capacitance_tril, weighted, upper=False)
        return self._matrices(self._unbroadcasted_cov_diag.reciprocal().diag_embed() - half.mT @ half)

    def rsample(self, sample_shape: tuple[int, ...] | list[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        like: Any = {"dtype": self.loc.dtype, "device": self.loc.device}
        factor_draws = _standard_normal(shape[:-1] + self.cov_factor.shape[-1:], **like)
        diagonal_draws = _standard_normal(shape, **like)
        spread = _batch_mv(self._unbroadcasted_cov_factor, factor_draws)
        return self.loc + spread + self._unbroadcasted_cov_diag.sqrt() * diagonal_draws

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        covariance = self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag
        length = _batch_lowrank_mahalanobis(*covariance, value - self.loc, self._capacitance_tril)
        logdet = _batch_lowrank_logdet(*covariance, self._capacitance_tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + logdet + length)

    def entropy(self) -> Tensor:
        logdet = _batch_lowrank_logdet(
            self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag, self._capacitance_tril
        )
        entropy = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + logdet)
        return entropy.expand(self._batch_shape) if self._batch_shape else entropy
