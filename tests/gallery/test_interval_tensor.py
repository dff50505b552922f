"""Intervals: every number within the bounds stays within those of the result, also by rounding."""

import pickle
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from examples.gallery.interval_tensor import IntervalTensor

F = tl.nn.functional
UNARY = [
    "exp",
    "sin",
    "cos",
    "tanh",
    "square",
    "abs",
    "neg",
    "sigmoid",
    "cosh",
    "relu",
    "floor",
    "erf",
    "atan",
    "expm1",
]


def bounds(shape: tuple[int, ...], seed: int, dtype: Any = tl.float32) -> tuple[IntervalTensor, list[tl.Tensor]]:
    """An interval and float64 tensors within it, its bounds among them."""
    rng = np.random.default_rng(seed)
    low = rng.normal(size=shape, scale=3)
    lower, upper = tl.tensor(low).to(dtype), tl.tensor(low + rng.exponential(size=shape)).to(dtype)
    x = IntervalTensor(lower, upper)
    parts = [tl.tensor(rng.uniform(size=shape)) for _ in range(20)]
    inside = [lower.double() + part * (upper.double() - lower.double()) for part in parts]
    return x, [*inside, lower.double(), upper.double()]


def holds(result: IntervalTensor, values: list[tl.Tensor]) -> None:
    assert result.lower.dtype == tl.float32
    for value in values:
        assert bool(result.contains(value).all()), (result, value)


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_operand(name: str) -> None:
    x, inside = bounds((50,), 1)
    function = getattr(tl, name)
    result = function(x)
    holds(result, [function(value) for value in inside])
    # Not wider than the values, but for those that 22 points miss.
    reached = tl.stack([function(value) for value in inside])
    spread = (reached.amax(0) - reached.amin(0)) / 2
    assert bool((result.radius() <= 1.3 * spread + 0.5).all())


@pytest.mark.parametrize("name", ["log", "sqrt", "reciprocal", "rsqrt"])
def test_functions_of_positive_numbers(name: str) -> None:
    x, inside = bounds((50,), 2)
    x, inside = tl.square(x) + 0.5, [value * value + 0.5 for value in inside]
    holds(getattr(tl, name)(x), [getattr(tl, name)(value) for value in inside])


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "maximum", "minimum"])
def test_functions_of_two_operands(name: str) -> None:
    (x, xs), (y, ys) = bounds((50,), 3), bounds((50,), 4)
    function = getattr(tl, name)
    holds(function(x, y), [function(a, b) for a, b in zip(xs, ys)])
    number = tl.tensor(0.1)
    holds(function(x, number), [function(a, number.double()) for a in xs])


def test_matrix_products_and_sums() -> None:
    (x, xs), (y, ys) = bounds((4, 30), 5), bounds((30, 3), 6)
    holds(x @ y, [a @ b for a, b in zip(xs, ys)])
    holds(x.sum(1), [a.sum(1) for a in xs])
    holds(x.mean(0), [a.mean(0) for a in xs])
    weight = tl.randn(5, 30)
    holds(F.linear(x, weight, tl.ones(5)), [F.linear(a, weight.double(), tl.ones(5).double()) for a in xs])


def test_rounding_never_leaves_the_bounds() -> None:
    # Ten thousand roundings to float32 of what float64 computes exactly enough.
    terms = tl.full((10_000,), 0.1)
    total = IntervalTensor(terms).sum()
    exact = 10_000 * float(np.float32(0.1))
    assert total.lower.item() <= exact <= total.upper.item()
    third = IntervalTensor(tl.ones(1)) / 3
    assert third.lower.item() < 1 / 3 < third.upper.item()


def test_peaks_inside_are_found() -> None:
    x = IntervalTensor([0.0, 1.0, 2.0, -100.0], [3.2, 2.0, 3.0, 100.0])
    assert tl.sin(x).upper.tolist()[:2] == [1.0, 1.0]
    assert tl.sin(x).upper[2].item() == pytest.approx(np.sin(2.0), rel=1e-5)
    assert (tl.sin(x).lower[3].item(), tl.cos(x).upper[3].item()) == (-1.0, 1.0)
    assert tl.square(IntervalTensor([-2.0], [1.0])).lower.item() == 0.0
    assert (1 / IntervalTensor([-1.0], [1.0])).upper.item() == tl.inf
    assert (IntervalTensor([-2.0], [1.0]) ** 3).lower.item() == pytest.approx(-8, rel=1e-5)


def test_infinite_and_unknown_bounds() -> None:
    wide = IntervalTensor([0.0, -tl.inf, 1.0], [tl.inf, tl.inf, tl.inf])
    product = wide * IntervalTensor([0.0, 0.0, 2.0], [0.0, 1.0, 3.0])
    assert product.contains(tl.tensor([0.0, -5.0, 7.0])).tolist() == [True, True, True]
    assert not product.contains(tl.tensor([1.0, 0.0, 1.0]))[::2].any()
    assert tl.log(IntervalTensor([-1.0], [1.0])).lower.isnan().all()
    assert (tl.log(IntervalTensor([-1.0], [1.0])) * 2).lower.isnan().all()


def test_comparisons_answer_where_they_can() -> None:
    x = IntervalTensor([1.0, 2.0], [2.0, 3.0])
    assert (x < 4).tolist() == [True, True]
    assert (x < 0).tolist() == [False, False]
    with pytest.raises(ValueError, match=r"lt\(\): undecided"):
        tl.lt(x, 2.5)


def test_a_network_bounds_its_answers_with_gradients() -> None:
    tl.manual_seed(0)
    network = tl.nn.Sequential(tl.nn.Linear(3, 8), tl.nn.ReLU(), tl.nn.Linear(8, 2), tl.nn.Tanh())
    point = tl.tensor([[0.5, -0.2, 0.1]])
    answers = network(IntervalTensor(point - 0.1, point + 0.1))
    for _ in range(50):
        assert bool(answers.contains(network(point + 0.2 * (tl.rand(1, 3) - 0.5))).all())
    answers.upper.sum().backward()
    assert network[0].weight.grad.abs().sum().item() > 0


def test_gradients_are_those_of_the_bounds() -> None:
    lower, upper = tl.tensor([1.0, 2.0], requires_grad=True), tl.tensor([2.0, 3.0], requires_grad=True)
    tl.exp(IntervalTensor(lower, upper)).upper.sum().backward()
    assert tl.allclose(upper.grad, upper.exp().detach())
    assert lower.grad is None or lower.grad.abs().sum().item() == 0


def test_in_place_out_and_arrangement() -> None:
    x = IntervalTensor([[1.0, 2.0]], [[2.0, 4.0]])
    assert tl.cat([x, tl.zeros(1, 2)]).upper.tolist() == [[2.0, 4.0], [0.0, 0.0]]
    assert x.t()[1].upper.item() == 4.0
    x += 1
    assert x.contains(tl.tensor([[2.5, 4.0]])).all()
    with pytest.raises(TypeError, match="no implementation found"):
        tl.exp(x, out=tl.zeros(1, 2))


def test_errors_and_copies() -> None:
    with pytest.raises(ValueError, match="a lower bound is above"):
        IntervalTensor([1.0], [0.0])
    with pytest.raises(TypeError, match="floating dtype"):
        IntervalTensor(tl.tensor([1]))
    with pytest.raises(TypeError, match="no implementation found"):
        tl.lgamma(IntervalTensor([1.0]))
    x = pickle.loads(pickle.dumps(IntervalTensor([1.0], [2.0])))
    assert (x.lower.item(), x.upper.item()) == (1.0, 2.0)
