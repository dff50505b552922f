"""Lazy expressions: values, what is computed and how often, writing, random numbers, errors."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from examples.gallery.lazy_tensor import Computed, LazyTensor, evaluate, listing
from tensorlike.testing import TensorLikeSuite


class TestSuite(TensorLikeSuite):
    functions = ("add", "mul", "sum", "max", "cat", "matmul", "linalg.solve", "sort", "Tensor.mul_", "Tensor.view",
                 "nn.functional.relu")  # fmt: skip
    gradients = True

    def make_operand(self, tensor: Any) -> Any:
        return LazyTensor(tensor)

    def to_dense(self, operand: Any) -> Any:
        return operand.value()


X = [1.0, 2.0, 3.0]


def test_what_occurs_twice_is_computed_once() -> None:
    x = LazyTensor(tl.tensor(X))
    y = (x.exp() + 1).log() * (x.exp() + 1).sqrt()
    z = (x.exp() + 1.0).sum()  # another number: 1 and 1.0 give other dtypes where x is of integers
    with Computed() as computed:
        first, second = evaluate(y, z)
    assert sorted(computed.names) == ["add", "add", "exp", "log", "mul", "sqrt", "sum"]
    e = tl.tensor(X).exp() + 1
    assert tl.allclose(first, e.log() * e.sqrt())
    assert tl.allclose(second, e.sum())


def test_nothing_is_computed_that_is_not_asked_for() -> None:
    x = LazyTensor(tl.tensor(X))
    with Computed() as computed:
        y = tl.linalg.inv(x.reshape(1, 3)) + x
        z = x * 2
        assert computed.names == []
        assert z.value().tolist() == [2.0, 4.0, 6.0]
        assert z.value().tolist() == [2.0, 4.0, 6.0]
    assert computed.names.count("mul") == 1
    assert y._value is None


def test_chains_of_products_are_multiplied_in_the_cheapest_order() -> None:
    tl.manual_seed(0)
    a, b, c, v = tl.randn(50, 2), tl.randn(2, 50), tl.randn(50, 3), tl.randn(3)
    lazy = LazyTensor(a)
    with Computed() as computed:
        found = (lazy @ b @ c @ v).value()
    assert "multi_dot" in computed.names
    assert tl.allclose(found, a @ b @ c @ v, atol=1e-4)
    # A product that is needed for itself too is computed.
    square = lazy @ b
    cubed = square @ c
    one, two = evaluate(square, cubed)
    assert tl.allclose(one, a @ b, atol=1e-5)
    assert tl.allclose(two, a @ b @ c, atol=1e-4)


SHAPES = [((2, 3), (3,), ()), ((3,), (3, 2), (2,)), ((4, 2, 3), (3, 5), (5, 2)), ((2, 3), (3, 4), (4, 2))]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_products_of_all_shapes(shapes: Any) -> None:
    tl.manual_seed(1)
    one, two, three = (tl.randn(shape) for shape in shapes)
    lazy = LazyTensor(one) @ two
    assert tl.allclose((lazy @ three if three.ndim else lazy * three).value(),
                       one @ two @ three if three.ndim else one @ two * three, atol=1e-5)  # fmt: skip


def test_writing_leaves_what_was_noted_before() -> None:
    x = LazyTensor(tl.tensor(X))
    before = x * 10
    x += 1
    after = x * 10
    assert before.value().tolist() == [10.0, 20.0, 30.0]
    assert after.value().tolist() == [20.0, 30.0, 40.0]
    out = LazyTensor(tl.zeros(3))
    assert tl.exp(before, out=out) is out
    assert tl.allclose(out.value(), tl.tensor([10.0, 20.0, 30.0]).exp())


def test_writing_to_a_noted_tensor_is_an_error_not_a_wrong_value() -> None:
    plain = tl.tensor(X)
    y = LazyTensor(tl.ones(3)) * plain
    plain.add_(1)
    with pytest.raises(RuntimeError, match="was written to after it was noted"):
        y.value()
    assert (LazyTensor(tl.ones(3)) * plain).value().tolist() == [2.0, 3.0, 4.0]


def test_arrays_among_the_arguments_are_copied() -> None:
    places = np.array([0, 2])
    y = LazyTensor(tl.tensor(X))[places]
    places[0] = 1
    assert y.value().tolist() == [1.0, 3.0]


def test_random_numbers_are_drawn_once_for_each_call() -> None:
    x = LazyTensor(tl.full((100,), 0.5))
    one, two = tl.bernoulli(x), tl.bernoulli(x)
    assert tl.equal(one.value(), one.value())
    assert not tl.equal(one.value(), two.value())


def test_what_is_no_single_tensor_is_computed_at_once() -> None:
    x = LazyTensor(tl.tensor(X))
    values, indices = tl.max(x * 2, 0)
    assert (values.value().item(), indices.value().item()) == (6.0, 2)
    assert (x.sum().item(), tuple(x[1:].shape), bool(x.sum() > 5)) == (6.0, (2,), True)


def test_deep_expressions() -> None:
    x = LazyTensor(tl.zeros(()))
    for _ in range(5000):
        x = x + 1
    assert x.value().item() == 5000.0


def test_gradients() -> None:
    weight = tl.tensor([2.0, 1.0, 0.5], requires_grad=True)
    (LazyTensor(weight) * tl.tensor(X)).square().sum().value().backward()
    assert weight.grad.tolist() == [4.0, 8.0, 9.0]


def test_errors_show_the_expression() -> None:
    x = LazyTensor(tl.tensor(X))
    wrong = x.reshape(3, 1) @ x.reshape(3, 1)
    assert "%1 = reshape(%0, 3, 1)" in listing(wrong)
    with pytest.raises(RuntimeError, match="cannot be multiplied") as caught:
        wrong.value()
    assert "matmul(%1, %1)" in caught.value.__notes__[-1]
    with pytest.raises(AttributeError):
        x.nothing


def test_copies_hold_values() -> None:
    y = LazyTensor(tl.tensor(X)) * 2
    for copied in (pickle.loads(pickle.dumps(y)), copy.deepcopy(y)):
        assert copied.value().tolist() == [2.0, 4.0, 6.0]
