"""The audit finds each kind of fault, names it, and leaves no trace of itself."""

import json
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from examples.logging_tensor import LoggingTensor
from examples.metadata_tensor import MetadataTensor
from examples.scalar_tensor import FallbackScalarTensor, ScalarTensor
from tensorlike.audit import (
    AuditReport,
    AuditRow,
    Outcome,
    SignatureFault,
    ValueCheck,
)
from tensorlike.dispatch.core import CLEAR, PLAIN, STATE
from tests.helpers.held import Held, raw

audit = tl.overrides.audit


class Broken(Held):
    """One fault of each kind."""

    TABLE: dict[Any, Any] = {}

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in cls.TABLE:
            return cls.TABLE[func](*args, **(kwargs or {}))
        return super().__torch_function__(func, types, args, kwargs)


def broken(func: Any) -> Any:
    def register(implementation: Any) -> Any:
        Broken.TABLE[func] = implementation
        return implementation

    return register


def made(array: Any) -> Broken:
    return Broken(tl.tensor(array))


@broken(tl.log)
def right(input: Any, *, out: Any = None) -> Any:
    return made(np.log(raw(input)))


@broken(tl.add)
def no_alpha(input: Any, other: Any, *, out: Any = None) -> Any:
    return made(raw(input) + raw(other))


@broken(tl.mul)
def other_names(left: Any, right: Any, *, out: Any = None) -> Any:
    return made(raw(left) * raw(right))


