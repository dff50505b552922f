"""Transforms of random variables: functions with an inverse and the logarithm of their Jacobian's determinant."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from tensorlike._originals import functional as F
from tensorlike._originals import tl
from tensorlike.tensor import Tensor

from . import constraints
from .composed_transforms import (
    ComposeTransform,
    IndependentTransform,
    ReshapeTransform,
    Transform,
    identity_transform,
)
from .utils import (
    _clipped_sigmoid,
    _inside_unit,
    _last_of,
    _log_tanh_slope,
    _require_dims,
    _sum_rightmost,
    broadcast_all,
    lazy_property,
    tril_matrix_to_vec,
    vec_to_tril_matrix,
)

if TYPE_CHECKING:
    from .distribution import Distribution

__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform",
    "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform", "LowerCholeskyTransform",
    "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform",
    "identity_transform",
]  # fmt: skip


class _Increasing(Transform):
    """The base class of increasing functions of real numbers."""

    domain = constraints.real
    bijective = True
    sign = 1
    _compared = ()


class ExpTransform(_Increasing):
    """Exponential: `y = exp(x)`.

    >>> tl.distributions.transforms.ExpTransform()(tl.zeros(2))
    tensor([1., 1.])
    """

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class PowerTransform(Transform):
    """Power: `y = x ** exponent`, of positive numbers.

    >>> tl.distributions.transforms.PowerTransform(tl.tensor(2.0))(tl.tensor([3.0]))
    tensor([9.])
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True
    _arguments = ("exponent",)
    _compared = ("exponent",)

    def __init__(self, exponent: Tensor | float, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    @lazy_property
    def sign(self) -> Any:
        return self.exponent.sign()

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return tl.broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


class SigmoidTransform(_Increasing):
    """Logistic sigmoid: `y = 1 / (1 + exp(-x))`.

    >>> tl.distributions.transforms.SigmoidTransform()(tl.zeros(2))
    tensor([0.5000, 0.5000])
    """

    codomain = constraints.unit_interval

    def _call(self, x: Tensor) -> Tensor:
        return _clipped_sigmoid(x)

    def _inverse(self, y: Tensor) -> Tensor:
        y = _inside_unit(y)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -F.softplus(-x) - F.softplus(x)


class SoftplusTransform(_Increasing):
    """Softplus: `y = log(1 + exp(x))`.

    >>> tl.distributions.transforms.SoftplusTransform()(tl.zeros(2))
    tensor([0.6931, 0.6931])
    """

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return F.softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return y + (-(-y).expm1()).log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -F.softplus(-x)


class TanhTransform(_Increasing):
    """Hyperbolic tangent: `y = tanh(x)`.

    >>> tl.distributions.transforms.TanhTransform()(tl.zeros(2))
    tensor([0., 0.])
    """

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return tl.atanh(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return _log_tanh_slope(x)


class AbsTransform(Transform):
    """Absolute value: `y = abs(x)`, whose inverse gives positive numbers.

    >>> tl.distributions.transforms.AbsTransform()(tl.tensor([-1.0]))
    tensor([1.])
    """

    domain = constraints.real
    codomain = constraints.positive
    _compared = ()

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class AffineTransform(Transform):
    """Affine map: `y = loc + scale * x`, of values with `event_dim` dimensions.

    >>> tl.distributions.transforms.AffineTransform(1.0, 2.0)(tl.tensor([3.0]))
    tensor([7.])
    """

    bijective = True
    _arguments = ("loc", "scale", "event_dim")
    _compared = ("loc", "scale")

    def __init__(self, loc: Tensor | float, scale: Tensor | float, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    def _values(self) -> Any:
        return constraints.independent(constraints.real, self.event_dim) if self.event_dim else constraints.real

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return self._values()

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return self._values()

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, (int, float)):
            return (self.scale > 0) - (self.scale < 0)
        return self.scale.sign()

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        scale = self.scale
        if isinstance(scale, (int, float)):
            result = tl.full_like(x, math.log(abs(scale)))
        else:
            result = scale.abs().log()
        shape = x.shape
        if self.event_dim:
            result = _sum_rightmost(result, self.event_dim)
            shape = shape[: -self.event_dim]
        return result.expand(shape)

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return tl.broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    inverse_shape = forward_shape


class CorrCholeskyTransform(Transform):
    """Map of vectors of `d * (d - 1) / 2` numbers to Cholesky factors of correlation matrices of size `d`.

    The tangents hyperbolic of the numbers are canonical partial correlations; each row is then a broken stick.

    >>> tl.distributions.transforms.CorrCholeskyTransform()(tl.zeros(1))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        eps = tl.finfo(x.dtype).eps
        partial = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - partial**2).sqrt().cumprod(-1)
        partial = partial + tl.eye(partial.shape[-1], dtype=x.dtype, device=x.device)
        return partial * F.pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        left = F.pad((1 - (y * y).cumsum(-1))[..., :-1], [1, 0], value=1)
        partial = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (partial.log1p() - (-partial).log1p()) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        # The first part of each stick has the length 1: what is left before it adds nothing.
        left = tril_matrix_to_vec(1 - (y * y).cumsum(-1), diag=-2)
        return 0.5 * left.log().sum(-1) + _log_tanh_slope(x).sum(-1)

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        _require_dims(shape, 1)
        size = (1 + math.isqrt(1 + 8 * shape[-1])) // 2
        if size * (size - 1) // 2 != shape[-1]:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return (*shape[:-1], size, size)

    def inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        _require_dims(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return (*shape[:-2], shape[-1] * (shape[-1] - 1) // 2)


class SoftmaxTransform(Transform):
    """Softmax of vectors, not one to one: the inverse is the logarithm.

    >>> tl.distributions.transforms.SoftmaxTransform()(tl.zeros(4))
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    _compared = ()

    def _call(self, x: Tensor) -> Tensor:
        return F.softmax(x, dim=-1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        _require_dims(shape, 1)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(Transform):
    """Stick breaking: vectors to points of the simplex of one dimension more, each a share of what is left.

    >>> tl.distributions.transforms.StickBreakingTransform()(tl.zeros(3))
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True
    _compared = ()

    def _centered(self, x: Tensor) -> Tensor:
        """Return logits of shares that are equal parts for zeros: less the logarithm of the parts that follow."""
        return x - self._log_parts(x)

    @staticmethod
    def _log_parts(x: Tensor) -> Tensor:
        return tl.arange(x.shape[-1], 0, -1, dtype=x.dtype, device=x.device).log()

    def _call(self, x: Tensor) -> Tensor:
        shares = _clipped_sigmoid(self._centered(x))
        left = (1 - shares).cumprod(-1)
        return F.pad(shares, [0, 1], value=1) * F.pad(left, [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        parts = y[..., :-1]
        # Rounding must not leave less than nothing.
        left = (1 - parts.cumsum(-1)).clamp(min=tl.finfo(y.dtype).tiny)
        return parts.log() - left.log() + self._log_parts(parts)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = self._centered(x)
        return (-x + F.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return (*shape[:-1], _last_of(shape) + 1)

    def inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return (*shape[:-1], _last_of(shape) - 1)


class LowerCholeskyTransform(Transform):
    """Map of square matrices to lower triangular ones, with the exponential of their diagonal.

    >>> tl.distributions.transforms.LowerCholeskyTransform()(tl.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky
    _compared = ()

    def _with_diagonal(self, x: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
        return x.tril(-1) + function(x.diagonal(dim1=-2, dim2=-1)).diag_embed()

    def _call(self, x: Tensor) -> Tensor:
        return self._with_diagonal(x, tl.exp)

    def _inverse(self, y: Tensor) -> Tensor:
        return self._with_diagonal(y, tl.log)


class PositiveDefiniteTransform(Transform):
    """Map of square matrices to positive definite ones, by `LowerCholeskyTransform`.

    >>> tl.distributions.transforms.PositiveDefiniteTransform()(tl.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite
    _compared = ()

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(tl.linalg.cholesky(y))


class _SeveralTransform(Transform):
    """The base class of a sequence of transforms, each of a part of the values along a dimension."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        if not all(isinstance(transform, Transform) for transform in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        if cache_size:
            tseq = [transform.with_cache(cache_size) for transform in tseq]
        super().__init__(cache_size=cache_size)
        self.transforms = list(tseq)
        self.dim = dim

    @property
    def bijective(self) -> bool:
        return all(transform.bijective for transform in self.transforms)

    def _parts(self, x: Tensor) -> Sequence[Tensor]:
        """Return the part of each transform."""
        raise NotImplementedError(f"{type(self).__name__} does not define _parts(x)")

    def _join(self, parts: Sequence[Tensor]) -> Tensor:
        """Return the parts as one tensor."""
        raise NotImplementedError(f"{type(self).__name__} does not define _join(parts)")

    def _check(self, x: Tensor, wanted: int, wording: str) -> None:
        if not -x.dim() <= self.dim < x.dim():
            raise AssertionError(f"dim {self.dim} out of range for tensor with {x.dim()} dimensions")
        if x.size(self.dim) != wanted:
            raise AssertionError(f"x.size({self.dim}) = {x.size(self.dim)} must equal {wording} {wanted}")

    def _call(self, x: Tensor) -> Tensor:
        return self._join([transform(part) for transform, part in zip(self.transforms, self._parts(x))])

    def _inverse(self, y: Tensor) -> Tensor:
        return self._join([transform.inv(part) for transform, part in zip(self.transforms, self._parts(y))])


class CatTransform(_SeveralTransform):
    """Transforms of parts of given lengths along a dimension, one after the other.

    >>> t = tl.distributions.transforms
    >>> t.CatTransform([t.ExpTransform(), t.identity_transform], lengths=[1, 2])(tl.zeros(3))
    tensor([1., 0., 0.])
    """

    _arguments = ("transforms", "dim", "lengths")

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:  # fmt: skip
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")

    @lazy_property
    def event_dim(self) -> int:
        return max(transform.event_dim for transform in self.transforms)

    @lazy_property
    def length(self) -> int:
        return sum(self.lengths)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.cat([transform.domain for transform in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.cat([transform.codomain for transform in self.transforms], self.dim, self.lengths)

    def _parts(self, x: Tensor) -> Sequence[Tensor]:
        self._check(x, self.length, "length")
        parts: Sequence[Tensor] = x.split(self.lengths, self.dim)
        return parts

    def _join(self, parts: Sequence[Tensor]) -> Tensor:
        return tl.cat(list(parts), dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        terms = []
        for transform, before, after in zip(self.transforms, self._parts(x), self._parts(y)):
            term = transform.log_abs_det_jacobian(before, after)
            terms.append(_sum_rightmost(term, self.event_dim - transform.event_dim))
        # The dimension of the parts is one of the batch, or lies in the event.
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        return tl.cat(terms, dim=dim) if dim < 0 else reduce(operator.add, terms)


class StackTransform(_SeveralTransform):
    """Transforms of the slices along a dimension.

    >>> t = tl.distributions.transforms
    >>> t.StackTransform([t.ExpTransform(), t.identity_transform], dim=0)(tl.zeros(2, 3))
    tensor([[1., 1., 1.],
            [0., 0., 0.]])
    """

    _arguments = ("transforms", "dim")

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.stack([transform.domain for transform in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.stack([transform.codomain for transform in self.transforms], self.dim)

    def _parts(self, x: Tensor) -> Sequence[Tensor]:
        self._check(x, len(self.transforms), "len(transforms)")
        slices: Sequence[Tensor] = x.unbind(self.dim)
        return slices

    def _join(self, parts: Sequence[Tensor]) -> Tensor:
        return tl.stack(list(parts), dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        triples = zip(self.transforms, self._parts(x), self._parts(y))
        return self._join([transform.log_abs_det_jacobian(before, after) for transform, before, after in triples])


class CumulativeDistributionTransform(Transform):
    """Map of values to their probabilities under the `cdf` of a distribution.

    >>> t = tl.distributions.transforms
    >>> t.CumulativeDistributionTransform(tl.distributions.Normal(0.0, 1.0))(tl.zeros(1))
    tensor([0.5000])
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = 1
    _arguments = ("distribution",)

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)
