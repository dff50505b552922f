"""Densities, moments and divergences of distributions by identities, and what their constraints and caches promise."""

from __future__ import annotations

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import distributions as d
from tensorlike.distributions import constraints, transforms
from tests.helpers.distribution_cases import CASES

each_case = pytest.mark.parametrize("case", CASES, ids=[f"{i}-{case.label}" for i, case in enumerate(CASES)])


@each_case
def test_densities_integrate_to_differences_of_the_cdf(case):
    made = case.make(tl)
    try:
        quantiles = made.icdf(tl.tensor([[0.2], [0.7]], dtype=tl.float64).expand((2, *(made.batch_shape or (1,)))))
    except NotImplementedError:
        return
    lower, upper = quantiles.detach().double()
    np.testing.assert_allclose((made.cdf(upper) - made.cdf(lower)).numpy(), 0.5, atol=1e-5)
    grid = lower + (upper - lower) * tl.linspace(0, 1, 20_001, dtype=tl.float64).unsqueeze(-1)
    integral = tl.trapezoid(made.log_prob(grid).exp().double(), grid, dim=0)
    np.testing.assert_allclose(integral.numpy(), 0.5, atol=2e-4)


@each_case
def test_probabilities_of_all_values_sum_to_one(case):
    made = case.make(tl)
    if not made.has_enumerate_support:
        with pytest.raises(NotImplementedError):
            made.enumerate_support()
        return
    if case.name == "Binomial" and isinstance(case.parameters["total_count"], list):
        for compute in (made.enumerate_support, made.entropy):
            with pytest.raises(NotImplementedError, match="Inhomogeneous total count"):
                compute()
        return
    values = made.enumerate_support()
    assert values.shape[1:] == made.batch_shape + made.event_shape
    np.testing.assert_allclose(made.log_prob(values).exp().sum(0).numpy(), 1, rtol=1e-5)
    np.testing.assert_allclose(
        -(made.log_prob(values).exp() * made.log_prob(values).clamp(min=-1e3)).sum(0).numpy(),
        made.entropy().numpy(), rtol=1e-4, atol=1e-6,
    )  # fmt: skip
    narrow = made.enumerate_support(expand=False)
    assert narrow.shape[1:] == (1,) * len(made.batch_shape) + made.event_shape


FAMILIES = [case for case in CASES if isinstance(case.make(tl), d.ExponentialFamily)]


@pytest.mark.parametrize("case", FAMILIES, ids=lambda case: case.label)
def test_entropies_of_exponential_families_are_those_of_the_log_normalizer(case):
    made = case.make(tl)
    try:
        general = d.ExponentialFamily.entropy(made)
    except NotImplementedError:
        # The mean of the carrier measure is not known.
        return
    try:
        np.testing.assert_allclose(general.detach().numpy(), made.entropy().detach().numpy(), rtol=2e-4, atol=1e-5)
    except AssertionError:
        assert case.name == "Poisson"


def test_divergences_are_means_of_log_ratios():
    tl.manual_seed(5)
    pairs = [
        (d.Gamma(2.0, 3.0), d.Gumbel(0.3, 1.2)),
        (d.Uniform(0.2, 0.7), d.Beta(2.0, 3.0)),
        (d.Uniform(1.5, 2.0), d.Pareto(1.0, 3.0)),
        (d.Normal(0.5, 1.0), d.Laplace(0.0, 2.0)),
        (d.Exponential(3.0), d.Normal(0.0, 1.0)),
        (d.Pareto(1.0, 9.0), d.Gamma(2.0, 1.0)),
        (d.Beta(2.0, 3.0), d.ContinuousBernoulli(0.7)),
        (d.Gumbel(0.0, 0.5), d.Normal(0.0, 1.0)),
    ]
    for p, q in pairs:
        x = p.sample((50_000,))
        ratios = p.log_prob(x) - q.log_prob(x)
        error = 5 * ratios.std() / len(ratios) ** 0.5
        assert (ratios.mean() - d.kl_divergence(p, q)).abs() < error + 1e-5, (p, q)


def test_divergences_of_subclasses_use_the_nearest_function():
    class Mine(d.Normal):
        pass

    assert d.kl_divergence(Mine(0.0, 1.0), d.Normal(1.0, 1.0)) == 0.5
    with pytest.raises(NotImplementedError, match="p type Normal and q type Cauchy"):
        d.kl_divergence(d.Normal(0.0, 1.0), d.Cauchy(0.0, 1.0))


