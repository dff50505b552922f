"""The multivariate normal distribution."""

from __future__ import annotations

import math
from typing import Any

from tensorlike._originals import tl
from tensorlike.tensor import Tensor

from . import constraints
from .distribution import Distribution
from .location_scale import Centred
from .utils import _standard_normal, lazy_property

__all__ = ["MultivariateNormal"]


def _batch_mv(bmat: Tensor, bvec: Tensor) -> Tensor:
    """Return the products of matrices and vectors; both may have batches, which broadcast."""
    return (bmat @ bvec.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(bL: Tensor, bx: Tensor) -> Tensor:
    """Return `x.T @ (L @ L.T)**-1 @ x` for lower triangular matrices; both may have batches, which broadcast."""
    batch = tl.broadcast_shapes(bL.shape[:-2], bx.shape[:-1])
    # Vectors that share a matrix are the columns of one right-hand side.
    shared = len(bx.shape[:-1]) - len(bL.shape[:-2])
    if shared > 0 and bx.shape[shared:-1] == bL.shape[:-2]:
        rows = bx.reshape((-1, *bx.shape[shared:])).movedim(0, -2)
        lengths = tl.linalg.solve_triangular(bL, rows.mT, upper=False).pow(2).sum(-2)
        return lengths.movedim(-1, 0).reshape(batch)
    return tl.linalg.solve_triangular(bL, bx.unsqueeze(-1), upper=False).pow(2).sum(-2).squeeze(-1)


def _precision_to_scale_tril(P: Tensor) -> Tensor:
    """Return the Cholesky factor of the inverse of matrices."""
    # With rows and columns in reverse order, the factor of the matrix is an upper triangular one: its inverse is lower.
    upper = tl.linalg.cholesky(P.flip((-2, -1))).flip((-2, -1)).mT
    unit = tl.eye(P.shape[-1], dtype=P.dtype, device=P.device)
    return tl.linalg.solve_triangular(upper, unit, upper=False)


def one_matrix(message: str, error: type[Exception], **matrices: Tensor | None) -> tuple[str, Any]:
    """Return the name and value of the one matrix that was given, which must be a matrix or a batch of them."""
    given = [(name, matrix) for name, matrix in matrices.items() if matrix is not None]
    if len(given) != 1:
        raise error(message)
    return given[0]


class MultivariateNormal(Centred, Distribution):
    """Multivariate normal distribution of mean `loc`; its covariance is given by one of three matrices.

    Args:
        loc: The mean; its last dimension is that of the vectors.
        covariance_matrix: The covariance.
        precision_matrix: The inverse of the covariance.
        scale_tril: The Cholesky factor of the covariance, the fastest of the three.
        validate_args: Whether parameters and values are checked.

    >>> normal = tl.distributions.MultivariateNormal(tl.zeros(2), scale_tril=tl.eye(2))
    >>> normal.log_prob(tl.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, loc: Tensor, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None, validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = one_matrix(
            "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.", ValueError,
            covariance_matrix=covariance_matrix, precision_matrix=precision_matrix, scale_tril=scale_tril,
        )  # fmt: skip
        if matrix.dim() < 2:
            # PyTorch's texts differ by that word.
            called = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(f"{called} must be at least two-dimensional, with optional leading batch dimensions")
        batch_shape = tl.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.loc: Tensor = loc.expand((*batch_shape, -1))
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        if scale_tril is not None:
            self._unbroadcasted_scale_tril = scale_tril
        elif covariance_matrix is not None:
            self._unbroadcasted_scale_tril = tl.linalg.cholesky(covariance_matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(precision_matrix)  # type: ignore[arg-type]

    def _matrices(self, matrix: Tensor) -> Tensor:
        """Return a matrix for each element of the batch."""
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return self._matrices(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        return self._matrices(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return self._matrices(tl.cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def variance(self) -> Tensor:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: tuple[int, ...] | list[int] = ()) -> Tensor:
        drawn = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype, self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, drawn)

    def _half_log_det(self) -> Tensor:
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        length = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + length) - self._half_log_det()

    def entropy(self) -> Tensor:
        entropy = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()
        return entropy.expand(self._batch_shape) if self._batch_shape else entropy
