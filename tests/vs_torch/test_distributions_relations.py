"""Divergences, constraints, transforms and errors of distributions, against PyTorch's."""

# ruff: noqa: B023 -- the functions of a loop are called in the turn that defines them

from __future__ import annotations

import math
import pickle
import warnings

import numpy as np
import pytest
import torch
import torch.distributions

import tensorlike as tl
from tests.helpers.distribution_cases import CASES

#: Two sets of parameters of each distribution that divergences are registered for.
PAIRS = {
    "Bernoulli": [{"probs": [0.2, 0.5, 0.0]}, {"probs": [0.3, 0.0, 0.6]}],
    "Beta": [
        {"concentration1": [1.5, 2.0], "concentration0": [0.5, 3.0]},
        {"concentration1": 2.0, "concentration0": [1.0, 4.0]},
    ],
    "Binomial": [{"total_count": [5.0, 6.0], "probs": [0.2, 0.6]}, {"total_count": [5.0, 4.0], "probs": [0.4, 0.5]}],
    "Categorical": [{"probs": [[0.2, 0.8, 0.0], [0.3, 0.3, 0.4]]}, {"probs": [[0.0, 0.5, 0.5], [0.1, 0.1, 0.8]]}],
    "Cauchy": [{"loc": [0.3, 1.0], "scale": [1.0, 2.0]}, {"loc": [0.0, 1.0], "scale": 0.5}],
    "ContinuousBernoulli": [{"probs": [0.2, 0.5]}, {"probs": [0.3, 0.9]}],
    "Dirichlet": [{"concentration": [[1.0, 2.0, 3.0]]}, {"concentration": [[0.5, 0.3, 4.0]]}],
    "Exponential": [{"rate": [0.5, 2.0]}, {"rate": [1.0, 0.3]}],
    "Gamma": [{"concentration": [1.5, 2.0], "rate": [0.5, 2.0]}, {"concentration": [0.5, 3.0], "rate": 1.0}],
    "Geometric": [{"probs": [0.2, 0.7]}, {"probs": [0.4, 0.3]}],
    "Gumbel": [{"loc": [0.3, 1.0], "scale": [1.0, 2.0]}, {"loc": [0.0, 1.0], "scale": [0.5, 1.5]}],
    "HalfNormal": [{"scale": [1.0, 2.0]}, {"scale": [0.5, 3.0]}],
    "Laplace": [{"loc": [0.3, 1.0], "scale": [1.0, 2.0]}, {"loc": [0.0, 1.0], "scale": 0.5}],
    "LowRankMultivariateNormal": [
        {"loc": [[0.3, 1.0, 2.0]], "cov_factor": [[1.0], [0.5], [-0.3]], "cov_diag": [1.0, 2.0, 0.5]},
        {"loc": [0.0, 0.1, 0.2], "cov_factor": [[0.1, 0.2], [0.3, 0.5], [1.0, 0.0]], "cov_diag": [[0.5, 1.0, 3.0]] * 2},
    ],
    "MultivariateNormal": [
        {"loc": [[0.3, 1.0, 2.0]], "scale_tril": [[1.0, 0.0, 0.0], [0.4, 0.9, 0.0], [-0.3, 0.2, 1.1]]},
        {"loc": [0.0, 0.1, 0.2], "covariance_matrix": [[[2.0, 0.5, 0.1], [0.5, 1.5, 0.0], [0.1, 0.0, 1.0]]] * 2},
    ],
    "Normal": [{"loc": [0.3, 1.0], "scale": [1.0, 2.0]}, {"loc": [0.0, 1.0], "scale": 0.5}],
    "OneHotCategorical": [{"probs": [[0.2, 0.8, 0.0]]}, {"logits": [[0.1, 0.5, -3.0]]}],
    "Pareto": [{"scale": [1.0, 2.0], "alpha": [2.5, 0.5]}, {"scale": [0.5, 3.0], "alpha": [1.0, 2.0]}],
    "Poisson": [{"rate": [0.5, 2.0]}, {"rate": [1.0, 0.3]}],
    "LogNormal": [{"loc": [0.3, 1.0], "scale": [1.0, 2.0]}, {"loc": [0.0, 1.0], "scale": 0.5}],
    "Uniform": [{"low": [0.1, 0.2], "high": [0.5, 0.9]}, {"low": [-1.0, 0.4], "high": [2.0, 0.8]}],
    "Wishart": [
        {"df": [4.0, 5.0], "covariance_matrix": [[2.0, 0.5], [0.5, 1.5]]},
        {"df": 3.5, "scale_tril": [[1.0, 0.0], [0.3, 0.7]]},
    ],
    "InverseGamma": [{"concentration": [1.5, 2.0], "rate": [0.5, 2.0]}, {"concentration": [0.5, 3.0], "rate": 1.0}],
}  # fmt: skip


