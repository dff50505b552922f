"""Dual numbers: tangents against the library's own forward mode, nesting, and linear functions."""

import pickle
from typing import Any

import pytest

import tensorlike as tl
from examples.gallery.dual_tensor import SLOPES, DualTensor, derivative

X = tl.tensor([0.3, 0.5, 0.9], dtype=tl.float64)
V = tl.tensor([1.0, -2.0, 0.5], dtype=tl.float64)
W = tl.tensor([[1.0, -1.0, 0.5], [2.0, 0.5, 0.1]], dtype=tl.float64)


def agrees(function: Any, x: tl.Tensor = X, v: tl.Tensor = V) -> None:
    found = function(DualTensor(x, v))
    value, tangent = tl.func.jvp(function, (x,), (v,))
    tl.testing.assert_close(found.primal, value)
    tl.testing.assert_close(found.tangent, tangent)


@pytest.mark.parametrize("function", SLOPES, ids=lambda f: f.__name__)
def test_slopes(function: Any) -> None:
    agrees(function)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * x + x / (x + 2) - 3 * x,
        lambda x: 2**x + x**2.5 + x**x + x**0,
        lambda x: tl.sub(x, x * 2, alpha=3) + tl.add(1, x, alpha=2),
        lambda x: W @ x,
        lambda x: (x @ x) * x,
        lambda x: tl.maximum(x, 0.4 + x * 0) + tl.minimum(x, tl.square(x)),
        lambda x: tl.where(x > 0.4, x * 3, tl.zeros(())),
        lambda x: tl.atan2(x, x + 1),
        lambda x: tl.cat([x, tl.ones(2, dtype=tl.float64), x * 2]),
        lambda x: tl.stack([x, x.exp()]).t().sum(1),
        lambda x: x[1:] * x[:2].flip(0),
        lambda x: x.expand(2, 3).cumsum(0).mean(),
        lambda x: tl.reshape(x, (3, 1)) @ x.reshape(1, 3),
        lambda x: tl.relu(x - 0.4).sum() + tl.nn.functional.relu(x),
    ],
)
def test_compositions(function: Any) -> None:
    agrees(function)


def test_derivatives_of_derivatives() -> None:
    f = lambda x: tl.exp(tl.sin(x)) * x
    first, second = (tl.func.grad(lambda x: f(x).sum())(X), None)
    tl.testing.assert_close(derivative(f)(X), first)
    second = tl.func.grad(lambda x: tl.func.grad(lambda y: f(y).sum())(x).sum())(X)
    tl.testing.assert_close(derivative(derivative(f))(X), second)
    assert derivative(derivative(derivative(lambda x: x**3)))(X).tolist() == pytest.approx([6.0] * 3)


def test_nested_derivatives_are_not_confused() -> None:
    outer = derivative(lambda x: x * derivative(lambda y: x * y)(tl.tensor(3.0)))(tl.tensor(2.0))
    assert outer.item() == 4.0  # d/dx of x * x
    assert derivative(lambda x: tl.ones(()))(tl.tensor(2.0)).item() == 0.0


def test_in_place_changes_both_parts() -> None:
    x = DualTensor(tl.tensor([1.0, 2.0]), tl.ones(2))
    x *= 3
    assert (x.primal.tolist(), x.tangent.tolist()) == ([3.0, 6.0], [3.0, 3.0])
    with pytest.raises(TypeError, match="no implementation found"):
        tl.ones(2).add_(x)


def test_errors_and_copies() -> None:
    with pytest.raises(ValueError, match="the tangent has shape"):
        DualTensor(X, tl.ones(2))
    with pytest.raises(TypeError, match="no implementation found for 'tensorlike.linalg.inv'"):
        tl.linalg.inv(DualTensor(W, W))
    assert (DualTensor(X, V) > 0.4).tolist() == [False, True, True]
    copied = pickle.loads(pickle.dumps(DualTensor(X, V)))
    assert tl.equal(copied.tangent, V)
