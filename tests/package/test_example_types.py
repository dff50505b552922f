"""The example types, audited and put through the conformance suite: what they answer is right."""

import copy
import pickle
from typing import Any

import pytest

import tensorlike as tl
from examples.diagonal_tensor import DiagonalTensor
from examples.masked_tensor import ELEMENTWISE, MaskedTensor
from examples.unit_tensor import RULES, UnitError, UnitTensor, compares, forgets
from tensorlike.overrides.audit import AuditReport, Outcome, ValueCheck
from tensorlike.testing import TensorLikeSuite


def diagonal(tensor: tl.Tensor) -> Any:
    if tensor.ndim != 2 or tensor.shape[0] != tensor.shape[1]:
        return NotImplemented
    return DiagonalTensor(tensor.diagonal().clone())


def diagonal_or_error(tensor: tl.Tensor) -> DiagonalTensor:
    made = diagonal(tensor)
    if made is NotImplemented:
        raise ValueError("not a square matrix")
    return made


# The audits.


@pytest.fixture(scope="module")
def units() -> AuditReport:
    return tl.overrides.audit(UnitTensor, from_dense=lambda t: UnitTensor(t, {}), to_dense=UnitTensor.as_plain)


@pytest.fixture(scope="module")
def masked() -> AuditReport:
    return tl.overrides.audit(MaskedTensor, from_dense=lambda t: MaskedTensor(t, True), to_dense=lambda m: m.data)


@pytest.fixture(scope="module")
def diagonals() -> AuditReport:
    make = lambda: DiagonalTensor([1.0, 2.0])
    return tl.overrides.audit(DiagonalTensor, from_dense=diagonal_or_error, make=make, to_dense=DiagonalTensor.dense)


@pytest.mark.parametrize("name, at_least, compared", [("units", 400, 450), ("masked", 100, 100), ("diagonals", 3, 15)])
def test_what_is_answered_is_right(request: pytest.FixtureRequest, name: str, at_least: int, compared: int) -> None:
    report: AuditReport = request.getfixturevalue(name)
    assert report.totals.passed >= at_least
    assert report.totals.compared >= compared
    assert [row.key for row in report.rows if row.value is ValueCheck.DIFFERS] == []
    assert [row.key for row in report.rows if row.outcome is Outcome.RECURSED] == []


def test_units_raise_nothing_but_what_plain_tensors_raise(units: AuditReport) -> None:
    raised = {row.function for row in units.rows if row.outcome is Outcome.RAISED}
    assert raised <= {"tensorlike.Tensor.detach_"}  # of a view


def test_units_are_lost_by_design_alone(units: AuditReport) -> None:
    def rule(function: str) -> Any:
        return RULES[function.rpartition(".")[2].strip("_")][0]

    lost = [row.function for row in units.rows if row.outcome is Outcome.TYPE_LOST]
    with_positions = {"max", "min", "median", "sort"}
    lost = [name for name in lost if name.rpartition(".")[2] not in with_positions]
    assert len(lost) > 40
    assert [name for name in lost if rule(name) not in (compares, forgets)] == []


@pytest.mark.parametrize("name", ["units", "masked", "diagonals"])
def test_signatures_lack_nothing_but_out(request: pytest.FixtureRequest, name: str) -> None:
    report: AuditReport = request.getfixturevalue(name)
    problems = [(row.function, p.text) for row in report.rows for p in row.signature if p.parameter != "out"]
    assert problems == []


def test_refusals_are_of_functions_without_an_entry(masked: AuditReport, diagonals: AuditReport) -> None:
    refused = {row.function for row in masked.rows if row.outcome is Outcome.NOT_IMPLEMENTED}
    assert not refused & {f"tensorlike.{name}" for name in (*ELEMENTWISE, "sum", "mean", "amax", "amin", "isnan")}
    rows = [row for row in diagonals.rows if row.operand != "out"]  # a result has no memory to be written to
    refused = {row.function for row in rows if row.outcome is Outcome.NOT_IMPLEMENTED}
    assert not refused & {"tensorlike.matmul", "tensorlike.Tensor.matmul", "tensorlike.mm", "tensorlike.linalg.inv"}


