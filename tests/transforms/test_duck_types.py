"""Tensor-like types that are no subclasses of Tensor, as arguments and results of transforms."""

from __future__ import annotations

from typing import Any

import pytest

import tensorlike as tl
from tensorlike import func


class Named(tl.overrides.TensorLike, unhandled=tl.overrides.rewrap):
    def __init__(self, tensor: Any, name: str) -> None:
        self.tensor, self.name = tensor, name

    def unwrap(self) -> Any:
        return self.tensor

    @classmethod
    def wrap(cls, tensor: Any, like: Any) -> Named:
        return cls(tensor, like.name)


class Closed(tl.overrides.TensorLike, unhandled=tl.overrides.refuse):
    pass


def cube(v: Any) -> Any:
    assert isinstance(v, Named)
    return v * v * v


def total(v: Any) -> Any:
    return tl.sum(cube(v))


X = tl.tensor([1.0, 2.0])


@pytest.mark.parametrize("transform", [func.vmap, func.jacrev, func.jacfwd, lambda f: func.vmap(func.jacrev(f))])
def test_results_are_of_the_type(transform: Any) -> None:
    found = transform(cube)(Named(X, "a"))
    assert (type(found), found.name) == (Named, "a")
    assert tl.equal(found.tensor, transform(lambda v: v**3)(X))


@pytest.mark.parametrize("transform", [func.grad, func.hessian, lambda f: func.jacfwd(func.grad(f))])
def test_derivatives_of_a_number_of_the_type(transform: Any) -> None:
    found = transform(total)(Named(X, "a"))
    assert (type(found), found.name) == (Named, "a")
    assert tl.equal(found.tensor, transform(lambda v: (v**3).sum())(X))


def test_instances_in_containers_are_found() -> None:
    found = func.grad(lambda tree: total(tree["weight"]))({"weight": Named(X, "a")})["weight"]
    assert type(found) is Named
    assert found.tensor.tolist() == [3.0, 12.0]


def test_vjp_jvp_and_linearize_take_plain_and_typed_directions() -> None:
    x = Named(X, "a")
    value, pull = func.vjp(cube, x)
    results = [value, *pull(X), *pull(x), *func.jvp(cube, (x,), (X,)), *func.jvp(cube, (x,), (x,))]
    value, push = func.linearize(cube, x)
    results += [value, push(X)]
    assert {(type(r), r.name) for r in results} == {(Named, "a")}
    expected = [1.0, 8.0], [3.0, 24.0]
    assert [r.tensor.tolist() for r in results] == [expected[i] for i in (0, 1, 1, 0, 1, 0, 1, 0, 1)]


@pytest.mark.parametrize("operands", [lambda v: v * v.tensor, lambda v: v.tensor * v, lambda v: tl.mul(X[0], v) * v])
@pytest.mark.parametrize(
    "transform", [func.vmap, func.jacrev, func.jacfwd, lambda f: func.vmap(func.jacfwd(f)), lambda f: lambda x: f(x)]
)
def test_a_tensor_of_the_transform_beside_an_instance(transform: Any, operands: Any) -> None:
    found = transform(operands)(Named(X, "a"))
    assert (type(found), found.name) == (Named, "a")
    assert tl.equal(found.tensor, transform(lambda v: v**2)(X))


def test_types_that_say_nothing_are_refused() -> None:
    for call in (
        lambda: func.grad(lambda v: v)(Closed()),
        lambda: func.jacrev(lambda v: v)(Closed()),
        lambda: func.jacfwd(lambda v: v)(Closed()),
        lambda: func.jvp(lambda v: v, (Closed(),), (Closed(),)),
        lambda: func.vmap(lambda v: v)(Closed()),
        lambda: func.vmap(lambda v: Closed())(X),
    ):
        with pytest.raises(TypeError, match="does not say which tensors it holds"):
            call()


def test_other_dimensions_are_refused() -> None:
    with pytest.raises(TypeError, match="first dimension only"):
        func.vmap(cube, in_dims=1)(Named(tl.ones(2, 3), "a"))
