"""Units of measurement: units of results, what does not go together, conversion, copies, and the conformance suite."""

import copy
import pickle
from typing import Any

import pytest

import tensorlike as tl
from examples.gallery.unit_tensor import RULES, UnitError, UnitTensor, compares, forgets, quantity
from tensorlike.audit import Outcome
from tensorlike.testing import TensorLikeSuite


class TestSuite(TensorLikeSuite):
    functions = ("add", "sub", "mul", "div", "matmul", "sum", "mean", "max", "sqrt", "exp", "cat", "eq", "reshape",
                 "Tensor.add", "Tensor.mul_", "Tensor.__getitem__")  # fmt: skip
    plain_results = ("eq", "max")  # max: positions have no unit
    gradients = True

    def make_operand(self, tensor: Any) -> Any:
        return UnitTensor(tensor, {})

    def to_dense(self, operand: Any) -> Any:
        return operand.as_plain()


def test_units_are_lost_by_design_alone() -> None:
    only = ["tensorlike.a*", "tensorlike.Tensor.is*", "tensorlike.Tensor.l*"]
    report = tl.overrides.audit(UnitTensor, only=only, plain_results="lost")
    lost = [row.function for row in report.rows if row.outcome is Outcome.TYPE_LOST]
    assert len(lost) >= 10
    names = [name.rpartition(".")[2].strip("_") for name in lost]
    assert [name for name in names if RULES[name][0] not in (compares, forgets)] == []


def test_a_unit_survives_copies() -> None:
    speed = UnitTensor([1.5, 2.0], {"m": 1, "s": -1})
    copies = pickle.loads(pickle.dumps(speed)), copy.deepcopy(speed), speed.clone(), speed[0], speed.reshape(2, 1)
    for copied in copies:
        assert (type(copied), copied.unit) == (UnitTensor, {"m": 1, "s": -1})


@pytest.mark.parametrize(
    "call",
    [
        lambda m, s: m + s,
        lambda m, s: m + 1,
        lambda m, s: 1 - m,
        lambda m, s: m < s,
        lambda m, s: tl.cat([m, s]),
        lambda m, s: tl.maximum(m, other=s),
        lambda m, s: m.add_(s),
        lambda m, s: m.mul_(s),
        lambda m, s: m.eq_(m),
        lambda m, s: tl.sin(m),
        lambda m, s: m**s,
        lambda m, s: m**m,
        lambda m, s: m.expressed_in("h"),
    ],
)
def test_units_that_do_not_go_together(call: Any) -> None:
    metres, seconds = UnitTensor([1.0, 2.0], {"m": 1}), UnitTensor([1.0, 2.0], {"s": 1})
    with pytest.raises(UnitError):
        call(metres, seconds)
    assert (metres.unit, metres.tolist()) == ({"m": 1}, [1.0, 2.0])


def test_units_of_results() -> None:
    metres, seconds = UnitTensor([4.0, 9.0], {"m": 1}), UnitTensor([2.0, 3.0], {"s": 1})
    for result, unit in [
        (metres * seconds, {"m": 1, "s": 1}),
        (2 / seconds, {"s": -1}),
        (metres @ metres, {"m": 2}),
        (tl.kron(metres, seconds), {"m": 1, "s": 1}),
        (metres.sqrt(), {"m": 0.5}),
        (metres.var(), {"m": 2}),
        (metres**0, {}),
        (metres / metres, {}),
        (metres.max(dim=0).values, {"m": 1}),
        (metres.split(1)[1], {"m": 1}),
        (metres.topk(1).values, {"m": 1}),
    ]:
        assert result.unit == unit
    assert type(metres.max(dim=0).indices) is tl.Tensor


def test_quantities_are_brought_to_base_units() -> None:
    speed = quantity([36.0, 72.0], "km h^-1")
    assert speed.unit == {"m": 1, "s": -1}
    assert tl.allclose(speed.as_plain(), tl.tensor([10.0, 20.0]))
    assert tl.allclose(speed.expressed_in("km h^-1"), tl.tensor([36.0, 72.0]))
    force = quantity(2.0, "kg") * quantity(3.0, "m s^-2")
    assert force.expressed_in("N").item() == 6.0
    assert (force * quantity(5.0, "m")).expressed_in("J").item() == 30.0


def test_gradients_pass_through_units() -> None:
    seconds = tl.tensor([2.0, 4.0], requires_grad=True)
    (UnitTensor([3.0, 8.0], {"m": 1}) / UnitTensor(seconds, {"s": 1})).sum().backward()
    assert seconds.grad.tolist() == [-0.75, -0.5]
