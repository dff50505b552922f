"""Samples of distributions: their statistics, and the gradients that they have by their parameters.

The seeds are fixed, so that a statistic that is too far off is so in every run.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

import tensorlike as tl
from tensorlike import distributions as d
from tests.helpers.distribution_cases import CASES

COUNT = 20_000


@pytest.fixture(autouse=True)
def seed():
    tl.manual_seed(20)


def finite(tensor):
    return bool(tl.isfinite(tensor).all())


@pytest.mark.parametrize("case", CASES, ids=[f"{i}-{case.label}" for i, case in enumerate(CASES)])
def test_mean_variance_and_support_of_samples(case):
    made = case.make(tl)
    drawn = made.sample((COUNT,)).detach()
    assert bool(made.support.check(drawn).all())
    try:
        mean, variance = made.mean.detach(), made.variance.detach()
    except NotImplementedError:
        return
    if case.name in ("VonMises", "Categorical"):
        # Of angles and indices these are no moments of the samples.
        return
    known = tl.isfinite(mean) & tl.isfinite(variance)
    errors = (drawn.mean(0) - mean).abs() / (variance / COUNT + 1e-12).sqrt()
    assert bool((errors[known] < 5).all()), errors
    # Where the fourth moment is moderate, the variance is that of the samples.
    moderate = known & ((drawn - mean).pow(4).mean(0) < 60 * variance**2)
    ratios = (drawn.var(0) - variance).abs() / (variance + 1e-9)
    assert bool((ratios[moderate] < 0.3).all()), ratios


#: SciPy's distributions of the same samples.
REFERENCES = [
    (d.Beta(2.0, 0.7), stats.beta(2.0, 0.7)),
    (d.Beta(tl.tensor(0.3).double(), 0.4), stats.beta(0.3, 0.4)),
    (d.Cauchy(1.0, 2.0), stats.cauchy(1.0, 2.0)),
    (d.Chi2(3.0), stats.chi2(3.0)),
    (d.Exponential(2.0), stats.expon(scale=0.5)),
    (d.FisherSnedecor(4.0, 7.0), stats.f(4.0, 7.0)),
    (d.Gamma(0.1, 2.0), stats.gamma(0.1, scale=0.5)),
    (d.Gamma(9.0, 2.0), stats.gamma(9.0, scale=0.5)),
    (d.GeneralizedPareto(0.0, 1.0, 0.3), stats.genpareto(0.3)),
    (d.GeneralizedPareto(0.0, 1.0, -0.3), stats.genpareto(-0.3)),
    (d.Gumbel(1.0, 2.0), stats.gumbel_r(1.0, 2.0)),
    (d.HalfCauchy(2.0), stats.halfcauchy(scale=2.0)),
    (d.HalfNormal(2.0), stats.halfnorm(scale=2.0)),
    (d.InverseGamma(3.0, 2.0), stats.invgamma(3.0, scale=2.0)),
    (d.Laplace(1.0, 2.0), stats.laplace(1.0, 2.0)),
    (d.LogNormal(0.5, 0.8), stats.lognorm(0.8, scale=math.exp(0.5))),
    (d.Normal(1.0, 2.0), stats.norm(1.0, 2.0)),
    (d.Pareto(2.0, 3.0), stats.pareto(3.0, scale=2.0)),
    (d.StudentT(3.0, 1.0, 2.0), stats.t(3.0, 1.0, 2.0)),
    (d.Uniform(-1.0, 3.0), stats.uniform(-1.0, 4.0)),
    (d.VonMises(0.4, 1.5), stats.vonmises(1.5, loc=0.4)),
    (d.VonMises(0.0, 1e-7), stats.uniform(-math.pi, 2 * math.pi)),
    (d.Weibull(2.0, 1.5), stats.weibull_min(1.5, scale=2.0)),
]


@pytest.mark.parametrize("made, reference", REFERENCES, ids=lambda value: type(value).__name__)
def test_samples_have_the_distribution_of_scipy(made, reference):
    # One angle is as good as another that is a whole turn away.
    drawn = made.sample((COUNT,)).double().numpy()
    if isinstance(made, d.VonMises):
        lower = made.loc.item() - math.pi
        drawn = lower + (drawn - lower) % (2 * math.pi)
    assert stats.kstest(drawn, reference.cdf).pvalue > 1e-4


@pytest.mark.parametrize(
    "made, reference",
    [
        (d.Binomial(7, 0.3), stats.binom(7, 0.3)),
        (d.Poisson(2.5), stats.poisson(2.5)),
        (d.NegativeBinomial(2.5, 0.6), stats.nbinom(2.5, 0.4)),
        (d.Geometric(0.3), stats.geom(0.3, loc=-1)),
        (d.Bernoulli(0.3), stats.bernoulli(0.3)),
    ],
)
def test_counts_have_the_distribution_of_scipy(made, reference):
    drawn = made.sample((COUNT,)).numpy()
    values = np.arange(12)
    expected = reference.pmf(values) * COUNT
    found = np.array([(drawn == value).sum() for value in values])
    assert (np.abs(found - expected) < 5 * np.sqrt(expected) + 5).all()
    logarithms = made.log_prob(tl.tensor(values[: int(drawn.max()) + 1]).float()).numpy()
    np.testing.assert_allclose(logarithms, reference.logpmf(values)[: len(logarithms)], rtol=1e-4)


def test_multinomial_and_categorical_counts():
    probs = tl.tensor([0.1, 0.6, 0.3])
    drawn = d.Categorical(probs).sample((COUNT,))
    shares = tl.stack([(drawn == index).double().mean() for index in range(3)])
    assert (shares - probs).abs().max() < 0.02
    counts = d.Multinomial(10, probs).sample((COUNT,))
    assert bool((counts.sum(-1) == 10).all())
    covariance = tl.cov(counts.T.double())
    expected = 10 * (tl.diag(probs) - tl.outer(probs, probs))
    assert (covariance - expected).abs().max() < 0.15


def test_vectors_and_matrices():
    covariance = tl.tensor([[2.0, 0.5], [0.5, 1.0]], dtype=tl.float64)
    for normal in (
        d.MultivariateNormal(tl.ones(2, dtype=tl.float64), covariance),
        d.MultivariateNormal(tl.ones(2, dtype=tl.float64), precision_matrix=covariance.inverse()),
        d.LowRankMultivariateNormal(
            tl.ones(2, dtype=tl.float64), tl.tensor([[1.0], [0.5]]).double(), tl.tensor([1.0, 0.75]).double()
        ),
    ):
        drawn = normal.sample((COUNT,))
        assert (tl.cov(drawn.T) - covariance).abs().max() < 0.08
        assert (drawn.mean(0) - 1).abs().max() < 0.05
    correlations = d.LKJCholesky(3, 2.0).sample((COUNT,))
    correlations = correlations @ correlations.mT
    # The marginals of correlations are beta distributions on [-1, 1].
    marginal = stats.beta(2.5, 2.5, loc=-1, scale=2)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert stats.kstest(correlations[:, i, j].double().numpy(), marginal.cdf).pvalue > 1e-4


@pytest.mark.parametrize("dtype", [tl.float32, tl.float64])
@pytest.mark.parametrize("concentration", [0.01, 0.3, 1.0, 4.0, 30.0, 2e3])
def test_gradient_of_gamma_draws_is_that_of_the_quantile(concentration, dtype):
    quantiles = np.array([0.02, 0.3, 0.5, 0.9, 0.999])
    drawn = special.gammaincinv(concentration, quantiles)
    step = 1e-5 * concentration
    expected = (
        special.gammaincinv(concentration + step, quantiles) - special.gammaincinv(concentration - step, quantiles)
    ) / (2 * step)
    kept = drawn > 1e-30
    draws = tl.tensor(drawn[kept], dtype=dtype)
    found = tl._standard_gamma_grad(tl.full_like(draws, concentration), draws)
    assert found.dtype == dtype
    # A draw of single precision stands for a neighbouring quantile.
    np.testing.assert_allclose(found.numpy(), expected[kept], rtol=2e-5 if dtype is tl.float64 else 2e-2)


@pytest.mark.parametrize("a, b", [(0.3, 0.5), (1.0, 1.0), (2.0, 7.0), (40.0, 3.0), (500.0, 800.0)])
def test_gradient_of_dirichlet_draws_is_that_of_the_quantile(a, b):
    quantiles = np.array([0.02, 0.3, 0.5, 0.9, 0.99])
    drawn = special.betaincinv(a, b, quantiles)
    step = 1e-5 * a
    slope = (special.betaincinv(a + step, b, quantiles) - special.betaincinv(a - step, b, quantiles)) / (2 * step)
    draws = tl.tensor(drawn)
    found = tl._dirichlet_grad(draws, tl.full_like(draws, a), tl.full_like(draws, a + b))
    np.testing.assert_allclose(found.numpy(), slope / (1 - drawn), rtol=3e-5)


def test_gradients_of_samples_are_those_of_means():
    concentration = tl.tensor([0.5, 2.0, 9.0], dtype=tl.float64, requires_grad=True)
    rate = tl.tensor([1.0, 2.0, 3.0], dtype=tl.float64, requires_grad=True)
    d.Gamma(concentration, rate).rsample((COUNT,)).mean(0).sum().backward()
    np.testing.assert_allclose(concentration.grad.numpy(), 1 / rate.detach().numpy(), rtol=0.05)
    expected = -concentration.detach().numpy() / rate.detach().numpy() ** 2
    np.testing.assert_allclose(rate.grad.numpy(), expected, rtol=0.05)

    weights = tl.tensor([1.0, -2.0, 0.5], dtype=tl.float64)
    concentration = tl.tensor([0.7, 2.0, 3.0], dtype=tl.float64, requires_grad=True)
    (d.Dirichlet(concentration).rsample((COUNT,)) * weights).sum(-1).mean().backward()
    again = concentration.detach().requires_grad_()
    (d.Dirichlet(again).mean * weights).sum().backward()
    np.testing.assert_allclose(concentration.grad.numpy(), again.grad.numpy(), atol=0.01)

    df = tl.tensor([5.0], dtype=tl.float64, requires_grad=True)
    d.StudentT(df).rsample((4 * COUNT,)).pow(2).mean().backward()
    # Of the variance df / (df - 2).
    assert abs(df.grad.item() + 2 / 9) < 0.05


def test_tiny_concentrations_give_no_nan():
    for dtype in (tl.float32, tl.float64):
        tiny = tl.full((100, 4), 1e-5, dtype=dtype, requires_grad=True)
        drawn = d.Dirichlet(tiny).rsample()
        assert bool((drawn > 0).all())
        assert bool((drawn < 1).all())
        assert (drawn.detach().sum(-1) - 1).abs().max() < 1e-5
        drawn.sum().backward()
        assert finite(tiny.grad)
        gamma = d.Gamma(tiny, 1.0).rsample()
        assert bool((gamma > 0).all())
        assert finite(tl.autograd.grad(gamma.sum(), tiny)[0])


def test_the_operations_of_gamma_draws_refuse():
    for call in (
        lambda: tl._standard_gamma(tl.tensor([1, 2])),
        lambda: tl._standard_gamma(tl.tensor([1.0], dtype=tl.float16)),
        lambda: tl._sample_dirichlet(tl.tensor([1, 2])),
    ):
        with pytest.raises(NotImplementedError, match="not implemented for"):
            call()
    with pytest.raises(RuntimeError, match="Found dtype Double but expected Float"):
        tl._standard_gamma_grad(tl.ones(2), tl.ones(2, dtype=tl.float64))
    with pytest.raises(RuntimeError, match="Found dtype Double but expected Float"):
        tl._dirichlet_grad(tl.ones(2), tl.ones(2, dtype=tl.float64), tl.ones(2))
    concentration = tl.ones(2, requires_grad=True)
    with pytest.raises(NotImplementedError, match="_standard_gamma_grad"):
        tl._standard_gamma_grad(concentration, tl.ones(2)).sum().backward()


def test_generators_and_seeds():
    concentration = tl.full((5,), 2.0)
    first = tl._standard_gamma(concentration, tl.Generator().manual_seed(3))
    assert tl.equal(first, tl._standard_gamma(concentration, tl.Generator().manual_seed(3)))
    tl.manual_seed(1)
    sample = d.Beta(2.0, 3.0).sample((4,))
    tl.manual_seed(1)
    assert tl.equal(sample, d.Beta(2.0, 3.0).sample((4,)))
