"""Every distribution against PyTorch's: shapes, texts, moments, densities and their gradients, in both precisions."""

# ruff: noqa: B023 -- the functions of a loop are called in the turn that defines them

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest
import torch
import torch.distributions

import tensorlike as tl
from tests.helpers.distribution_cases import CASES

DTYPES = ("float32", "float64")
TOLERANCE = {"float32": 3e-5, "float64": 1e-9}
ATTRIBUTES = (
    "batch_shape", "event_shape", "mean", "mode", "variance", "stddev", "support", "param_shape", "has_rsample",
    "has_enumerate_support", "arg_constraints", "covariance_matrix", "precision_matrix", "scale_tril", "probs",
    "logits",
)  # fmt: skip

#: What PyTorch computes with fewer digits, by the name of the distribution.
ROUNDED = {
    "VonMises": "its Bessel functions are polynomials of seven digits",
    "Multinomial": "its entropy has a logarithm of a factorial in single precision",
}
#: Where PyTorch raises and tensorlike computes.
RAISES = {
    ("GeneralizedPareto", "float64"): "compares the concentration with a zero of single precision",
    ("Wishart", "rsample"): "its backward sees a tensor that was written in-place",
    ("Geometric", "param_shape"): "is left out, although the other distributions of probabilities have it",
}

each_case = pytest.mark.parametrize("case", CASES, ids=[f"{i}-{case.label}" for i, case in enumerate(CASES)])
each_dtype = pytest.mark.parametrize("dtype", DTYPES)


def answer(compute, library):
    """What a computation gives, as an array, or the type of its error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = compute(library)
    except (NotImplementedError, AttributeError, RuntimeError, TypeError, ValueError) as error:
        return type(error).__name__
    return value.detach().numpy() if hasattr(value, "detach") else value


def assert_same(case, compute, what="", dtype="float64"):
    theirs, ours = answer(compute, torch), answer(compute, tl)
    known = {(case.name, what), (case.name, dtype)} & RAISES.keys()
    if known and isinstance(theirs, str) and theirs.endswith("Error") and not isinstance(ours, str):
        return
    if isinstance(theirs, np.ndarray):
        assert isinstance(ours, np.ndarray), (what, ours)
        assert ours.dtype == theirs.dtype
        assert ours.shape == theirs.shape, what
        # Distributions of numbers alone are of single precision. PyTorch's inverse error function is a polynomial.
        wanted = TOLERANCE[str(theirs.dtype)] if theirs.dtype.kind == "f" else 0
        if case.name in ROUNDED or what == "icdf":
            wanted = max(wanted, 1e-6)
        np.testing.assert_allclose(ours, theirs, rtol=wanted, atol=wanted, err_msg=what)
    else:
        assert str(ours).replace("tensorlike", "torch") == str(theirs), what


def test_every_distribution_has_a_case():
    wanted = {
        name
        for name in torch.distributions.__all__
        if inspect.isclass(getattr(torch.distributions, name))
        and issubclass(getattr(torch.distributions, name), torch.distributions.Distribution)
    }
    assert wanted - {case.name for case in CASES} == {"Distribution", "ExponentialFamily"}


@each_case
@each_dtype
def test_attributes_and_values(case, dtype):
    for name in ATTRIBUTES:
        shown = repr if name in ("support", "arg_constraints") else lambda value: value
        assert_same(case, lambda library: shown(getattr(case.make(library, dtype), name)), name, dtype)
    for name in ("entropy", "perplexity", "__repr__", "enumerate_support"):
        assert_same(case, lambda library: getattr(case.make(library, dtype), name)(), name, dtype)
    assert_same(case, lambda library: case.make(library, dtype).enumerate_support(False), "enumerate_support", dtype)
    for name, values in (("log_prob", case.values), ("cdf", case.values), ("icdf", [0.1, 0.5, 0.9])):

        def compute(library):
            value = library.tensor(values, dtype=getattr(library, dtype))
            return getattr(case.make(library, dtype), name)(value)

        assert_same(case, compute, name, dtype)


def gradients(library, case, name, *arguments):
    parameters = case.tensors(library, "float64", grad=True)
    live = [value for value in parameters.values() if isinstance(value, library.Tensor)]
    if not live:
        return None
    given = [library.tensor(value, dtype=library.float64) for value in arguments]
    result = getattr(case.make(library, parameters=parameters), name)(*given)
    found = library.autograd.grad(result.sum(), live, allow_unused=True)
    return library.cat([library.zeros(1).double() if grad is None else grad.reshape(-1) for grad in found])


@each_case
def test_gradients_by_the_parameters(case):
    for name, arguments in (
        ("log_prob", (case.values,)), ("cdf", (case.values,)), ("entropy", ()), ("icdf", ([0.1, 0.5, 0.9],)),
    ):  # fmt: skip
        assert_same(case, lambda library: gradients(library, case, name, *arguments), name)
    for name in ("mean", "variance"):
        assert_same(case, lambda library: gradients_of_attribute(library, case, name), name)


def gradients_of_attribute(library, case, name):
    parameters = case.tensors(library, "float64", grad=True)
    live = [value for value in parameters.values() if isinstance(value, library.Tensor)]
    value = getattr(case.make(library, parameters=parameters), name)
    if not live or not value.requires_grad:
        return None
    found = library.autograd.grad(value.sum(), live, allow_unused=True)
    return library.cat([library.zeros(1).double() if grad is None else grad.reshape(-1) for grad in found])


@each_case
def test_shapes_of_samples_and_which_parameters_they_have_gradients_by(case):
    for sample_shape in ((), (2,), (4, 1)):

        def compute(library):
            drawn = case.make(library).sample(sample_shape)
            return tuple(drawn.shape), str(drawn.dtype), drawn.requires_grad

        assert_same(case, compute, "sample")

    def by(library):
        parameters = case.tensors(library, "float64", grad=True)
        drawn = case.make(library, parameters=parameters).rsample((2,))
        live = [value for value in parameters.values() if isinstance(value, library.Tensor)]
        found = library.autograd.grad(drawn.sum(), live, allow_unused=True) if live else []
        return tuple(drawn.shape), [grad is None for grad in found]

    assert_same(case, by, "rsample")


@each_case
def test_expanded(case):
    def compute(library):
        made = case.make(library)
        expanded = made.expand((2, *made.batch_shape))
        assert expanded.log_prob(library.tensor(case.values, dtype=library.float64)).shape[:1] == (2,)
        drawn = expanded.sample((3,))
        return (
            tuple(expanded.batch_shape), tuple(expanded.event_shape), type(expanded).__name__, tuple(drawn.shape),
            expanded._validate_args, repr(expanded),
        )  # fmt: skip

    assert_same(case, compute)

    def density(library):
        made = case.make(library)
        return made.expand((2, *made.batch_shape)).log_prob(library.tensor(case.values, dtype=library.float64))

    assert_same(case, density)


@each_case
def test_values_of_the_wrong_shape_and_outside_the_support(case):
    for value in ([[-0.5, 0.1, 7.0]] * 2, [0.5] * 5, float("nan"), "text"):

        def compute(library):
            made = case.make(library, validate_args=True)
            given = value if isinstance(value, str) else library.tensor(value, dtype=library.float64)
            try:
                return made.log_prob(given)
            except ValueError as error:
                return str(error)

        theirs, ours = answer(compute, torch), answer(compute, tl)
        if isinstance(theirs, str):
            assert theirs.split("\n")[0].rstrip(".") in str(ours).replace("tensorlike", "torch")