# The suites.


class TestUnitTensor(TensorLikeSuite):
    functions = ("add", "sub", "mul", "div", "matmul", "sum", "mean", "max", "sqrt", "exp", "cat", "eq", "reshape",
                 "Tensor.add", "Tensor.mul_", "Tensor.__getitem__")  # fmt: skip
    plain_results = ("eq", "max")  # max: positions have no unit
    gradients = True

    def make_operand(self, tensor: Any) -> Any:
        return UnitTensor(tensor, {})

    def to_dense(self, operand: Any) -> Any:
        return operand.as_plain()


class TestMaskedTensor(TensorLikeSuite):
    functions = (
        "add",
        "mul",
        "div",
        "maximum",
        "exp",
        "tanh",
        "eq",
        "sum",
        "mean",
        "amax",
        "amin",
        "isnan",
        "Tensor.add",
    )
    plain_results = ("isnan",)
    gradients = True
    inplace = False

    def make_operand(self, tensor: Any) -> Any:
        return MaskedTensor(tensor, True)

    def to_dense(self, operand: Any) -> Any:
        return operand.data


class TestDiagonalTensor(TensorLikeSuite):
    functions = ("matmul", "mm", "linalg.inv", "linalg.det", "trace", "t", "Tensor.matmul")
    plain_results = ("matmul", "mm", "Tensor.matmul", "linalg.det", "trace")
    gradients = True
    inplace = False
    out = False

    def make_operand(self, tensor: Any) -> Any:
        return diagonal(tensor)

    def to_dense(self, operand: Any) -> Any:
        return operand.dense()


# What the suites cannot know.


def test_a_unit_survives_copies() -> None:
    speed = UnitTensor([1.5, 2.0], {"m": 1, "s": -1})
    for copied in (
        pickle.loads(pickle.dumps(speed)),
        copy.deepcopy(speed),
        speed.clone(),
        speed[0],
        speed.reshape(2, 1),
    ):
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
        (metres.sqrt(), {"m": 0.5}),
        (metres.var(), {"m": 2}),
        (metres**0, {}),
        (metres / metres, {}),
        (metres.max(dim=0).values, {"m": 1}),
        (metres.split(1)[1], {"m": 1}),
    ]:
        assert result.unit == unit
    assert type(metres.max(dim=0).indices) is tl.Tensor


def test_masks_of_reductions() -> None:
    m = MaskedTensor([[1.0, 2.0], [3.0, 4.0]], [[True, False], [False, False]])
    assert tl.sum(m, 1).mask.tolist() == [True, False]
    assert tl.mean(m, 0, True).mask.tolist() == [[True, False]]
    assert tl.mean(m).data.item() == 1.0
    assert tl.amin(m, 0).mask.tolist() == [True, False]
    assert tl.add(m, MaskedTensor([1.0, 1.0], [False, True])).mask.tolist() == [[False, False], [False, False]]
    assert tl.isnan(m).tolist() == [[False, True], [True, True]]


def test_diagonal_matmul_is_never_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    def dense(self: Any) -> Any:
        raise AssertionError("the whole matrix was written out")

    monkeypatch.setattr(DiagonalTensor, "dense", dense)
    large = DiagonalTensor(tl.full((200_000,), 2.0))
    cubed = large @ large @ large
    assert isinstance(cubed, DiagonalTensor)
    assert cubed.values[-1].item() == 8.0
    assert (cubed @ tl.ones(200_000, 2)).shape == (200_000, 2)
    with pytest.raises(RuntimeError, match="sizes 200000 and 3 of the operands differ"):
        large @ tl.ones(3)
