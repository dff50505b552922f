"""Types written against PyTorch are audited and traced with the same commands and reports."""

import json
import textwrap
import threading
from pathlib import Path

import numpy as np
import pytest
import torch

from tensorlike.__main__ import main
from tensorlike.audit import AuditError, AuditReport, Outcome, SignatureFault, ValueCheck
from tensorlike.audit.html import to_html
from tensorlike.audit.making import api_named
from tensorlike.overrides import audit, trace


class Marked(torch.Tensor):
    pass


class Held:
    """A duck type with one fault of each kind; what is not in its table falls back to plain tensors."""

    def __init__(self, held):
        self.held = held

    def __tensorlike_to_dense__(self):
        return self.held

    @classmethod
    def __tensorlike_from_dense__(cls, tensor):
        return cls(tensor)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in TABLE:
            return TABLE[func](*args, **kwargs)
        result = func(*map(opened, args), **{name: opened(value) for name, value in kwargs.items()})
        return Held(result) if type(result) is torch.Tensor else result


def opened(value):
    if isinstance(value, (list, tuple)):
        return type(value)(map(opened, value))
    return value.held if isinstance(value, Held) else value


def array(value):
    return opened(value).detach().numpy() if isinstance(value, (Held, torch.Tensor)) else value


def right(input, *, out=None):
    return Held(torch.from_numpy(np.log(array(input))))


def no_alpha(input, other, *, out=None):
    return Held(torch.from_numpy(np.add(array(input), array(other))))


def other_names(left, right, *, out=None):
    return Held(torch.from_numpy(np.multiply(array(left), array(right))))


def refuses(*args, **kwargs):
    return NotImplemented


def raises(*args, **kwargs):
    raise LookupError("no division here")


def recurses(input, *, out=None):
    return torch.exp(input)


def loses_the_type(input, *, out=None):
    return torch.from_numpy(np.sin(array(input)))


def wrong_value(input, *, out=None):
    return Held(torch.from_numpy(array(input).copy()))


TABLE = {
    torch.log: right,
    torch.add: no_alpha,
    torch.mul: other_names,
    torch.sub: refuses,
    torch.div: raises,
    torch.exp: recurses,
    torch.sin: loses_the_type,
    torch.neg: wrong_value,
}


@pytest.fixture(scope="module")
def api():
    return api_named("torch")


def rows(api, kind, *names):
    return {row.operand: row for row in audit(kind, only=names, api=api).rows}


def test_the_list_is_the_table_of_pytorch(api):
    functions = {function.name: function for function in api.functions()}
    assert len(functions) > 1200
    assert functions["torch.mul"].key is torch.mul
    assert functions["torch.Tensor.shape.__get__"].form == "property"
    called = [name for name, function in functions.items() if next(api.calls(function), None) is not None]
    assert len(called) > 700


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("torch.log", Outcome.OWN),
        ("torch.sub", Outcome.REFUSED),
        ("torch.div", Outcome.RAISED),
        ("torch.exp", Outcome.RAISED),
        ("torch.sin", Outcome.TYPE_LOST),
        ("torch.sqrt", Outcome.OWN),
        ("torch.cat", Outcome.OWN),
        ("torch.hypot", Outcome.OWN),
    ],
)
def test_outcomes_of_a_duck_type(api, name, outcome):
    assert next(iter(rows(api, Held, name).values())).outcome is outcome


def test_values_of_a_duck_type(api):
    assert rows(api, Held, "torch.neg")["input"].value is ValueCheck.DIFFERS
    assert rows(api, Held, "torch.log")["input"].value is ValueCheck.EQUAL


def test_signatures_of_a_duck_type(api):
    add = rows(api, Held, "torch.add")["input"]
    assert [(p.fault, p.parameter, p.confirmed) for p in add.signature] == [(SignatureFault.MISSING, "alpha", True)]
    mul = rows(api, Held, "torch.mul")["input"]
    assert {(p.fault, p.parameter) for p in mul.signature} >= {(SignatureFault.NAME, "input")}


def test_methods_in_c_cannot_take_a_duck_as_their_object(api):
    found = rows(api, Held, "torch.Tensor.add")
    assert found["self"].outcome is Outcome.NOT_CALLED
    assert "written in C" in found["self"].reason
    assert found["other"].outcome is Outcome.OWN
    assert rows(api, Held, "torch.Tensor.split")["self"].outcome is not Outcome.NOT_CALLED


def test_a_subclass_inherits_everything(api):
    report = audit(Marked, only=("torch.mul", "torch.Tensor.add_", "torch.cat", "torch.linalg.det"), api=api)
    assert {row.outcome for row in report.rows} == {Outcome.INHERITED}
    assert report.coverage == 100
    assert (report.api, report.version) == ("torch", torch.__version__)


def test_a_subclass_on_a_whole_namespace(api):
    report = audit(Marked, only="torch.linalg.*", api=api)
    assert report.coverage > 90
    assert torch.overrides._get_current_function_mode() is None
    assert "torch.linalg" in to_html(report)
    assert AuditReport.from_json(report.to_json()).api == "torch"


