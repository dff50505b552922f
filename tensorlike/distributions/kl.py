"""Kullback-Leibler divergences of distributions: `kl_divergence`, and `register_kl` for others.

Where E log q under p follows from a few means under p, the divergence is `-entropy(p) - E log q`: which means a
distribution q needs is written once (`_EXPECTED`), and so is how each p computes them.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from tensorlike._originals import functional as F
from tensorlike._originals import tl
from tensorlike.dispatch.core import outside_stacklevel
from tensorlike.tensor import Tensor

from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .laplace import Laplace
from .lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    _batch_lowrank_logdet,
    _batch_lowrank_mahalanobis,
)
from .multivariate_normal import MultivariateNormal, _batch_mahalanobis
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import _sum_rightmost, euler_constant

__all__ = ["kl_divergence", "register_kl"]

_F = TypeVar("_F", bound=Callable[..., Any])

#: The function of each pair of classes.
_KL_REGISTRY: dict[tuple[type, type], Callable[[Any, Any], Tensor]] = {}
#: What was found for the classes of two distributions; emptied when a function is registered.
_KL_MEMOIZE: dict[tuple[type, type], Callable[[Any, Any], Tensor]] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[_F], _F]:
    """Return a decorator that registers a function of `p` and `q` for `kl_divergence`.

    The function for the nearest base classes is used. Raises TypeError unless both are classes.

    >>> class Mine(tl.distributions.Normal):
    ...     pass
    >>> @tl.distributions.register_kl(Mine, Mine)
    ... def kl_mine(p, q):
    ...     return tl.zeros(())
    >>> tl.distributions.kl_divergence(Mine(0.0, 1.0), Mine(1.0, 1.0))
    tensor(0.)
    """
    for label, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type):  # Any class will do: of mixins and of libraries' own base classes, too.
            raise TypeError(f"Expected {label} to be a Distribution subclass but got {kind}")

    def register(function: _F) -> _F:
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return register


def _dispatch_kl(type_p: type, type_q: type) -> Callable[[Any, Any], Tensor]:
    """Return the function for the nearest base classes, NotImplemented if there is none."""
    order_p, order_q = type_p.__mro__, type_q.__mro__
    places = [
        (order_p.index(p), order_q.index(q)) for p, q in list(_KL_REGISTRY) if p in order_p and q in order_q
    ]  # fmt: skip
    if not places:
        return NotImplemented  # type: ignore[no-any-return]
    left = min(places)
    right = min(places, key=lambda place: (place[1], place[0]))
    chosen, other = (_KL_REGISTRY[order_p[place[0]], order_q[place[1]]] for place in (left, right))
    if chosen is not other:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please "
            f"register_kl({order_p[left[0]].__name__}, {order_q[right[1]].__name__})",
            RuntimeWarning,
            stacklevel=outside_stacklevel(),
        )
    return chosen


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Return the Kullback-Leibler divergence of two distributions, the mean of `log p - log q` under `p`.

    Raises NotImplementedError if no function is registered for their classes.

    >>> tl.distributions.kl_divergence(tl.distributions.Normal(0.0, 1.0), tl.distributions.Normal(1.0, 1.0))
    tensor(0.5000)
    """
    pair = type(p), type(q)
    function = _KL_MEMOIZE.get(pair)
    if function is None:
        function = _KL_MEMOIZE[pair] = _dispatch_kl(*pair)
    if function is NotImplemented:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
        )
    return function(p, q)


# --------------------------------------------------------------------------------------------------- of one family


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    one = p.probs * (F.softplus(-q.logits) - F.softplus(-p.logits))
    one = one.masked_fill(q.probs == 0, tl.inf).masked_fill(p.probs == 0, 0)
    zero = (1 - p.probs) * (F.softplus(q.logits) - F.softplus(p.logits))
    return one + zero.masked_fill(q.probs == 1, tl.inf).masked_fill(p.probs == 1, 0)


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    a, b = p.concentration, q.concentration
    means = a.digamma() - a.sum(-1, True).digamma()
    return q._log_normalizer(b) - p._log_normalizer(a) + ((a - b) * means).sum(-1)


@register_kl(Beta, Beta)
def _kl_beta_beta(p: Beta, q: Beta) -> Tensor:
    return _kl_dirichlet_dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Binomial, Binomial)
