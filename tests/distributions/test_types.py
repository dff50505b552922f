"""Distributions of tensors of overriding types, under modes, under vmap and inside other transforms."""

from __future__ import annotations

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import distributions as d
from tensorlike.dispatch import TorchFunctionMode
from tests.helpers.distribution_cases import CASES


class Marked(tl.Tensor):
    """A subclass that keeps its type, as subclasses do."""


#: Distributions whose samples are indices or ones made from draws without the type.
INDICES = ("Categorical",)
each_case = pytest.mark.parametrize("case", CASES, ids=[f"{i}-{case.label}" for i, case in enumerate(CASES)])


def marked(case):
    return {
        key: value.as_subclass(Marked) if isinstance(value, tl.Tensor) else value
        for key, value in case.tensors(tl, "float64").items()
    }


@each_case
def test_the_type_of_the_parameters_comes_out(case):
    parameters = marked(case)
    if not any(isinstance(value, Marked) for value in parameters.values()):
        parameters = None
        value = tl.tensor(case.values, dtype=tl.float64).as_subclass(Marked)
        assert type(case.make(tl).log_prob(value)) is Marked
        return
    made = case.make(tl, parameters=parameters)
    value = tl.tensor(case.values, dtype=tl.float64)
    assert type(made.log_prob(value)) is Marked
    np.testing.assert_array_equal(made.log_prob(value).numpy(), case.make(tl).log_prob(value).numpy())
    try:
        drawn = made.rsample((2,))
    except NotImplementedError:
        drawn = made.sample((2,))
    if case.name != "LKJCholesky":
        assert type(drawn) is Marked
    for compute in (lambda: made.entropy(), lambda: made.mean, lambda: made.expand((2, *made.batch_shape)).variance):
        try:
            result = compute()
        except NotImplementedError:
            continue
        if case.name not in INDICES:
            assert isinstance(result, Marked)


@each_case
def test_the_type_of_the_values_comes_out(case):
    value = tl.tensor(case.values, dtype=tl.float64).as_subclass(Marked)
    assert type(case.make(tl).log_prob(value)) is Marked


class Counting(TorchFunctionMode):
    def __init__(self):
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(func.__name__)
        return func(*args, **(kwargs or {}))


def test_modes_see_the_functions_that_distributions_call():
    concentration = tl.tensor([2.0, 3.0])
    with Counting() as mode:
        d.Gamma(concentration, 1.0).rsample()
        d.Dirichlet(concentration).rsample()
        d.Normal(concentration, 1.0).log_prob(concentration)
    assert {"_standard_gamma", "_sample_dirichlet", "normal", "pow", "log"} & set(mode.seen) >= {
        "_standard_gamma",
        "_sample_dirichlet",
    }


def test_a_type_intercepts_the_draws():
    class Fixed(tl.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func is tl._standard_gamma:
                return tl.full(args[0].shape, 7.0)
            return super().__torch_function__(func, types, args, kwargs)

    drawn = d.Gamma(tl.tensor([1.0, 2.0]).as_subclass(Fixed), 1.0).rsample()
    assert drawn.tolist() == [7.0, 7.0]


class Wrapper:
    """A tensor-like type that is no tensor: it holds one."""

    def __init__(self, tensor):
        self.tensor = tensor

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        tree_map = tl.utils._pytree.tree_map
        args, kwargs = tree_map(lambda x: x.tensor if isinstance(x, Wrapper) else x, (args, kwargs or {}))
        return tree_map(lambda x: Wrapper(x) if isinstance(x, tl.Tensor) else x, func(*args, **kwargs))

    shape = property(lambda self: self.tensor.shape)

    def log(self):
        return tl.log(self)

    def _operator(name):
        return lambda self, *others: self.__torch_function__(getattr(tl.Tensor, name), (), (self, *others))

    __sub__, __rsub__, __pow__, __neg__ = map(_operator, ("sub", "__rsub__", "pow", "neg"))
    __mul__, __rmul__, __truediv__, pow = map(_operator, ("mul", "mul", "div", "pow"))


def test_types_that_are_no_tensors():
    loc, scale = tl.tensor([0.0, 1.0]), tl.tensor([1.0, 2.0])
    made = d.Normal(Wrapper(loc), Wrapper(scale), validate_args=False)
    assert made.batch_shape == (2,)
    value = Wrapper(tl.tensor([0.5, 0.5]))
    density = made.log_prob(value)
    assert isinstance(density, Wrapper)
    np.testing.assert_array_equal(density.tensor.numpy(), d.Normal(loc, scale).log_prob(value.tensor).numpy())


def test_vmap_of_densities():
    loc, scale = tl.tensor([0.0, 1.0, 2.0]), tl.tensor([1.0, 2.0, 3.0])
    value = tl.tensor([0.5, 0.5, -1.0])
    for kind in (d.Normal, d.Laplace, d.Cauchy, d.Gumbel):

        def density(a, b, x):
            return kind(a, b, validate_args=False).log_prob(x)  # noqa: B023

        batched = tl.vmap(density)(loc, scale, value)
        np.testing.assert_allclose(batched.numpy(), density(loc, scale, value).numpy(), rtol=1e-5)
    gamma = tl.vmap(lambda a: d.Gamma(a, 1.0, validate_args=False).log_prob(tl.tensor(2.0)))(scale)
    np.testing.assert_allclose(gamma.numpy(), d.Gamma(scale, 1.0).log_prob(tl.tensor(2.0)).numpy(), rtol=1e-5)


def test_vmap_checks_the_parameters_of_all_examples():
    logs = tl.func.vmap(lambda scale: d.Normal(scale, scale).log_prob(scale))(tl.tensor([1.0, 2.0]))
    assert tl.equal(logs, d.Normal(0.0, tl.tensor([1.0, 2.0])).log_prob(tl.zeros(2)))
    with pytest.raises(ValueError, match="found invalid values"):
        tl.func.vmap(lambda scale: d.Normal(tl.zeros(1), scale).mean)(tl.tensor([1.0, -2.0]))
    with pytest.raises(ValueError, match="within the support"):
        tl.func.vmap(lambda value: d.Exponential(1.0).log_prob(value))(tl.tensor([[1.0], [-2.0]]))


def test_vmap_of_gamma_draws():
    tl.manual_seed(0)
    scale = tl.tensor([1.0, 2.0, 3.0])
    drawn = tl.vmap(lambda a: d.Gamma(a, 1.0, validate_args=False).rsample((5,)), randomness="different")(scale)
    assert drawn.shape == (3, 5)
    gradient = tl.vmap(lambda a: tl._standard_gamma_grad(a, a))(scale)
    np.testing.assert_allclose(gradient.numpy(), tl._standard_gamma_grad(scale, scale).numpy())


def test_transforms_of_functions_of_densities():
    def density(loc):
        return d.Normal(loc, 2.0, validate_args=False).log_prob(tl.tensor(1.0))

    loc = tl.tensor(0.5)
    assert tl.func.grad(density)(loc).item() == pytest.approx(0.125)
    assert tl.func.hessian(density)(loc).item() == pytest.approx(-0.25)
    _, tangent = tl.func.jvp(density, (loc,), (tl.tensor(1.0),))
    assert tangent.item() == pytest.approx(0.125)


def test_default_dtype_and_devices_of_numbers():
    try:
        tl.set_default_dtype(tl.float64)
        assert d.Normal(0, 1).loc.dtype == tl.float64
    finally:
        tl.set_default_dtype(tl.float32)
    assert d.Normal(0, tl.ones(2, dtype=tl.float64)).loc.dtype == tl.float64
