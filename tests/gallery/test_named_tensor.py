"""Named dimensions: alignment, names of results, errors, against xarray's rules worked out by hand."""

import pickle
from typing import Any

import pytest

import tensorlike as tl
from examples.gallery.named_tensor import NamedTensor
from tensorlike.testing import TensorLikeSuite


class TestSuite(TensorLikeSuite):
    functions = ("add", "mul", "exp", "sum", "mean", "amax", "sort", "cumsum", "flip", "permute", "t", "matmul",
                 "unsqueeze", "squeeze", "Tensor.mul_")  # fmt: skip
    gradients = True
    known_gaps = {"mixed:Tensor.mul_": "a plain tensor that is written to has no place for names"}

    def make_operand(self, tensor: Any) -> Any:
        return NamedTensor(tensor, [None] * tensor.ndim)

    def to_dense(self, operand: Any) -> Any:
        return operand.held


X = tl.arange(6.0).reshape(2, 3)


@pytest.fixture
def x() -> NamedTensor:
    return NamedTensor(X, ("shop", "day"))


def test_operands_are_aligned_by_name(x: NamedTensor) -> None:
    turned = NamedTensor(X.t() * 10, ("day", "shop"))
    assert ((x + turned).names, (x + turned).held.tolist()) == (("shop", "day"), (X * 11).tolist())
    shop = NamedTensor([1.0, 2.0], ("shop",))
    assert (shop * x).names == ("shop", "day")
    assert (x * shop).held.tolist() == (X * tl.tensor([[1.0], [2.0]])).tolist()
    outer = shop * NamedTensor([1.0, 2.0, 3.0], ("hour",))
    assert (outer.names, tuple(outer.shape)) == (("shop", "hour"), (2, 3))


def test_plain_tensors_and_numbers_take_part_by_position(x: NamedTensor) -> None:
    assert (x * tl.tensor([1.0, 0.0, 2.0])).held.tolist() == (X * tl.tensor([1.0, 0.0, 2.0])).tolist()
    assert (2 - x).names == ("shop", "day")
    assert (tl.ones(4, 2, 3) + x).names == (None, "shop", "day")
    partly = NamedTensor(tl.ones(2, 2), (None, "shop"))
    with pytest.raises(ValueError, match="the names 'day' and 'shop' stand at one dimension"):
        x[:, :2] + partly


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda x: x.sum("day"), ("shop",)),
        (lambda x: tl.mean(x, ("shop",)), ("day",)),
        (lambda x: tl.amax(x, dim="shop", keepdim=True), ("shop", "day")),
        (lambda x: x.max("day").indices, ("shop",)),
        (lambda x: x.sum(), ()),
        (lambda x: x.sort("shop").values, ("shop", "day")),
        (lambda x: tl.nn.functional.softmax(x, "day"), ("shop", "day")),
        (lambda x: x.unbind("day")[2], ("shop",)),
        (lambda x: x.select("shop", 1), ("day",)),
        (lambda x: x.permute("day", "shop"), ("day", "shop")),
        (lambda x: x.align_to("day", "new", "shop"), ("day", "new", "shop")),
        (lambda x: x[..., 0], ("shop",)),
        (lambda x: x[None, 1, 1:], (None, "day")),
        (lambda x: x[:1].squeeze(), ("day",)),
        (lambda x: x.rename(day="hour"), ("shop", "hour")),
        (lambda x: x.flip(["day"]), ("shop", "day")),
        (lambda x: tl.cat([x, x], "day"), ("shop", "day")),
    ],
)
def test_names_of_results(x: NamedTensor, call: Any, names: tuple[str, ...]) -> None:
    result = call(x)
    assert result.names == names
    assert result.held.ndim == len(names)


def test_values_by_name_are_those_by_number(x: NamedTensor) -> None:
    assert x.sum("day").held.tolist() == X.sum(1).tolist()
    assert x.permute("day", "shop").held.tolist() == X.t().tolist()
    assert x.dot(x.rename(day="hour"), "shop").held.tolist() == (X.t() @ X).tolist()
    assert not bool(x.sum() > 100)
    assert x.sizes == {"shop": 2, "day": 3}


def test_errors(x: NamedTensor) -> None:
    with pytest.raises(ValueError, match="no dimension 'hour': the names are"):
        x.sum("hour")
    with pytest.raises(ValueError, match="would sum over 'day' of the one and 'shop'"):
        x @ NamedTensor(tl.ones(3, 2), ("shop", "hour"))
    with pytest.raises(ValueError, match="2 dimensions need as many names"):
        NamedTensor(X, ("day",))
    with pytest.raises(ValueError, match="two dimensions have one name"):
        NamedTensor(X, ("day", "day"))
    with pytest.raises(TypeError, match="no implementation found"):
        tl.flatten(x)


def test_gradients_and_copies(x: NamedTensor) -> None:
    leaf = tl.ones(3, requires_grad=True)
    (x * NamedTensor(leaf, ("day",))).sum().held.backward()
    assert leaf.grad.tolist() == X.sum(0).tolist()
    copied = pickle.loads(pickle.dumps(x))
    assert (copied.names, copied.held.tolist()) == (x.names, X.tolist())