def _kl_binomial_binomial(p: Binomial, q: Binomial) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    of_one = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return (p.total_count * of_one).masked_fill(p.total_count > q.total_count, tl.inf)


@register_kl(Categorical, Categorical)
def _kl_categorical_categorical(p: Categorical, q: Categorical) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    terms = terms.masked_fill(q.probs == 0, tl.inf).masked_fill(p.probs == 0, 0)
    return terms.sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_onehotcategorical_onehotcategorical(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _kl_categorical_categorical(p._categorical, q._categorical)


@register_kl(Exponential, Exponential)
def _kl_exponential_exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    """Return the Bregman divergence of the log normalizer."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using Bregman "
            f"divergences: p is {type(p).__name__}, q is {type(q).__name__}"
        )
    normalizer, natural, means = p._normalizer_and_means()
    result = q._log_normalizer(*q._natural_params) - normalizer
    for own, other, mean in zip(natural, q._natural_params, means):
        term = (other - own) * mean
        # A parameter may have fewer dimensions than the event.
        result = result - _sum_rightmost(term, max(term.dim() - result.dim(), 0))
    return result  # type: ignore[no-any-return]


@register_kl(Gamma, Gamma)
def _kl_gamma_gamma(p: Gamma, q: Gamma) -> Tensor:
    a, b = p.concentration, q.concentration
    return (
        b * (p.rate / q.rate).log()
        + tl.lgamma(b)
        - tl.lgamma(a)
        + (a - b) * tl.digamma(a)
        + (q.rate - p.rate) * (a / p.rate)
    )


@register_kl(Gumbel, Gumbel)
def _kl_gumbel_gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ratio, shift = p.scale / q.scale, (p.loc - q.loc) / q.scale
    tail = (tl.lgamma(1 + ratio) - shift).exp()
    return shift - ratio.log() + ratio * euler_constant + tail - (1 + euler_constant)


@register_kl(Geometric, Geometric)
def _kl_geometric_geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - tl.log1p(-q.probs) / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _kl_halfnormal_halfnormal(p: HalfNormal, q: HalfNormal) -> Tensor:
    return _kl_normal_normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _kl_laplace_laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return distance / q.scale + ratio * tl.exp(-distance / p.scale) - ratio.log() - 1


@register_kl(Normal, Normal)
def _kl_normal_normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Pareto, Pareto)
def _kl_pareto_pareto(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return result.masked_fill(p.scale < q.scale, tl.inf)


@register_kl(Poisson, Poisson)
def _kl_poisson_poisson(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Cauchy, Cauchy)
def _kl_cauchy_cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    sums = (p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)
    return sums.log() - (4 * p.scale * q.scale).log()


@register_kl(Uniform, Uniform)
def _kl_uniform_uniform(p: Uniform, q: Uniform) -> Tensor:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return result.masked_fill((q.low > p.low) | (q.high < p.high), tl.inf)


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed_transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError(
            "kl_divergence() of two transformed distributions needs equal transforms and event shapes"
        )
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _kl_independent_independent(p: Independent[Distribution], q: Independent[Distribution]) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            "kl_divergence() of two Independent distributions needs equal reinterpreted_batch_ndims"
        )
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


# ------------------------------------------------------------------------------------------------ multivariate normal


def _batch_trace_XXT(bmat: Tensor) -> Tensor:
    """Return the traces of matrices times their transposes."""
    return bmat.pow(2).sum((-2, -1))


def _log_det(d: MultivariateNormal | LowRankMultivariateNormal) -> Tensor:
    """Return the logarithm of the determinant of the covariance."""
    if isinstance(d, LowRankMultivariateNormal):
        return _batch_lowrank_logdet(d._unbroadcasted_cov_factor, d._unbroadcasted_cov_diag, d._capacitance_tril)
    return 2 * d._half_log_det()


def _mahalanobis(q: MultivariateNormal | LowRankMultivariateNormal, x: Tensor) -> Tensor:
    """Return the squared length of `x` under the covariance."""
    if isinstance(q, LowRankMultivariateNormal):
        covariance = q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag
        return _batch_lowrank_mahalanobis(*covariance, x, q._capacitance_tril)
    return _batch_mahalanobis(q._unbroadcasted_scale_tril, x)


def _trace_of_quotient(p: Any, q: MultivariateNormal | LowRankMultivariateNormal) -> Tensor:
    """Return the trace of the covariance of `p` times the inverse of that of `q`."""
    low_p = isinstance(p, LowRankMultivariateNormal)
    root = p._unbroadcasted_cov_factor if low_p else p._unbroadcasted_scale_tril
    if isinstance(q, LowRankMultivariateNormal):
        diagonal = q._unbroadcasted_cov_diag
        weighted = q._unbroadcasted_cov_factor.mT / diagonal.unsqueeze(-2)
        half = tl.linalg.solve_triangular(q._capacitance_tril, weighted, upper=False)
        trace = _batch_trace_XXT(root * diagonal.rsqrt().unsqueeze(-1)) - _batch_trace_XXT(half @ root)
        if low_p:
            own = p._unbroadcasted_cov_diag
            trace = trace + (own / diagonal).sum(-1) - _batch_trace_XXT(half * own.sqrt().unsqueeze(-2))
        return trace
    factor = q._unbroadcasted_scale_tril
    trace = _batch_trace_XXT(tl.linalg.solve_triangular(factor, root, upper=False))
    if low_p:
        deviations = p._unbroadcasted_cov_diag.sqrt().diag_embed()
        trace = trace + _batch_trace_XXT(tl.linalg.solve_triangular(factor, deviations, upper=False))
    return trace


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, MultivariateNormal)
def _kl_multivariatenormal_multivariatenormal(
    p: MultivariateNormal | LowRankMultivariateNormal, q: MultivariateNormal | LowRankMultivariateNormal
) -> Tensor:
    if p.event_shape != q.event_shape:
        low = [isinstance(d, LowRankMultivariateNormal) for d in (p, q)]
        kind = "Low Rank " if all(low) else "(Low Rank) " if any(low) else ""
        raise ValueError(
            f"KL-divergence between two {kind}Multivariate Normals with different event shapes cannot be computed"
        )
    lengths = _trace_of_quotient(p, q) + _mahalanobis(q, q.loc - p.loc)
    return 0.5 * (_log_det(q) - _log_det(p) + lengths - p.event_shape[0])


# ---------------------------------------------------------------------------------------------- of different families


def _infinite_like(tensor: Tensor) -> Tensor:
    return tl.full_like(tensor, tl.inf)


def _x_log_x(tensor: Tensor) -> Tensor:
    return tl.special.xlogy(tensor, tensor)


def _mean_log(p: Exponential | Gamma | Beta | Pareto | Uniform) -> Tensor:
    """Return the mean of the logarithm."""
    if isinstance(p, Exponential):
        return -euler_constant - p.rate.log()
    if isinstance(p, Gamma):
        return p.concentration.digamma() - p.rate.log()
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    return (_x_log_x(p.high) - _x_log_x(p.low)) / (p.high - p.low) - 1


def _mean_exp(p: Exponential | Gamma | Normal | Uniform, scale: Tensor) -> Tensor:
    """Return the mean of `exp(-x / scale)`."""
    if isinstance(p, Exponential):
        return p.rate / (p.rate + scale.reciprocal())
    if isinstance(p, Gamma):
        return (1 + (p.rate * scale).reciprocal()).pow(-p.concentration)
    if isinstance(p, Normal):
        return (0.5 * (p.scale / scale).pow(2) - p.loc / scale).exp()
    ends = tl.exp(-p.low / scale) - tl.exp(-p.high / scale)
    return scale * ends / (p.high - p.low)


def _mean_distance(p: Normal, loc: Tensor) -> Tensor:
    """Return the mean of `abs(x - loc)` of a normal variable."""
    z = (p.loc - loc) / p.scale
    density = math.sqrt(2 / math.pi) * (-0.5 * z.pow(2)).exp()
    return p.scale * (density + z * tl.erf(math.sqrt(0.5) * z))


def _expected_beta(p: Uniform, q: Beta) -> Tensor:
    both = q.concentration1 + q.concentration0
    rest = Uniform(1 - p.high, 1 - p.low, validate_args=False)
    constant = both.lgamma() - q.concentration1.lgamma() - q.concentration0.lgamma()
    return constant + (q.concentration1 - 1) * _mean_log(p) + (q.concentration0 - 1) * _mean_log(rest)


def _expected_gamma(p: Exponential | Gamma | Beta | Pareto | Uniform, q: Gamma) -> Tensor:
    shape = q.concentration
    return shape * q.rate.log() - shape.lgamma() + (shape - 1) * _mean_log(p) - q.rate * p.mean


def _expected_normal(p: Distribution, q: Normal) -> Tensor:
    square = p.variance + (p.mean - q.loc).pow(2)
    return -0.5 * math.log(2 * math.pi) - q.scale.log() - 0.5 * square / q.scale.pow(2)


def _expected_gumbel(p: Exponential | Gamma | Normal | Uniform, q: Gumbel) -> Tensor:
    shift = (q.loc - p.mean) / q.scale
    return shift - q.scale.log() - (q.loc / q.scale).exp() * _mean_exp(p, q.scale)


#: The mean of `log q` under `p`, by the class of `q`.
_EXPECTED: dict[type, Callable[[Any, Any], Tensor]] = {
    Beta: _expected_beta,
    ContinuousBernoulli: lambda p, q: (
        p.mean * q.logits + (-q.probs).log1p() + q._cont_bern_log_norm()
    ),
    Exponential: lambda p, q: q.rate.log() - q.rate * p.mean,
    Gamma: _expected_gamma,
    Gumbel: _expected_gumbel,
    Laplace: lambda p, q: -(2 * q.scale).log() - _mean_distance(p, q.loc) / q.scale,
    Normal: _expected_normal,
    Pareto: lambda p, q: q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * _mean_log(p),
    Poisson: lambda p, q: p.mean * q.rate.log() - q.rate,
    Uniform: lambda p, q: -(q.high - q.low).log(),
}  # fmt: skip


def _ends(d: Distribution) -> tuple[Any, Any]:
    """Return the least and the largest value that a distribution gives."""
    if isinstance(d, Uniform):
        return d.low, d.high
    if isinstance(d, Pareto):
        return d.scale, tl.inf
    if isinstance(d, (Beta, Bernoulli, ContinuousBernoulli)):
        return 0, 1
    if isinstance(d, (Exponential, Gamma, Poisson)):
        return 0, tl.inf
    return -tl.inf, tl.inf


def _cross(p: Distribution, q: Distribution) -> Tensor:
    """Return `-entropy(p) - E log q`, infinite where `p` gives values that `q` does not."""
    expected = next(_EXPECTED[kind] for kind in type(q).__mro__ if kind in _EXPECTED)
    result = -p.entropy() - expected(p, q)
    (low, high), (least, most) = _ends(p), _ends(q)
    outside = (low < least) | (high > most)
    if isinstance(outside, bool):
        return _infinite_like(result) if outside else result
    return result.masked_fill(outside, tl.inf)  # type: ignore[no-any-return]


def _cross_from_pareto(p: Pareto, q: Distribution) -> Tensor:
    """Return `_cross`, infinite where the tail is too heavy for the means that `q` needs."""
    heavy = p.alpha <= (2 if isinstance(q, Normal) else 1)
    lighter = Pareto(p.scale, tl.where(heavy, 3.0, p.alpha), validate_args=False)
    return _cross(lighter, q).masked_fill(heavy, tl.inf)


def _infinite(p: Distribution, q: Distribution) -> Tensor:
    """Return infinity: `p` always gives values that `q` does not."""
    return tl.full(p.batch_shape, tl.inf, dtype=p.mean.dtype, device=p.mean.device)


#: The pairs with finite divergences, by the class of `p`.
_CROSS: dict[type, tuple[type, ...]] = {
    Bernoulli: (Poisson,),
    Beta: (ContinuousBernoulli, Exponential, Gamma, Normal, Uniform),
    ContinuousBernoulli: (Exponential, Normal, Uniform),
    Exponential: (Gamma, Gumbel, Normal),
    Gamma: (Exponential, Gumbel, Normal),
    Gumbel: (Normal,),
    Laplace: (Normal,),
    Normal: (Gumbel, Laplace),
    Uniform: (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Normal, Pareto),
}

#: The pairs with infinite ones.
_INFINITE: dict[type, tuple[type, ...]] = {
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gumbel: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Laplace: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Normal: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}

_FROM_PARETO: dict[type, tuple[type, ...]] = {Pareto: (Exponential, Gamma, Normal)}

for _function, _pairs in ((_cross, _CROSS), (_cross_from_pareto, _FROM_PARETO), (_infinite, _INFINITE)):
    for _p, _others in _pairs.items():
        for _q in _others:
            register_kl(_p, _q)(_function)
register_kl(ContinuousBernoulli, ContinuousBernoulli)(_cross)