def test_the_command(tmp_path: Path, capsys):
    (tmp_path / "audited_with_torch.py").write_text(
        textwrap.dedent(
            """
            import torch

            class Refusing:
                @classmethod
                def __torch_function__(cls, func, types, args=(), kwargs=None):
                    return NotImplemented
            """
        )
    )
    target = f"{tmp_path / 'audited_with_torch.py'}:Refusing"
    assert main(["audit", target, "--api", "torch", "--only", "torch.mul", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["api"] == "torch"
    assert {row["outcome"] for row in report["rows"]} == {"refused"}
    assert main(["audit", target, "--api", "torch", "--only", "torch.mull"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_an_unknown_api():
    with pytest.raises(AuditError, match="is 'tensorlike' or 'torch', not 'jax'"):
        audit(Marked, api="jax")


class TestTrace:
    def test_a_subclass_and_a_duck(self):
        marked = torch.ones(2).as_subclass(Marked)
        with trace(api="torch") as log:
            result = torch.add(1, marked)
            torch.cat([torch.ones(1), marked])
            torch.sqrt(Held(torch.ones(2)))
        assert type(result) is Marked
        assert [(r.name, r.answered_by, r.how) for r in log] == [
            ("torch.add", "Marked", "inherited"),
            ("torch.cat", "Marked", "inherited"),
            ("torch.sqrt", "Held", "type"),
        ]
        assert torch.overrides._get_current_function_mode() is None
        assert len(json.loads(log.to_perfetto())["traceEvents"]) == 7

    def test_nesting_and_plain_calls(self):
        class Halves(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                if func is torch.sub:
                    return torch.add(args[0], 1)
                return super().__torch_function__(func, types, args, kwargs)

        halves = torch.ones(2).as_subclass(Halves)
        with trace(api="torch") as log:
            torch.sub(halves, 1)
            halves.shape
            torch.mul(torch.ones(1), 1)
        assert [(r.name, r.depth) for r in log] == [
            ("torch.sub", 0),
            ("torch.add", 1),
            ("torch.Tensor.shape.__get__", 0),
        ]
        with trace(api="torch", plain=True) as log:
            torch.mul(torch.ones(1), 1)
        assert [r.how for r in log if r.name == "torch.mul"] == ["plain"]

    def test_errors_are_those_of_pytorch(self):
        with trace(api="torch") as log, pytest.raises(TypeError, match="Multiple dispatch failed"):
            torch.sub(Held(torch.ones(1)), 1)
        assert log[0].asked[0].outcome == "NotImplemented"
        assert log[0].error.startswith("TypeError: Multiple dispatch failed")
        with trace(api="torch") as log, pytest.raises(LookupError):
            torch.div(Held(torch.ones(1)), 1)
        assert log[0].error == "LookupError: no division here"

    def test_other_threads_are_not_seen(self):
        with trace(api="torch") as log:
            thread = threading.Thread(target=lambda: torch.add(Held(torch.ones(1)), 1))
            thread.start()
            thread.join()
        assert len(log) == 0


def test_what_calls_write_and_carry_is_compared(api):
    """In-place functions that write wrong numbers, spoiled operands, copies for views, and lost attributes."""

    class Planted(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            name = getattr(func, "__name__", "")
            result = super().__torch_function__(func, types, args, kwargs or {})
            operand = [*args, *(kwargs or {}).values()][0]
            with torch.no_grad(), torch._C.DisableTorchFunctionSubclass():
                if name in ("exp_", "mul_"):
                    operand.add_(100)
                elif name == "sinh" and "out" not in (kwargs or {}):
                    operand.mul_(2)
                elif name == "t":
                    result = result.clone().as_subclass(cls)
            if isinstance(result, cls) and name != "cosh" and isinstance(operand, cls):
                result.tag = operand.tag
            return result

    def made(tensor):
        instance = tensor.as_subclass(Planted)
        instance.tag = "here"
        return instance

    only = ("torch.Tensor.exp_", "torch.Tensor.mul_", "torch.sinh", "torch.t", "torch.cosh", "torch.exp")
    found = audit(Planted, from_dense=made, only=only, api=api, metadata=lambda x: x.tag)
    first = {row.function: row for row in reversed(found.rows) if row.operand != "out" and row.operand != "other"}
    verdicts = {name: row.verdict for name, row in first.items()}
    wrong = Outcome.WRONG_VALUE
    assert verdicts == {
        "torch.Tensor.exp_": wrong, "torch.Tensor.mul_": wrong, "torch.sinh": wrong, "torch.t": wrong,
        "torch.cosh": Outcome.ATTRIBUTE_LOST, "torch.exp": Outcome.OWN,
    }  # fmt: skip
    assert first["torch.sinh"].difference.startswith("the operand afterwards: ")
    assert first["torch.t"].difference.startswith("a copy")
    assert audit(Marked, only=only, api=api).worst() == []