class TestCaches:
    def test_the_inverse_returns_the_very_origin(self):
        for transform in (transforms.ExpTransform(cache_size=1), transforms.SigmoidTransform().with_cache()):
            x = tl.tensor([0.3, 40.0])
            y = transform(x)
            assert transform.inv(y) is x
            assert transform(x) is y
        uncached = transforms.ExpTransform()
        assert uncached.inv(uncached(x)) is not x

    def test_inverses_of_compositions(self):
        composed = transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(1.0, 2.0)])
        assert composed.inv.inv is composed
        x = tl.tensor([0.5])
        np.testing.assert_allclose(composed.inv(composed(x)).numpy(), [0.5], rtol=1e-6)
        assert composed.inv.with_cache(1)._cache_size == 1

    def test_transforms_that_take_arguments_say_how_to_cache_them(self):
        class Shift(transforms.Transform):
            def __init__(self, by):
                super().__init__()
                self.by = by

        with pytest.raises(NotImplementedError, match="with_cache is not implemented"):
            Shift(1).with_cache()
        with pytest.raises(NotImplementedError, match="does not implement _call"):
            Shift(1)(tl.ones(1))


def test_values_of_registered_transforms_satisfy_their_constraints():
    tl.manual_seed(0)
    for registry in (d.biject_to, d.transform_to):
        for constraint in (
            constraints.positive, constraints.nonnegative, constraints.greater_than(2.0), constraints.less_than(-1.0),
            constraints.interval(-2.0, 5.0), constraints.half_open_interval(0.0, 1.0), constraints.unit_interval,
            constraints.simplex, constraints.real_vector, constraints.independent(constraints.positive, 2),
            constraints.stack([constraints.positive, constraints.real], 0),
        ):  # fmt: skip
            transform = registry(constraint)
            x = tl.randn(2, 4, dtype=tl.float64)
            y = transform(x)
            assert bool(constraint.check(y).all()), constraint
            if registry is d.biject_to:
                np.testing.assert_allclose(transform.inv(y).numpy(), x.numpy(), rtol=1e-6)
    correlation = d.biject_to(constraints.corr_cholesky)(tl.randn(3, 6, dtype=tl.float64))
    assert bool(constraints.corr_cholesky.check(correlation).all())
    definite = d.transform_to(constraints.positive_definite)(tl.randn(3, 4, 4, dtype=tl.float64))
    assert bool(constraints.positive_definite.check(definite).all())
    with pytest.raises(NotImplementedError, match="Cannot transform _Boolean constraints"):
        d.biject_to(constraints.boolean)


def test_jacobians_are_those_of_autograd():
    x = tl.tensor([0.3, -0.7, 1.2], dtype=tl.float64)
    for transform in (
        transforms.StickBreakingTransform(), transforms.SoftplusTransform(), transforms.TanhTransform(),
        transforms.SigmoidTransform(), transforms.AffineTransform(1.0, -3.0),
    ):  # fmt: skip
        y = transform(x)
        matrix = tl.func.jacrev(transform)(x)[: len(x)]
        expected = tl.linalg.slogdet(matrix).logabsdet
        volume = transform.log_abs_det_jacobian(x, y).sum()
        np.testing.assert_allclose(volume.item(), expected.item(), rtol=1e-9)
    transform = transforms.CorrCholeskyTransform()
    rows, columns = tl.tril_indices(3, 3, -1)
    matrix = tl.func.jacrev(transform)(x)[rows, columns]
    volume = transform.log_abs_det_jacobian(x, transform(x))
    np.testing.assert_allclose(volume.item(), tl.linalg.slogdet(matrix).logabsdet.item(), rtol=1e-9)


def test_a_distribution_that_declares_nothing_warns():
    class Bare(d.Distribution):
        pass

    with pytest.warns(UserWarning, match="does not define `arg_constraints`"):
        Bare()
    bare = Bare(validate_args=False)
    for name in ("mean", "mode", "variance", "stddev"):
        with pytest.raises(NotImplementedError):
            getattr(bare, name)
    for name in ("rsample", "entropy", "enumerate_support", "perplexity", "sample"):
        with pytest.raises(NotImplementedError):
            getattr(bare, name)()

    class WithoutSupport(d.Distribution):
        arg_constraints = {}

        def log_prob(self, value):
            self._validate_sample(value)
            return value

    with pytest.warns(UserWarning, match="does not define `support`"):
        WithoutSupport().log_prob(tl.ones(1))
    with pytest.warns(FutureWarning, match="sample_n"):
        assert d.Normal(0.0, 1.0).sample_n(3).shape == (3,)


def test_lazy_properties_are_computed_with_gradients():
    probs = tl.tensor([0.3, 0.7], requires_grad=True)
    made = d.Bernoulli(probs)
    with tl.no_grad():
        logits = made.logits
    assert logits.requires_grad
    assert made.logits is logits
    assert isinstance(d.Bernoulli.logits, property)