@broken(tl.sub)
def refuses(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    return NotImplemented


@broken(tl.div)
def raises(input: Any, other: Any, *, rounding_mode: Any = None, out: Any = None) -> Any:
    raise LookupError("no division here")


@broken(tl.exp)
def recurses(input: Any, *, out: Any = None) -> Any:
    return tl.exp(input, out=out)


@broken(tl.sin)
def loses_the_type(input: Any, *, out: Any = None) -> Any:
    return tl.tensor(np.sin(raw(input)))


@broken(tl.neg)
def wrong_value(input: Any, *, out: Any = None) -> Any:
    return made(raw(input) * np.float32(1))


@broken(tl.logsumexp)
def wrong_default(input: Any, dim: Any, keepdim: bool = True, *, out: Any = None) -> Any:
    return made(np.log(np.exp(raw(input)).sum(axis=dim, keepdims=keepdim)))


@broken(tl.clamp)
def keyword_only(input: Any, *, min: Any = None, max: Any = None, out: Any = None) -> Any:
    low, high = (None if value is None else raw(value) for value in (min, max))
    return made(np.clip(raw(input), low, high))


@broken(tl.addcmul)
def ignores_an_argument(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1, out: Any = None) -> Any:
    return made(raw(input) + raw(tensor1) * raw(tensor2))


@broken(tl.Tensor.mul_)
def does_not_write(self: Any, other: Any) -> Any:
    return made(raw(self) * raw(other))


@broken(tl.cat)
def sees_the_first_alone(tensors: Any, dim: int = 0, *, out: Any = None) -> Any:
    return made(np.concatenate([tensors[0].held.numpy(), *map(raw, tensors[1:])], axis=dim))


@broken(tl.cos)
def prints_and_warns(input: Any, *, out: Any = None) -> Any:
    print("in cos")
    warnings.warn("cosines are deprecated", FutureWarning, stacklevel=1)
    return made(np.cos(raw(input)))


@broken(tl.tanh)
def exits(input: Any, *, out: Any = None) -> Any:
    sys.exit("tanh ends it all")


@broken(tl.sqrt)
def spoils_its_operand(input: Any, *, out: Any = None) -> Any:
    result = made(np.sqrt(raw(input)))
    input.held.fill_(-1.0)
    return result


@broken(tl.ceil)
def leaves_a_mode(input: Any, *, out: Any = None) -> Any:
    tl.set_grad_enabled(False)
    tl.dispatch.DisableTorchFunction().__enter__()
    return made(np.ceil(raw(input)))


@pytest.fixture(scope="module")
def report() -> AuditReport:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # The audit itself gives none, whatever the type does.
        return audit(Broken)


def texts(row: AuditRow) -> str:
    return "\n".join(row.faults)


def test_an_implementation_of_its_own(report: AuditReport) -> None:
    row = report.row("tensorlike.log", "input")
    assert row.outcome is Outcome.OWN
    assert row.value is ValueCheck.EQUAL
    assert row.passed, texts(row)
    assert row.answered_by.startswith("right (test_audit.py:")
    assert row.call == "tensorlike.log(Held(...))"


def test_fallback_to_plain_tensors(report: AuditReport) -> None:
    row = report.row("tensorlike.Tensor.log", "self")
    # It gives the type, so that it is a rule of the type's own.
    assert row.outcome is Outcome.OWN
    assert row.on_plain
    assert row.passed, texts(row)
    assert not row.type_lost


def test_a_missing_parameter_is_seen_and_tried(report: AuditReport) -> None:
    row = report.row("tensorlike.add", "input")
    assert row.outcome is Outcome.OWN
    [problem] = row.signature
    assert (problem.fault, problem.parameter, problem.confirmed) == (SignatureFault.MISSING, "alpha", True)
    assert "TypeError: no_alpha() got an unexpected keyword argument 'alpha'" in problem.text
    assert not row.passed


def test_other_names(report: AuditReport) -> None:
    row = report.row("tensorlike.mul", "input")
    assert [(p.fault, p.parameter) for p in row.signature] == [
        (SignatureFault.NAME, "input"),
        (SignatureFault.NAME, "other"),
    ]
    assert row.signature[0].confirmed
    assert "unexpected keyword argument 'input'" in row.signature[0].text


def test_another_default(report: AuditReport) -> None:
    row = report.row("tensorlike.logsumexp", "input")
    [problem] = [p for p in row.signature if p.parameter == "keepdim"]
    assert problem.fault is SignatureFault.DEFAULT
    assert "keepdim=True" in problem.text
    assert "keepdim=False" in problem.text


def test_a_parameter_of_the_wrong_kind(report: AuditReport) -> None:
    row = report.row("tensorlike.clamp", "input")
    faults = {p.parameter: p.fault for p in row.signature}
    assert faults["min"] is SignatureFault.KIND or faults["min"] is SignatureFault.REFUSED, texts(row)
    assert "keyword" in texts(row) or "positional" in texts(row)


def test_not_implemented(report: AuditReport) -> None:
    for operand in ("input", "other", "out"):
        row = report.row("tensorlike.sub", operand)
        assert row.outcome is Outcome.REFUSED
        assert row.left_out
        assert row.error_type == "TypeError"
        assert row.error.startswith("no implementation found for 'tensorlike.sub'")


def test_an_exception(report: AuditReport) -> None:
    for operand in ("input", "other"):
        row = report.row("tensorlike.div", operand)
        assert row.outcome is Outcome.RAISED
        assert (row.error_type, row.error) == ("LookupError", "no division here")
        assert row.faults == ["raised: no division here"]
    assert report.row("tensorlike.tanh", "input").error_type == "SystemExit"


def test_recursion(report: AuditReport) -> None:
    row = report.row("tensorlike.exp", "input")
    assert row.outcome is Outcome.RAISED
    assert row.recursed
    assert row.faults == ["raised: 'tensorlike.exp' came back to Broken.__torch_function__ again and again"]
    assert row.severity == max(r.severity for r in report.rows)


def test_a_lost_type(report: AuditReport) -> None:
    row = report.row("tensorlike.sin", "input")
    assert row.outcome is Outcome.TYPE_LOST
    assert row.faults == ["type lost: the answer is a Tensor, not a Broken"]
    # Sizes and booleans are no tensors: nothing is lost.
    assert report.row("tensorlike.is_floating_point", "input").passed
    assert report.row("tensorlike.Tensor.shape.__get__", "self").passed


def test_a_wrong_value(report: AuditReport) -> None:
    row = report.row("tensorlike.neg", "input")
    assert row.outcome is Outcome.OWN
    assert row.value is ValueCheck.DIFFERS
    assert "expected" in row.difference


def test_an_ignored_argument_shows_in_the_value(report: AuditReport) -> None:
    row = report.row("tensorlike.addcmul", "input")
    assert row.signature == []
    assert row.value is ValueCheck.DIFFERS
    assert "value=" in row.difference


def test_an_in_place_function_that_does_not_write(report: AuditReport) -> None:
    row = report.row("tensorlike.Tensor.mul_", "self")
    assert row.value is ValueCheck.DIFFERS
    assert row.difference.startswith("the operand afterwards: ")
    assert report.row("tensorlike.Tensor.add_", "self").passed


def test_an_operand_inside_a_list(report: AuditReport) -> None:
    row = report.row("tensorlike.cat", "tensors")
    assert row.outcome is Outcome.RAISED
    assert row.error_type == "AttributeError"


def test_what_is_printed_and_warned_is_recorded(report: AuditReport, capsys: pytest.CaptureFixture[str]) -> None:
    row = report.row("tensorlike.cos", "input")
    assert row.printed == "in cos\n"
    assert row.warnings == ["FutureWarning: cosines are deprecated"]
    assert report.warnings["FutureWarning: cosines are deprecated"] >= 2
    assert row.passed
    assert audit(Broken, only="tensorlike.cos").row("tensorlike.cos", "input").printed
    assert capsys.readouterr() == ("", "")


def test_a_handler_that_spoils_its_operands_spoils_nothing_else(report: AuditReport) -> None:
    row = report.row("tensorlike.sqrt", "input")
    assert row.outcome is Outcome.OWN
    assert row.verdict is Outcome.WRONG_VALUE
    assert row.difference.startswith("the operand afterwards: -1.0")
    assert report.row("tensorlike.Tensor.sqrt", "self").passed


#: The forms of rows that are about methods, operators and programs.
OTHERS = ("written", "program")


def test_the_rest_is_right(report: AuditReport) -> None:
    faulty = {
        row.function.rpartition(".")[2] for row in report.worst() if row.operand != "out" and row.form not in OTHERS
    }
    names = {func.__name__ for func in Broken.TABLE} - {"log", "cos", "ceil"}
    assert faulty == names


def test_totals_and_order(report: AuditReport) -> None:
    totals = report.totals
    assert totals.called == sum(totals.outcomes[o] for o in Outcome if o is not Outcome.NOT_CALLED)
    assert totals.passed + totals.faults == totals.called
    assert totals.called + totals.outcomes[Outcome.NOT_CALLED] == len(report.rows)
    assert report.coverage == pytest.approx(100 * totals.passed / totals.called)
    groups = report.by_namespace()
    assert sum(group.called for group in groups.values()) == totals.called
    faults = [group.faults for group in groups.values()]
    assert faults == sorted(faults, reverse=True)
    worst = [row.severity for row in report.worst()]
    assert worst == sorted(worst, reverse=True)
    causes = report.causes()
    assert sorted(id(row) for cause in causes for row in cause.rows) == sorted(map(id, report.worst()))
    assert len({cause.text for cause in causes}) == len(causes)
    assert "" not in {cause.text for cause in causes}
    lost = [cause for cause in causes if cause.text.startswith("type lost")]
    assert [cause.text for cause in lost] == ["type lost"]
    assert {row.outcome for row in lost[0].rows} == {Outcome.TYPE_LOST}


def test_nothing_is_left_behind() -> None:
    tl.manual_seed(7)
    expected = tl.rand(3).tolist()
    tl.manual_seed(7)
    profile = sys.getprofile()
    plain = set(PLAIN)
    audit(Broken, only=("tensorlike.c*", "tensorlike.exp", "tensorlike.rand*"))
    assert tl.rand(3).tolist() == expected
    assert sys.getprofile() is profile
    assert STATE.get() is CLEAR
    assert tl.is_grad_enabled()
    assert plain == PLAIN


# The json of a report.


def test_json_round_trip(report: AuditReport) -> None:
    text = report.to_json()
    again = AuditReport.from_json(text)
    assert again == report
    assert again.to_json() == text
    data = json.loads(text)
    assert data["format"] == "tensorlike-audit"
    assert data["format_version"] == 2
    assert data["type"].endswith("test_audit.Broken")
    assert data["totals"]["calls"] == report.totals.called
    assert data["totals"]["coverage"] == round(report.coverage, 2)
    keys = {"function", "namespace", "form", "operand", "outcome", "passed", "call", "answer", "error_type", "error"}
    keys |= {"by_default", "cause", "verdict", "attributes", "on_plain", "left_out", "meant"}
    keys |= {"answered_by", "type_lost", "signature", "value", "difference", "reason", "warnings", "printed"}
    assert all(set(row) == keys for row in data["rows"])
    assert {row["outcome"] for row in data["rows"]} <= {outcome.value for outcome in Outcome}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "no report of an audit"),
        ({"format": "something"}, "no report of an audit"),
        ({"format": "tensorlike-audit", "format_version": 3}, "format version 3"),
        ({"format": "tensorlike-audit", "format_version": 1, "type": "x"}, "damaged: KeyError: 'rows'"),
        ({"format": "tensorlike-audit", "format_version": 1, "type": "x", "rows": [{"outcome": "odd"}]}, "odd"),
        ({"format": "tensorlike-audit", "format_version": 1, "type": "x", "rows": [3]}, "damaged"),
    ],
)
def test_what_is_no_report_is_refused(data: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AuditReport.from_dict(data)


def with_outcome(report: AuditReport, function: str, **changes: Any) -> AuditReport:
    data = report.to_dict()
    for row in data["rows"]:
        if row["function"] == function:
            row.update(changes)
    return AuditReport.from_dict(data)


def test_regressions(report: AuditReport) -> None:
    assert report.regressions(report) == []
    worse = with_outcome(report, "tensorlike.log", outcome="raised", error="oh")
    found = worse.regressions(report)
    assert [(r.row.function, r.text) for r in found][:1] == [("tensorlike.log", "was own rule, now raised: oh")]
    # What was as bad before, what has become better and what is new are no regressions.
    assert report.regressions(worse) == []
    fewer = AuditReport("x", [row for row in report.rows if row.function != "tensorlike.log"])
    assert worse.regressions(fewer) == []
    signature = [{"fault": "missing", "parameter": "out", "text": "no out", "confirmed": False}]
    [first, *_] = with_outcome(report, "tensorlike.log", signature=signature).regressions(report)
    assert first.text == "signature: no out"
    [first, *_] = with_outcome(report, "tensorlike.log", value="differs", difference="1 for 2").regressions(report)
    assert first.text == "wrong value: 1 for 2"


# The types of the examples.


def test_scalar_tensor() -> None:
    found = audit(ScalarTensor, make=lambda: ScalarTensor(2, 2.0), only=("tensorlike.add", "tensorlike.m*"))
    row = found.row("tensorlike.add", "input")
    assert row.answered_by.startswith("add (scalar_tensor.py:")
    problems = {p.parameter: p for p in row.signature}
    assert problems.keys() == {"alpha", "out"}
    assert problems["alpha"].confirmed
    assert "TypeError: add() got an unexpected keyword argument 'alpha'" in problems["alpha"].text
    assert found.row("tensorlike.mul", "input").left_out
    mean = found.row("tensorlike.mean", "input")
    assert mean.outcome is Outcome.TYPE_LOST
    assert mean.reason == "the answer is a float, not a ScalarTensor"
    assert {"dim", "keepdim"} <= {p.parameter for p in mean.signature}


def test_scalar_tensor_with_values() -> None:
    found = audit(ScalarTensor, make=lambda: ScalarTensor(2, 2.0), to_dense=lambda s: s.tensor(), only="tensorlike.add")
    assert found.row("tensorlike.add", "input").value is ValueCheck.EQUAL
    assert found.row("tensorlike.add", "other").value is ValueCheck.EQUAL


def test_fallback_scalar_tensor() -> None:
    found = audit(
        FallbackScalarTensor,
        make=lambda: FallbackScalarTensor(2, 2.0),
        to_dense=lambda s: s.tensor(),
        only=("tensorlike.mul", "tensorlike.cat", "tensorlike.mean"),
    )
    row = found.row("tensorlike.mul", "other")
    assert row.outcome is Outcome.THROUGH_PLAIN
    assert row.type_lost
    assert row.passed
    assert found.row("tensorlike.cat", "tensors").outcome is Outcome.THROUGH_PLAIN
    assert found.row("tensorlike.mean", "input").answered_by.startswith("mean (scalar_tensor.py:")


def test_metadata_tensor_answers_everything() -> None:
    # Functions alone: the type has no methods.
    made = {"from_dense": lambda t: MetadataTensor(t, {"a": 1}), "to_dense": lambda m: m._t}
    found = audit(MetadataTensor, only="tensorlike.*", **made)
    faulty = [(row.function, row.operand, row.faults) for row in found.worst()]
    assert faulty == []
    outcomes = found.totals.outcomes
    assert outcomes[Outcome.OWN] + outcomes[Outcome.THROUGH_PLAIN] == found.totals.called > 500
    assert outcomes[Outcome.OWN] > 500


def test_an_instance_of_fixed_shape_is_only_put_where_it_fits() -> None:
    make = lambda: MetadataTensor([[1.0, 2.0], [3.0, 4.0]])
    found = audit(MetadataTensor, make=make, to_dense=lambda m: m._t, only="tensorlike.*")
    assert [(row.function, row.operand, row.faults) for row in found.worst()] == []
    assert found.totals.called > 300
    # Without to_dense the shape and the dtype are asked of the type.
    found = audit(MetadataTensor, make=lambda: MetadataTensor([[1.0, 2.0], [3.0, 4.0]]), only="*and*")
    row = found.row("tensorlike.Tensor.__and__", "self")
    assert row.outcome is Outcome.NOT_CALLED
    assert row.reason.startswith("plain tensors are refused: ")


class Sub(tl.Tensor):
    """A subclass that overrides nothing."""


def test_plain_subclass() -> None:
    found = audit(Sub)
    faulty = [(row.function, row.operand, row.faults) for row in found.worst()]
    assert faulty == []
    assert found.totals.outcomes[Outcome.INHERITED] == found.totals.called > 500
    assert found.totals.compared > 500


def test_logging_subclass() -> None:
    found = audit(LoggingTensor, only="tensorlike.Tensor.*")
    faulty = [(row.function, row.operand, row.faults) for row in found.worst()]
    assert faulty == []
    assert {row.outcome for row in found.rows if row.called} == {Outcome.OWN}
    assert {row.by_default for row in found.rows if row.called} == {True}


def test_inherited_and_own_handlers() -> None:
    class Parent(Held):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return cls(tl.tensor(np.log(raw(args[0]))))

    class Child(Parent):
        pass

    assert audit(Parent, only="tensorlike.log").row("tensorlike.log", "input").outcome is Outcome.OWN
    assert audit(Child, only="tensorlike.log").row("tensorlike.log", "input").outcome is Outcome.INHERITED


def test_handlers_written_without_a_table() -> None:
    class Inline(Held):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is tl.maximum:
                return cls(tl.tensor(np.maximum(*map(raw, args))))
            return super().__torch_function__(func, types, args, kwargs)

    row = audit(Inline, only="tensorlike.maximum").row("tensorlike.maximum", "input")
    assert row.outcome is Outcome.OWN
    # Nothing to compare signatures with, but the call by keyword shows that they are not understood.
    [problem] = row.signature
    assert problem.fault is SignatureFault.REFUSED
    assert problem.confirmed
    assert "input=" in problem.text


def test_decorated_implementations_are_looked_through() -> None:
    import functools

    def logged(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return wrapper

    class Decorated(Broken):
        TABLE = {tl.add: logged(no_alpha)}

    row = audit(Decorated, only="tensorlike.add").row("tensorlike.add", "input")
    assert row.answered_by.startswith("no_alpha ")
    assert [p.parameter for p in row.signature] == ["alpha"]


def test_older_protocol_of_plain_methods() -> None:
    class Old(Held):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return Held.__dict__["__torch_function__"].__func__(type(self), func, types, args, kwargs)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = audit(Old, only="tensorlike.mul")
    assert found.row("tensorlike.mul", "input").outcome is Outcome.OWN
    assert any("plain method" in text for text in found.warnings)


def test_what_plain_tensors_warn_of_too_is_not_the_types() -> None:
    found = audit(Held, only="tensorlike.nn.functional.softmax")
    assert found.totals.called > 0
    assert found.warnings == {}
