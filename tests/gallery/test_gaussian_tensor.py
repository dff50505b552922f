"""Means and variances: against drawn numbers, and exactly where the rules are exact."""

import pickle
from typing import Any

import pytest

import tensorlike as tl
from examples.gallery.gaussian_tensor import GaussianTensor, probability_above

MEAN, VARIANCE = tl.tensor([1.0, 2.0, 3.0]), tl.tensor([0.01, 0.02, 0.04])


@pytest.fixture
def x() -> GaussianTensor:
    return GaussianTensor(MEAN, VARIANCE)


def agrees(result: GaussianTensor, samples: tl.Tensor) -> None:
    """The moments of drawn numbers are within 5 %."""
    assert tl.allclose(result.mu, samples.mean(0), rtol=0.05, atol=0.01)
    assert tl.allclose(result.std_dev, samples.std(0), rtol=0.07, atol=0.001)


@pytest.mark.parametrize(
    "function",
    [
        tl.exp,
        tl.log,
        tl.sqrt,
        tl.sin,
        tl.square,
        tl.reciprocal,
        tl.sigmoid,
        tl.special.ndtr,
        lambda v: v**3,
        lambda v: 2**v,
        lambda v: 3 * v - 1,
        lambda v: tl.relu(v - 1.5),
        lambda v: tl.relu(1.9 - v),
        lambda v: v.flip(-1) / 4,
        lambda v: tl.logit(v / 10),
    ],
)
def test_functions_against_drawn_numbers(x: GaussianTensor, function: Any) -> None:
    tl.manual_seed(0)
    agrees(function(x), function(x.draw(100_000)))


def test_functions_of_two_operands_against_drawn_numbers(x: GaussianTensor) -> None:
    tl.manual_seed(0)
    y = GaussianTensor([4.0, -1.0, 0.5], [0.1, 0.01, 0.001])
    a, b = x.draw(100_000), y.draw(100_000)
    for function in (tl.add, tl.sub, tl.mul, tl.div, tl.atan2, tl.hypot):
        agrees(function(x, y), function(a, b))
    agrees(x @ y, (a * b).sum(1))
    agrees(tl.sum(x), a.sum(1))
    agrees(tl.mean(x), a.mean(1))
    weight = tl.tensor([[1.0, 2.0, -1.0], [0.0, 1.0, 3.0]])
    agrees(tl.nn.functional.linear(x, weight, tl.ones(2)), a @ weight.t() + 1)


def test_exact_moments() -> None:
    x, y = GaussianTensor([2.0], [0.5]), GaussianTensor([3.0], [0.25])
    assert (x * y).variance.item() == pytest.approx(0.5 * 9 + 0.25 * 4 + 0.125)
    assert (x * x).mu.item() == 4.5
    assert (x - y).variance.item() == 0.75
    assert ((x + x).variance.item(), (x - x).variance.item(), (x / x).variance.item()) == (2.0, 0.0, 0.0)
    assert tl.relu(GaussianTensor([0.0], [1.0])).mu.item() == pytest.approx((2 * tl.pi) ** -0.5)
    assert tl.relu(GaussianTensor([-1.0, 2.0])).variance.tolist() == [0.0, 0.0]


def test_certain_numbers_stay_certain() -> None:
    x = GaussianTensor(MEAN)
    result = tl.exp(x * 2 + tl.ones(3)).reshape(3, 1)
    assert result.variance.abs().sum().item() == 0
    tl.testing.assert_close(result.mu, tl.exp(MEAN * 2 + 1).reshape(3, 1))


def test_probabilities_in_place_of_comparisons(x: GaussianTensor) -> None:
    with pytest.raises(TypeError, match="no implementation found|not supported"):
        tl.gt(x, 1)
    assert probability_above(x, x).tolist() == [0.5, 0.5, 0.5]
    assert probability_above(x, 1.9)[1].item() == pytest.approx(0.76025, abs=1e-4)


def test_arrangement_in_place_and_out(x: GaussianTensor) -> None:
    joined = tl.cat([x, tl.zeros(1)])
    assert tl.allclose(joined.variance, tl.tensor([0.01, 0.02, 0.04, 0.0]))
    assert x[1:].variance.tolist() == VARIANCE[1:].tolist()
    out = GaussianTensor(tl.zeros(3))
    assert tl.exp(x, out=out) is out
    assert out.variance[0].item() == pytest.approx(0.01 * tl.exp(tl.tensor(2.0)).item(), rel=1e-5)
    y = GaussianTensor(MEAN.clone(), VARIANCE)
    y *= 2
    assert tl.allclose(y.variance, 4 * VARIANCE)


def test_gradients_of_the_spread() -> None:
    means = tl.tensor([1.0, 2.0], requires_grad=True)
    tl.exp(GaussianTensor(means, 0.01)).sum().variance.backward()
    tl.testing.assert_close(means.grad, 0.02 * tl.exp(2 * means.detach()))


def test_errors_and_copies(x: GaussianTensor) -> None:
    with pytest.raises(ValueError, match="a variance is below 0"):
        GaussianTensor([1.0], [-1.0])
    with pytest.raises(TypeError, match="floating numbers"):
        GaussianTensor([1])
    copied = pickle.loads(pickle.dumps(x))
    assert tl.equal(copied.variance, VARIANCE)
