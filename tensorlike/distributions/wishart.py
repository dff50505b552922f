"""The Wishart distribution."""

from __future__ import annotations

import math
import warnings
from typing import Any

from tensorlike._originals import tl
from tensorlike.dispatch.core import outside_stacklevel
from tensorlike.tensor import Tensor
from tensorlike.tensor.size import Size

from . import constraints
from .chi2 import Chi2
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .multivariate_normal import _precision_to_scale_tril, one_matrix
from .utils import lazy_property

__all__ = ["Wishart"]


_log_2 = math.log(2)


def _mvdigamma(x: Tensor, p: int) -> Tensor:
    """Return the derivative of `mvlgamma`, for arguments above `(p - 1) / 2`."""
    if not bool((x > (p - 1) / 2).all()):
        raise AssertionError("Wrong domain for multivariate digamma function.")
    steps = tl.arange(p, dtype=x.dtype, device=x.device) / 2
    return tl.digamma(x.unsqueeze(-1) - steps).sum(-1)


class Wishart(ExponentialFamily):
    """Wishart distribution of positive definite matrices: the scatter of `df` normal vectors of given covariance.

    Args:
        df: The degrees of freedom, more than the size of the matrices less 1.
        covariance_matrix: The covariance.
        precision_matrix: The inverse of the covariance.
        scale_tril: The Cholesky factor of the covariance.
        validate_args: Whether parameters and values are checked.

    >>> tl.distributions.Wishart(tl.tensor([3.0]), covariance_matrix=tl.eye(2)).mean
    tensor([[[3., 0.],
             [0., 3.]]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self, df: Tensor | float, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None, validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        name, matrix = one_matrix(
            "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.", AssertionError,
            covariance_matrix=covariance_matrix, precision_matrix=precision_matrix, scale_tril=scale_tril,
        )  # fmt: skip
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        if isinstance(df, (int, float)):
            batch_shape = Size(matrix.shape[:-2])
            self.df = tl.tensor(df, dtype=matrix.dtype, device=matrix.device).expand(batch_shape)
        else:
            batch_shape = tl.broadcast_shapes(matrix.shape[:-2], df.shape)
            self.df = df.expand(batch_shape)
        event_shape = Size(matrix.shape[-2:])
        size = event_shape[-1]
        if bool((self.df <= size - 1).any()):
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {size - 1}.")
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        if scale_tril is not None:
            self._unbroadcasted_scale_tril = scale_tril
        elif covariance_matrix is not None:
            self._unbroadcasted_scale_tril = tl.linalg.cholesky(covariance_matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(precision_matrix)  # type: ignore[arg-type]
        steps = tl.arange(size, dtype=matrix.dtype, device=matrix.device)
        self._dist_chi2 = Chi2(self.df.unsqueeze(-1) - steps)
        super().__init__(batch_shape, event_shape, validate_args=validate_args)

    @property
    def arg_constraints(self) -> dict[str, Any]:
        """The constraints of the parameters: that of `df` depends on the size of the matrices."""
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def _expand_inner(self, inner: Distribution, shape: Size) -> Any:
        return inner.expand(shape + self.event_shape[-1:])

    def _matrices(self, matrix: Tensor) -> Tensor:
        """Return a matrix for each element of the batch."""
        return matrix.expand(self._batch_shape + self._event_shape)

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

    def _for_matrices(self, values: Tensor) -> Tensor:
        return values.view((*self._batch_shape, 1, 1))

    @property
    def mean(self) -> Tensor:
        return self._for_matrices(self.df) * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        return self._for_matrices(factor.masked_fill(factor <= 0, tl.nan)) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        covariance = self.covariance_matrix
        diagonal = covariance.diagonal(dim1=-2, dim2=-1)
        return self._for_matrices(self.df) * (covariance.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def _bartlett_sampling(self, sample_shape: tuple[int, ...] | list[int] = ()) -> Tensor:
        """Return draws by Bartlett's decomposition."""
        size = self._event_shape[-1]
        factor = self._dist_chi2.rsample(sample_shape).sqrt().diag_embed()
        below = tl.randn(self._extended_shape(sample_shape), dtype=factor.dtype, device=factor.device).tril(-1)
        root = self._unbroadcasted_scale_tril @ (factor + below if size > 1 else factor)
        return root @ root.mT

    def rsample(self, sample_shape: tuple[int, ...] | list[int] = (), max_try_correction: int | None = None) -> Tensor:
        """Return samples with gradients by the parameters.

        Rounding may make a draw singular: it is drawn anew up to `max_try_correction` times, 10 unless given.
        """
        sample = self._bartlett_sampling(sample_shape)
        singular = ~self.support.check(sample)
        if bool(singular.any()):
            warnings.warn("Singular sample detected.", stacklevel=outside_stacklevel())
            for _ in range(10 if max_try_correction is None else max_try_correction):
                again = self._bartlett_sampling(sample_shape)
                sample = tl.where(singular.unsqueeze(-1).unsqueeze(-1), again, sample)
                singular = ~self.support.check(sample)
                if not bool(singular.any()):
                    break
        return sample

    def _log_det_factor(self) -> Tensor:
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        size = self._event_shape[-1]
        trace = tl.cholesky_solve(value, self._unbroadcasted_scale_tril).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (
            -self.df * (size * _log_2 / 2 + self._log_det_factor())
            - tl.mvlgamma(self.df / 2, p=size)
            + (self.df - size - 1) / 2 * tl.linalg.slogdet(value).logabsdet
            - trace / 2
        )

    def entropy(self) -> Tensor:
        size = self._event_shape[-1]
        return (
            (size + 1) * (size * _log_2 / 2 + self._log_det_factor())
            + tl.mvlgamma(self.df / 2, p=size)
            - (self.df - size - 1) / 2 * _mvdigamma(self.df / 2, p=size)
            + self.df * size / 2
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (-self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2)

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        size = self._event_shape[-1]
        half = y + (size + 1) / 2
        logdet = tl.linalg.slogdet(-2 * x).logabsdet
        return half * (size * _log_2 - logdet) + tl.mvlgamma(half, p=size)