def make(library, name, which, grad=False):
    parameters = {
        key: library.tensor(value, dtype=library.float64, requires_grad=grad) if isinstance(value, list) else value
        for key, value in PAIRS[name][which].items()
    }
    return getattr(library.distributions, name)(**parameters), parameters


def outcome(compute, library):
    """What a computation gives: an array, or the type and text of its error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = compute(library)
    except Exception as error:
        return f"{type(error).__name__}: {error}".replace("tensorlike", "torch")
    return value.detach().numpy() if hasattr(value, "detach") else value


def assert_same(compute, what=None, tolerance=1e-9):
    theirs, ours = outcome(compute, torch), outcome(compute, tl)
    if isinstance(theirs, np.ndarray):
        assert isinstance(ours, np.ndarray), (what, ours)
        assert ours.shape == theirs.shape, what
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance, err_msg=str(what))
    elif isinstance(theirs, str):
        # The text of broadcast_shapes is the library's own.
        first = "RuntimeError" if "broadcast" in theirs else theirs.split("\n")[0].rstrip(". ").split("  ")[0]
        assert first in " ".join(ours.split()), what
    else:
        assert str(ours).replace("tensorlike", "torch") == str(theirs), what


class TestDivergences:
    @pytest.mark.parametrize("name", sorted(PAIRS))
    def test_all_pairs_with(self, name):
        for other in PAIRS:

            def compute(library):
                return library.distributions.kl_divergence(make(library, name, 0)[0], make(library, other, 1)[0])

            theirs = outcome(compute, torch)
            if (name, other) == ("Wishart", "Wishart"):
                # PyTorch sums the term of `df` over the batch; the mean of the log ratio of 1e5 samples is 2.67.
                np.testing.assert_allclose(outcome(compute, tl)[0], 2.666917, rtol=1e-6)
            elif isinstance(theirs, str):
                assert outcome(compute, tl).split(":")[0] == theirs.split(":")[0], other
            else:
                assert_same(compute, (name, other))

    @pytest.mark.parametrize("name", sorted(PAIRS))
    def test_gradients_with(self, name):
        for other in PAIRS:

            def compute(library):
                p, first = make(library, name, 0, grad=True)
                q, second = make(library, other, 1, grad=True)
                live = [v for v in (*first.values(), *second.values()) if isinstance(v, library.Tensor)]
                divergence = library.distributions.kl_divergence(p, q)
                divergence = library.where(library.isfinite(divergence), divergence, library.zeros_like(divergence))
                found = library.autograd.grad(divergence.sum(), live, allow_unused=True)
                return library.cat([library.zeros(1).double() if g is None else g.reshape(-1) for g in found])

            theirs = outcome(compute, torch)
            if isinstance(theirs, np.ndarray) and np.isfinite(theirs).all():
                assert_same(compute, (name, other))

    def test_the_same_pairs_are_registered(self):
        def pairs(library):
            return {(p.__name__, q.__name__) for p, q in library.distributions.kl._KL_REGISTRY}

        assert pairs(tl) == pairs(torch)

    def test_independent_and_transformed(self):
        def compute(library):
            d = library.distributions
            p, q = (d.Independent(d.Normal(library.zeros(2, 3), s), 1) for s in (1.0, 2.0))
            return d.kl_divergence(p, q)

        assert_same(compute, tolerance=1e-6)

        def different(library):
            d = library.distributions
            p, q = (d.Independent(d.Normal(library.zeros(2, 3), 1.0), n) for n in (1, 2))
            return d.kl_divergence(p, q)

        assert outcome(different, tl).startswith("NotImplementedError")
        assert outcome(different, torch).startswith("NotImplementedError")

    def test_errors_of_registration(self):
        with pytest.raises(TypeError, match="Expected type_p to be a Distribution subclass but got"):
            tl.distributions.register_kl(3, tl.distributions.Normal)
        with pytest.raises(TypeError, match="Expected type_q to be a Distribution subclass but got"):
            tl.distributions.register_kl(tl.distributions.Normal, 3)

    def test_base_classes_that_are_no_distributions_are_taken(self):
        def compute(library):
            mixin = type("Mixin", (), {})
            p = type("P", (mixin, library.distributions.Distribution), {"arg_constraints": {}})
            library.distributions.register_kl(mixin, mixin)(lambda p, q: 7)
            return library.distributions.kl_divergence(p(), p())

        assert compute(tl) == compute(torch) == 7

    def test_ambiguous_functions_warn(self):
        def compute(library):
            d = library.distributions
            first = type("First", (d.Normal,), {})
            second = type("Second", (first,), {})
            registry, known = d.kl._KL_REGISTRY, dict(d.kl._KL_REGISTRY)
            try:
                d.register_kl(first, second)(lambda p, q: 1)
                d.register_kl(second, first)(lambda p, q: 2)
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    value = d.kl_divergence(second(0.0, 1.0), second(0.0, 1.0))
                return value, [(w.category, str(w.message)) for w in caught]
            finally:
                registry.clear()
                registry.update(known)
                d.kl._KL_MEMOIZE.clear()

        assert_same(compute)


CONSTRAINTS = {
    "boolean": lambda c, library: c.boolean,
    "one_hot": lambda c, library: c.one_hot,
    "integer_interval": lambda c, library: c.integer_interval(-1, 2),
    "nonnegative_integer": lambda c, library: c.nonnegative_integer,
    "positive_integer": lambda c, library: c.positive_integer,
    "_IntegerLessThan": lambda c, library: c._IntegerLessThan(1),
    "real": lambda c, library: c.real,
    "real_vector": lambda c, library: c.real_vector,
    "positive": lambda c, library: c.positive,
    "nonnegative": lambda c, library: c.nonnegative,
    "greater_than": lambda c, library: c.greater_than(0.5),
    "greater_than_eq": lambda c, library: c.greater_than_eq(library.tensor([0.5, 1.0])),
    "less_than": lambda c, library: c.less_than(0.5),
    "unit_interval": lambda c, library: c.unit_interval,
    "interval": lambda c, library: c.interval(-1.0, library.tensor([0.5, 1.0])),
    "half_open_interval": lambda c, library: c.half_open_interval(-1.0, 1.0),
    "simplex": lambda c, library: c.simplex,
    "multinomial": lambda c, library: c.multinomial(2),
    "lower_triangular": lambda c, library: c.lower_triangular,
    "lower_cholesky": lambda c, library: c.lower_cholesky,
    "corr_cholesky": lambda c, library: c.corr_cholesky,
    "square": lambda c, library: c.square,
    "symmetric": lambda c, library: c.symmetric,
    "positive_semidefinite": lambda c, library: c.positive_semidefinite,
    "positive_definite": lambda c, library: c.positive_definite,
    "cat": lambda c, library: c.cat([c.positive, c.unit_interval], -1, [1, 1]),
    "stack": lambda c, library: c.stack([c.positive, c.unit_interval], 0),
    "mixture": lambda c, library: c.MixtureSameFamilyConstraint(c.positive),
    "dependent": lambda c, library: c.dependent,
    "dependent(event_dim=1)": lambda c, library: c.dependent(event_dim=1, is_discrete=True),
}

MATRICES = [
    [[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.6, 0.8]], [[2.0, 0.5], [0.5, 1.0]], [[1.0, 1.0], [1.0, 1.0]],
    [[0.0, 1.0], [1.0, 0.0]], [[-1.0, 0.0], [0.3, 1.0]], [[0.2, 0.8], [0.5, 0.5]], [[2.0, -1.0], [float("nan"), 3.0]],
]  # fmt: skip


class TestConstraints:
    @pytest.mark.parametrize("name", sorted(CONSTRAINTS))
    def test_check_and_facts(self, name):
        def constraint(library):
            return CONSTRAINTS[name](library.distributions.constraints, library)

        assert_same(lambda library: repr(constraint(library)))
        for fact in ("event_dim", "is_discrete"):
            assert_same(lambda library: getattr(constraint(library), fact), fact)
        for matrix in MATRICES:
            assert_same(lambda library: constraint(library).check(library.tensor(matrix)), matrix)
        assert_same(lambda library: constraint(library).check(library.ones(3, 2)))
        assert_same(lambda library: library.distributions.constraints.is_dependent(constraint(library)))

    def test_names(self):
        assert set(tl.distributions.constraints.__all__) == set(torch.distributions.constraints.__all__)

    @pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
    @pytest.mark.parametrize("name", sorted(CONSTRAINTS))
    def test_transforms_to(self, registry, name):
        def transform(library):
            constraint = CONSTRAINTS[name](library.distributions.constraints, library)
            return getattr(library.distributions, registry)(constraint)

        assert_same(lambda library: repr(transform(library)))
        if not isinstance(outcome(lambda library: transform(library).bijective, torch), str):
            x = [[0.3, -0.2], [0.5, 1.5]] if name != "corr_cholesky" else [0.3, -0.2, 1.5]
            assert_same(lambda library: transform(library)(library.tensor(x, dtype=library.float64)))

    def test_registration_errors(self):
        assert_same(lambda library: library.distributions.biject_to.register(3, lambda c: c))


TRANSFORMS = {
    "AbsTransform": (lambda t, library: t.AbsTransform(), [0.3, -1.2]),
    "AffineTransform": (lambda t, library: t.AffineTransform(1.0, -2.0), [0.3, -1.2]),
    "AffineTransform of tensors": (
        lambda t, library: t.AffineTransform(
            library.tensor([1.0, 2.0]).double(), library.tensor([0.5, -2.0]).double(), 1
        ),
        [0.3, -1.2],
    ),
    "CatTransform": (
        lambda t, library: t.CatTransform([t.ExpTransform(), t.SigmoidTransform()], dim=-1, lengths=[1, 2]),
        [[0.3, -1.2, 2.0]] * 2,
    ),
    "ComposeTransform": (
        lambda t, library: t.ComposeTransform([t.AffineTransform(1.0, 2.0), t.StickBreakingTransform()]),
        [[0.3, -1.2]] * 2,
    ),
    "CorrCholeskyTransform": (lambda t, library: t.CorrCholeskyTransform(), [[0.3, -1.2, 0.5]]),
    "CumulativeDistributionTransform": (
        lambda t, library: t.CumulativeDistributionTransform(
            library.distributions.Normal(library.tensor(0.5).double(), 1.0)
        ),
        [0.3, -1.2],
    ),
    "ExpTransform": (lambda t, library: t.ExpTransform(), [0.3, -1.2]),
    "IndependentTransform": (lambda t, library: t.IndependentTransform(t.ExpTransform(), 1), [[0.3, -1.2]] * 2),
    "LowerCholeskyTransform": (lambda t, library: t.LowerCholeskyTransform(), [[0.3, -1.2], [0.5, 0.1]]),
    "PositiveDefiniteTransform": (lambda t, library: t.PositiveDefiniteTransform(), [[0.3, -1.2], [0.5, 0.1]]),
    "PowerTransform": (lambda t, library: t.PowerTransform(library.tensor([2.0, 0.5]).double()), [0.3, 1.2]),
    "ReshapeTransform": (lambda t, library: t.ReshapeTransform((2, 2), (4,)), [[[0.3, -1.2], [0.5, 0.1]]] * 3),
    "SigmoidTransform": (lambda t, library: t.SigmoidTransform(), [0.3, -1.2, 40.0, -800.0]),
    "SoftmaxTransform": (lambda t, library: t.SoftmaxTransform(), [[0.3, -1.2]]),
    "SoftplusTransform": (lambda t, library: t.SoftplusTransform(), [0.3, -1.2, 30.0]),
    "StackTransform": (
        lambda t, library: t.StackTransform([t.ExpTransform(), t.TanhTransform()], dim=0), [[0.3, -1.2], [0.5, 0.1]],
    ),
    "StickBreakingTransform": (lambda t, library: t.StickBreakingTransform(), [[0.3, -1.2]]),
    "TanhTransform": (lambda t, library: t.TanhTransform(), [0.3, -1.2]),
    "identity_transform": (lambda t, library: t.identity_transform, [0.3, -1.2]),
}  # fmt: skip


class TestTransforms:
    def test_every_transform_has_a_case(self):
        assert set(torch.distributions.transforms.__all__) - {"Transform"} == {
            name for name in TRANSFORMS if " " not in name
        }

    @pytest.mark.parametrize("name", sorted(TRANSFORMS))
    @pytest.mark.parametrize("cache_size", [0, 1])
    def test_values_inverses_and_jacobians(self, name, cache_size):
        build, values = TRANSFORMS[name]

        def made(library):
            transform = build(library.distributions.transforms, library)
            return transform if name == "identity_transform" else transform.with_cache(cache_size)

        def x(library):
            return library.tensor(values, dtype=library.float64)

        assert_same(lambda library: made(library)(x(library)))
        assert_same(lambda library: made(library).inv(made(library)(x(library))))
        assert_same(lambda library: made(library).log_abs_det_jacobian(x(library), made(library)(x(library))))
        assert_same(lambda library: made(library).inv.log_abs_det_jacobian(made(library)(x(library)), x(library)))
        for fact in ("domain", "codomain", "bijective", "sign", "event_dim"):
            theirs = outcome(lambda library: getattr(made(library), fact), torch)
            ours = outcome(lambda library: getattr(made(library), fact), tl)
            if isinstance(theirs, str) and "Error" in theirs:
                assert ours.split(":")[0] == theirs.split(":")[0], fact
            else:
                assert str(ours) == str(theirs), fact
        assert_same(lambda library: repr(made(library)))
        assert_same(lambda library: repr(made(library).inv))
        for shape in ((), (3,), (2, 2), (4,), (6,), (3, 2, 2)):
            for which in ("forward_shape", "inverse_shape"):
                assert_same(lambda library: tuple(getattr(made(library), which)(shape)), (which, shape))

    @pytest.mark.parametrize("name", sorted(TRANSFORMS))
    def test_equality_inverse_and_pickle(self, name):
        build, values = TRANSFORMS[name]

        def compute(library):
            first, second = (build(library.distributions.transforms, library) for _ in range(2))
            return first == second, first != second, first.inv == second.inv, first.inv.inv is first, first == 3

        assert_same(compute)
        transform = build(tl.distributions.transforms, tl)
        x = tl.tensor(values).double()
        assert tl.equal(pickle.loads(pickle.dumps(transform))(x), transform(x))

    def test_errors(self):
        for compute in (
            lambda t: t.ExpTransform(cache_size=2),
            lambda t: t.ReshapeTransform((2, 3), (5,)),
            lambda t: t.SoftmaxTransform().event_dim,
            lambda t: t.CorrCholeskyTransform().event_dim,
            lambda t: t.CatTransform([3]),
            lambda t: t.StackTransform([t.ExpTransform()], dim=3)(t.tl.ones(2)),
        ):

            def run(library):
                transforms = library.distributions.transforms
                holder = type("T", (), {**vars(transforms), "tl": library})
                return compute(holder)

            assert_same(run)


class TestUtilities:
    def test_triangular_matrices(self):
        for diag in (-1, 0, 1):
            assert_same(lambda library: library.distributions.utils.tril_matrix_to_vec(library.eye(3) + 1, diag))
            for count in (1, 3, 6, 8):
                assert_same(
                    lambda library: library.distributions.utils.vec_to_tril_matrix(library.arange(1.0, count + 1), diag)
                )
        assert_same(lambda library: library.distributions.utils.tril_matrix_to_vec(library.eye(3), 3))

    def test_broadcasting_and_probabilities(self):
        for values in ((1, 2.0), ("a", 1.0)):
            assert_same(lambda library: [str(x) for x in library.distributions.utils.broadcast_all(*values)])
        for binary in (False, True):
            for probs in ([0.0, 1.0], [0.3, 0.7]):
                assert_same(
                    lambda library: library.distributions.utils.probs_to_logits(library.tensor(probs).double(), binary)
                )
                assert_same(
                    lambda library: library.distributions.utils.logits_to_probs(library.tensor(probs).double(), binary)
                )


WRONG = [
    ("Normal", {"loc": [0.0], "scale": [-1.0]}),
    ("Normal", {"loc": [math.nan], "scale": [1.0]}),
    ("Uniform", {"low": [2.0], "high": [1.0]}),
    ("Bernoulli", {}),
    ("Bernoulli", {"probs": [0.5], "logits": [0.5]}),
    ("Bernoulli", {"probs": [1.5]}),
    ("Bernoulli", {"probs": "text"}),
    ("Categorical", {"probs": 0.5}),
    ("Categorical", {"probs": [-0.5, 1.0]}),
    ("Geometric", {"probs": [0.0]}),
    ("Binomial", {"total_count": [-1.0], "probs": [0.5]}),
    ("Multinomial", {"total_count": [1.0], "probs": [0.5, 0.5]}),
    ("Dirichlet", {"concentration": [-1.0, 1.0]}),
    ("LKJCholesky", {"dim": 1}),
    ("MultivariateNormal", {"loc": [0.0, 1.0]}),
    ("MultivariateNormal", {"loc": [0.0, 1.0], "scale_tril": [1.0, 1.0]}),
    ("MultivariateNormal", {"loc": [0.0, 1.0], "covariance_matrix": [[1.0, 2.0], [2.0, 1.0]]}),
    ("LowRankMultivariateNormal", {"loc": [0.0, 1.0], "cov_factor": [1.0], "cov_diag": [1.0]}),
    ("LowRankMultivariateNormal", {"loc": [0.0, 1.0], "cov_factor": [[1.0]], "cov_diag": [1.0]}),
    ("LowRankMultivariateNormal", {"loc": [0.0, 1.0], "cov_factor": [[1.0], [1.0]], "cov_diag": [1.0]}),
    ("Wishart", {"df": 0.5, "covariance_matrix": [[1.0, 0.0], [0.0, 1.0]]}),
    ("Wishart", {"df": 3.0}),
    ("ContinuousBernoulli", {"probs": [1.5], "validate_args": True}),
    ("VonMises", {"loc": [1.0], "concentration": [-1.0]}),
    ("NegativeBinomial", {"total_count": [1.0], "probs": [1.0]}),
]


@pytest.mark.parametrize("name, parameters", WRONG, ids=[f"{i}-{name}" for i, (name, _) in enumerate(WRONG)])
def test_errors_of_parameters(name, parameters):
    def compute(library):
        given = {}
        for key, value in parameters.items():
            given[key] = library.tensor(value) if isinstance(value, (list, float)) and key != "df" else value
        return str(getattr(library.distributions, name)(**given))

    theirs, ours = outcome(compute, torch), outcome(compute, tl)
    assert "Error" in theirs.split(":")[0]
    assert ours.split(":")[0] == theirs.split(":")[0]
    assert " ".join(theirs.split("\n")[0].split()).rstrip(".") in " ".join(ours.split())


def test_validation_is_switched():
    def compute(library):
        d = library.distributions
        d.Distribution.set_default_validate_args(False)
        try:
            unchecked = str(d.Normal(0.0, -1.0))
        finally:
            d.Distribution.set_default_validate_args(True)
        return unchecked, str(d.Normal(0.0, -1.0, validate_args=False))

    assert_same(compute)
    assert outcome(lambda library: library.distributions.Distribution.set_default_validate_args(3), tl).startswith(
        "ValueError"
    )


def test_subclasses():
    def compute(library):
        d = library.distributions

        class Plain(d.Normal):
            pass

        class Custom(d.Normal):
            def __init__(self, loc):
                super().__init__(loc, 1.0)

        class Bare(d.Distribution):
            arg_constraints = {}

        return [
            type(Plain(0.0, 1.0).expand((2,))).__name__,
            outcome(lambda _: Custom(0.0).expand((2,)), library),
            outcome(lambda _: repr(Bare()), library),
            outcome(lambda _: Bare().log_prob(library.ones(1)), library).split(":")[0],
            outcome(lambda _: Bare().support, library).split(":")[0],
        ]

    assert_same(compute)


def test_distributions_survive_pickle():
    for case in CASES:
        made = case.make(tl)
        again = pickle.loads(pickle.dumps(made))
        assert repr(again) == repr(made)
        value = tl.tensor(case.values, dtype=tl.float64)
        np.testing.assert_array_equal(again.log_prob(value).numpy(), made.log_prob(value).numpy())
