"""Quantised tensors: nearest steps, exact rules on integers, products, fallbacks."""

import pickle
from typing import Any

import pytest

import tensorlike as tl
from examples.gallery.quantized_tensor import QuantizedTensor

tl.manual_seed(0)
NUMBERS = tl.randn(6, 8)


@pytest.fixture
def x() -> QuantizedTensor:
    return QuantizedTensor.quantize(NUMBERS)


def test_the_nearest_step(x: QuantizedTensor) -> None:
    assert (x.to_dense() - NUMBERS).abs().max().item() <= x.scale / 2 + 1e-6
    assert (x.stored.min().item(), x.stored.max().item()) == (-128, 127)
    # Zero is exact, whatever the range.
    for numbers in ([0.0, 0.3, 5.0], [-7.0, 0.0, -0.1], [0.0, 0.0]):
        assert QuantizedTensor.quantize(tl.tensor(numbers)).to_dense()[tl.tensor(numbers) == 0].abs().sum().item() == 0
    given = QuantizedTensor.quantize(tl.tensor([100.0, -100.0, 1.0]), 0.5, 10)
    assert given.to_dense().tolist() == [58.5, -69.0, 1.0]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.t(),
        lambda x: tl.reshape(x, (8, 6))[2:, 1],
        lambda x: tl.relu(x),
        lambda x: tl.nn.functional.relu(x),
        lambda x: x.amax(1),
        lambda x: tl.mul(x, 2),
        lambda x: 0.5 * x,
        lambda x: x.flip(0).unbind(1)[3],
    ],
)
def test_rules_on_integers_are_exact(x: QuantizedTensor, function: Any) -> None:
    result = function(x)
    assert isinstance(result, QuantizedTensor)
    assert result.stored.dtype == tl.int8
    tl.testing.assert_close(result.to_dense(), function(x.to_dense()))


def test_products_are_those_of_the_numbers(x: QuantizedTensor) -> None:
    y = QuantizedTensor.quantize(tl.randn(8, 3))
    tl.testing.assert_close(x @ y, x.to_dense() @ y.to_dense())
    dense = tl.randn(4, 6)
    tl.testing.assert_close(dense @ x, dense @ x.to_dense())
    tl.testing.assert_close(x @ dense.t()[:1].expand(8, 4), x.to_dense() @ dense.t()[:1].expand(8, 4))
    bias = tl.ones(6)
    inputs = tl.randn(2, 8)
    expected = tl.nn.functional.linear(inputs, x.to_dense(), bias)
    tl.testing.assert_close(tl.nn.functional.linear(inputs, x, bias), expected)


def test_sums_of_integers_do_not_overflow() -> None:
    x = QuantizedTensor.quantize(tl.full((1, 1000), 1.0))
    assert (x @ x.t()).item() == pytest.approx(1000.0, rel=1e-5)


def test_the_rest_is_computed_on_numbers(x: QuantizedTensor) -> None:
    for function in (
        tl.exp,
        tl.linalg.svdvals,
        lambda v: v + v,
        lambda v: tl.cat([v, tl.ones(1, 8)]),
        lambda v: v * -1,
    ):
        result = function(x)
        assert type(result) is tl.Tensor
        tl.testing.assert_close(result, function(x.to_dense()))
    assert tl.argmax(x).item() == tl.argmax(x.to_dense()).item()


def test_gradients_reach_the_other_operand(x: QuantizedTensor) -> None:
    inputs = tl.randn(2, 8, requires_grad=True)
    tl.nn.functional.linear(inputs, x).sum().backward()
    tl.testing.assert_close(inputs.grad, x.to_dense().sum(0).expand(2, 8))


def test_errors_and_copies(x: QuantizedTensor) -> None:
    with pytest.raises(TypeError, match="must be int8"):
        QuantizedTensor(tl.ones(2), 1.0, 0)
    with pytest.raises(ValueError, match="no integer stands for infinity"):
        QuantizedTensor.quantize(tl.tensor([1.0, tl.inf]))
    with pytest.raises(ValueError, match="the scale must be above 0"):
        QuantizedTensor(tl.ones(2).to(tl.int8), 0.0, 0)
    with pytest.raises(TypeError, match="no implementation found"):
        tl.Tensor.add_(x, 1)
    copied = pickle.loads(pickle.dumps(x))
    assert tl.equal(copied.to_dense(), x.to_dense())
