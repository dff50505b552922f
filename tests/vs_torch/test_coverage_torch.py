"""Override coverage, the fixtures of the pytest plugin and `explain`, for types that are written against PyTorch."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tensorlike.audit.making import api_named
from tensorlike.overrides import explain
from tensorlike.overrides.trace_torch import NEVER_ASKS, first_call
from tensorlike.testing.coverage_report import CoverageReport, TypeCoverage
from tensorlike.testing.covered_functions import functions_for
from tensorlike.testing.override_coverage import Recorder

ROOT = Path(__file__).resolve().parents[2]

KINDS = """
import tensorlike as tl
import torch

class Held:  # a duck
    def __init__(self, held):
        self.held = held

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs={}):
        if func is torch.sub:
            return NotImplemented
        if func is torch.div:
            raise ValueError("no division")
        if func is torch.exp:
            return own_exp(*args, **kwargs)
        def opened(value):
            if isinstance(value, list):
                return [opened(v) for v in value]
            return value.held if isinstance(value, Held) else value
        return cls(func(*map(opened, args), **{k: opened(v) for k, v in kwargs.items()}))

def own_exp(input, *, out=None):
    return Held(torch.zeros(2))

class Marked(torch.Tensor):
    pass

class Ours(tl.Tensor):
    pass
"""

TESTS = """
import pytest
import tensorlike as tl
import torch
from kinds import Held, Marked, Ours

@pytest.mark.parametrize("n", range(6))
def test_held(n):
    one = Held(torch.ones(2))
    torch.add(one, 1)
    torch.add(torch.ones(2), other=one)
    torch.cat([torch.ones(1), one])
    torch.nn.functional.linear(torch.ones(1, 2), torch.ones(2, 2), one)
    torch.split(one, 1)
    with pytest.raises(TypeError):
        torch.sub(1, one)
    with pytest.raises(ValueError):
        torch.div(one, 1)

def test_marked():
    marked = torch.ones(2, requires_grad=True).as_subclass(Marked)
    assert type(marked * 2) is type(2 + marked) is type(marked[0]) is Marked
    assert marked.shape == (2,)

def test_ours():
    assert type(Ours([1.0]) * 2) is Ours

@pytest.mark.no_override_coverage
def test_left_out():
    torch.exp(Held(torch.ones(2)))
"""

FIXTURES = """
import pytest
import torch
from kinds import Held, Marked

@pytest.mark.override_trace(api="torch")
def test_trace(override_trace):
    torch.add(torch.ones(2), other=Held(torch.ones(2)))
    assert [(r.name, r.answered_by, r.operand) for r in override_trace] == [("torch.add", "Held", "other")]

def test_traces_tensorlike_unless_told(override_trace):
    torch.add(Held(torch.ones(2)), 1)
    assert len(override_trace) == 0

def test_overridden(assert_overridden):
    assert_overridden(torch.exp, Held, from_dense=Held)

def test_handed_on(assert_overridden):
    assert_overridden(torch.add, Held, from_dense=Held)

def test_refused(assert_overridden):
    assert_overridden(torch.sub, Held, from_dense=Held, operand="input")

def test_inherited(assert_overridden):
    assert_overridden(torch.Tensor.add, Marked)

def test_no_such_function(assert_overridden):
    with pytest.raises(TypeError, match="overridable function"):
        assert_overridden(torch.ones, Marked)
"""

HELD = {
    ("torch.add", "input"): ({"answered": 6}, ["Held"]),
    ("torch.add", "other"): ({"answered": 6}, ["Held"]),
    ("torch.cat", "tensors"): ({"answered": 6}, ["Held"]),
    ("torch.nn.functional.linear", "bias"): ({"answered": 6}, ["Held"]),
    ("torch.functional.split", "tensor"): ({"answered": 6}, ["Held"]),
    ("torch.sub", "other"): ({"NotImplemented": 6}, []),
    ("torch.div", "input"): ({"raised": 6}, ["ValueError"]),
}
MARKED = {
    ("torch.Tensor.mul", "self"): ({"answered": 1}, ["Marked"]),
    ("torch.Tensor.add", "self"): ({"answered": 1}, ["Marked"]),
    ("torch.Tensor.__getitem__", "self"): ({"answered": 1}, ["Marked"]),
    ("torch.Tensor.shape.__get__", "self"): ({"answered": 1}, ["Size"]),
}
OURS = {("tensorlike.Tensor.mul", "self"): ({"answered": 1}, ["Ours"])}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "kinds.py").write_text(KINDS)
    (tmp_path / "test_kinds.py").write_text(TESTS)
    return tmp_path


def run(folder, *arguments):
    path = os.pathsep.join((str(ROOT), str(folder)))
    environment = {**os.environ, "PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "200"}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--strict-markers"]
    command += ["-p", "tensorlike.testing.pytest_plugin", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def rows(found):
    return {(row["function"], row["operand"]): (row["outcomes"], row["results"]) for row in found["calls"]}


@pytest.mark.parametrize(
    "workers", [(), pytest.param(("-p", "xdist", "-n2"), marks=pytest.mark.slow)], ids=["one process", "xdist"]
)
def test_a_duck_a_subclass_and_a_type_of_ours(folder, workers):
    if workers:
        pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    done = run(
        folder, *workers, "--override-coverage=kinds:Held,Marked,Ours", "--override-coverage-api=torch",
        "--override-coverage-json=a.json", "--override-coverage-html=a.html", "--override-coverage-fail-under=5",
        "-v", "test_kinds.py",
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    under = re.findall(r"^ERROR: Coverage failure: kinds:(\w+): total of 0\.\d\d is less", done.stdout, re.MULTILINE)
    assert under == ["Held", "Marked", "Ours"]
    types = json.loads((folder / "a.json").read_text())["types"]
    assert {name: found["api"] for name, found in types.items()} == {
        "kinds:Held": "torch",
        "kinds:Marked": "torch",
        "kinds:Ours": "tensorlike",
    }
    assert rows(types["kinds:Held"]) == HELD
    assert rows(types["kinds:Marked"]) == MARKED
    assert rows(types["kinds:Ours"]) == OURS
    assert ["torch.exp", "input"] in types["kinds:Held"]["never"], "the marker is not heeded"
    assert types["kinds:Held"]["other_functions"] == {}
    assert types["kinds:Held"]["exercised"] == 7
    functions, missed, operands = (types["kinds:Held"][name] for name in ("functions", "functions_missed", "operands"))
    line = rf"^kinds:Held +{functions} +{missed} +{operands} +{operands - 7} +\d\.\d% +(-|\d\S*%)$"
    assert re.search(line, done.stdout, re.MULTILINE)
    assert "calls: 6 NotImplemented, 30 answered, 6 raised" in done.stdout
    assert done.stdout.count("= override coverage =") == 1
    page = (folder / "a.html").read_text()
    assert '<td class="name">torch.add</td><td class="name">other</td><td class="number">6</td>' in page
    assert page.count("This type has no <code>__torch_function__</code> of its own") == 2
    # Lines of a type for PyTorch, with the functions of PyTorch that took them.
    [taken] = re.findall(r"</b> ValueError\(.*?</td>(.*?)</tr>", page, re.S)
    assert '<span class="name">torch.div</span> <span class="soft">× 6</span>' in taken


def test_fixtures(folder):
    """While coverage is on: what it puts in a type's place is not taken for the type's own."""
    (folder / "test_fixtures.py").write_text(FIXTURES)
    covered = ("--override-coverage=kinds:Held,Marked", "--override-coverage-api=torch")
    done = run(folder, "-rA", *covered, "test_fixtures.py")
    outcomes = re.findall(r"^(PASSED|FAILED) test_fixtures.py::(\w+)", done.stdout, re.MULTILINE)
    assert len(outcomes) == 7
    failed = {"test_handed_on", "test_refused", "test_inherited"}
    assert {name for outcome, name in outcomes if outcome == "FAILED"} == failed, done.stdout
    assert "Held does not override torch.add\ninput: the function is called again on plain tensors" in done.stdout
    assert "input: NotImplemented: torch.sub(" in done.stdout
    assert "Marked does not override torch.Tensor.add\nself: Tensor's own implementation computes it" in done.stdout


class Duck:
    asked = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.asked.append((cls, func))
        return NotImplemented


class Lower(Duck):
    pass


class Other(Duck):
    pass


class Marked(torch.Tensor):
    pass


class TestList:
    def test_what_is_listed_is_what_types_are_asked_about(self):
        """By sample calls of all functions: types are asked about those that are listed, and about no others."""
        api = api_named("torch")
        listed = {function for function, _ in functions_for(Marked).operands(Marked)}
        marked = lambda v: (
            v.as_subclass(Marked)
            if isinstance(v, torch.Tensor)
            else type(v)(map(marked, v))
            if type(v) in (list, tuple)
            else v
        )
        checked = 0
        for function in api.functions():
            for call in api.calls(function):
                kwargs = {name: marked(value) for name, value in call.kwargs.items()}
                try:
                    found = first_call(function.key, tuple(map(marked, call.args)), kwargs)
                except (TypeError, RuntimeError, ValueError):
                    continue
                as_itself = found is not None and found.function == function.key
                assert as_itself == (function.name in listed), function.name
                assert (found is None) == (function.name in NEVER_ASKS)
                checked += 1
                break
        assert checked > 1200

    def test_a_duck_is_never_the_object_of_a_method_in_c(self):
        listed = set(functions_for(Duck, "torch").operands(Duck))
        assert ("torch.Tensor.add", "self") not in listed
        assert ("torch.Tensor.add", "other") in listed
        assert ("torch.Tensor.shape.__get__", "self") not in listed
        assert ("torch.Tensor.split", "self") in listed


class TestRecorder:
    @pytest.mark.parametrize(
        ("kind", "words"),
        [
            (torch.Tensor, "Tensor is the plain tensor"),
            (torch.nn.Parameter, "Parameter switches __torch_function__ off"),
            (torch.nn.Linear, "Linear has no __torch_function__"),
        ],
    )
    def test_what_no_function_asks(self, kind, words):
        with pytest.raises(ValueError, match=words):
            Recorder(kind, "torch")

    def test_the_type_is_as_before_afterwards(self):
        before = [kind.__dict__.get("__torch_function__") for kind in (Duck, Lower, Marked)]
        recorders = [Recorder(kind, "torch") for kind in (Duck, Lower, Marked)]
        for recorder in recorders:
            recorder.install()
        try:
            with pytest.raises(TypeError, match="Multiple dispatch failed"):
                torch.add(Lower(), 1)
            marked = torch.ones(2).as_subclass(Marked)
            assert type(marked + 1) is Marked
        finally:
            for recorder in reversed(recorders):
                recorder.uninstall()
        assert [kind.__dict__.get("__torch_function__") for kind in (Duck, Lower, Marked)] == before
        type(marked + 1)
        assert recorders[0].counts() == recorders[1].counts() == [("torch.add", "input", "NotImplemented", "", "", 1)]
        assert recorders[2].counts() == [("torch.Tensor.add", "self", "answered", "Marked", "", 1)]

    def test_functions_that_pytorch_does_not_list_are_counted_apart(self):
        @torch.overrides.wrap_torch_function(lambda x: (x,))
        def mine(x):
            return x

        recorder = Recorder(Marked)
        recorder.install()
        try:
            mine(torch.ones(1).as_subclass(Marked))
            torch.nn.functional.pad(torch.ones(1).as_subclass(Marked), (1, 1), "constant", 0)
        finally:
            recorder.uninstall()
        covered = TypeCoverage("Marked", recorder)
        assert covered.exercised == 1
        assert [name.rpartition(".")[2] for name in covered.others] == ["mine"]
        covered = TypeCoverage("Marked", recorder, only=["nn.functional.pa*", "torch.add"])
        assert set(covered.operands) >= {("torch.nn.functional.pad", "input"), ("torch.add", "other")}
        assert {name for name, _ in covered.operands} == {
            "torch.add", "torch.nn.functional.pad", "torch.nn.functional.pairwise_distance"
        }  # fmt: skip
        assert covered.exercised == 1
        assert covered.others == {}

    def test_a_duck_whose_library_is_not_named(self):
        recorder = Recorder(Duck)
        recorder.install()
        try:
            with pytest.raises(TypeError):
                torch.add(1, Duck())
        finally:
            recorder.uninstall()
        covered = TypeCoverage("Duck", recorder)
        assert (covered.api, covered.exercised, covered.others) == ("tensorlike", 0, {"torch.add": 1})
        lines = list(CoverageReport([covered]).lines())
        assert "  not in the list: torch.add" in lines
        assert "  PyTorch's functions called: --override-coverage-api=torch counts them" in lines

    def test_defaults_of_the_implementation_hold(self):
        """PyTorch hands on no keywords where there are none, and neither does the recorder."""
        seen = []

        class Takes:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs="its own"):
                seen.append(kwargs)
                return cls

        recorder = Recorder(Takes, "torch")
        torch.add(Takes(), 1)
        recorder.install()
        try:
            assert torch.add(Takes(), 1) is Takes
            torch.add(Takes(), 1, alpha=2)
        finally:
            recorder.uninstall()
        assert seen == ["its own", "its own", {"alpha": 2}]


class TestExplain:
    @pytest.mark.parametrize(
        ("call", "kwargs", "expected"),
        [
            ((torch.add, Duck(), Lower()), {}, [(Lower, "other", 1), (Duck, "input", 0)]),
            ((torch.add, Duck(), Other()), {}, [(Other, "other", 1), (Duck, "input", 0)]),
            ((torch.add, Lower(), Other()), {}, [(Lower, "input", 0), (Other, "other", 1)]),
            ((torch.add, torch.ones(1)), {"other": Duck()}, [(Duck, "other", 0)]),
            ((torch.cat, [torch.ones(1), Duck()]), {}, [(Duck, "tensors[1]", 0)]),
            ((torch.Tensor.add, torch.ones(1), Duck()), {}, [(Duck, "other", 0)]),
            ((torch.Tensor.__getitem__, torch.ones(1), Duck()), {}, [(Duck, "idx", 0)]),
            ((torch.nn.functional.linear, torch.ones(1), Lower()), {"bias": Other()},
             [(Lower, "weight", 0), (Other, "bias", 1)]),
            ((torch.broadcast_tensors, Duck(), Other()), {}, [(Other, "tensors[1]", 1), (Duck, "tensors[0]", 0)]),
        ],
    )  # fmt: skip
    def test_the_order_is_that_of_the_call(self, call, kwargs, expected):
        func, *args = call
        Duck.asked.clear()
        explanation = explain(func, *args, **kwargs)
        assert Duck.asked == []
        assert [(s.type, s.operand, s.position) for s in explanation.steps] == expected
        with pytest.raises(TypeError, match="Multiple dispatch failed|no implementation found"):
            func(*args, **kwargs)
        # PyTorch asks some once more for the words of its error.
        order = list(dict.fromkeys(kind for kind, _ in Duck.asked))
        assert order == [kind for kind, *_ in expected]
        assert {asked for _, asked in Duck.asked} == {explanation.function}
        assert str(explain(func, *args, api="torch", **kwargs)) == str(explanation)

    def test_its_words(self):
        marked = torch.ones(1).as_subclass(Marked)
        assert str(explain(torch.Tensor.__add__, marked, Lower())) == (
            "torch.Tensor.add: asked in this order, until one does not return NotImplemented:\n"
            "  1. Marked.__torch_function__, for operand 'input': from left to right\n"
            "  2. Lower.__torch_function__, for operand 'other': from left to right\n"
            "Marked: Tensor's own __torch_function__, which answers when every type asked is the type itself or a "
            "superclass of it.\n"
            "torch.Tensor.__add__ is asked about as torch.Tensor.add."
        )
        nobody = "nobody is asked, and its own implementation runs."
        assert str(explain(torch.add, torch.ones(1), 1)) == f"torch.add: {nobody}"
        assert str(explain(torch.split, torch.ones(2), 1)) == f"torch.functional.split: {nobody}"
        assert explain(torch.Tensor.shape.__get__, marked).steps[0].operand == "self"

    def test_functions_in_python_ask_plain_tensors_as_well(self):
        found = explain(torch.broadcast_tensors, torch.ones(1), Duck())
        assert [(s.type, s.operand) for s in found.steps] == [(torch.Tensor, "tensors[0]"), (Duck, "tensors[1]")]
        with pytest.raises(TypeError, match=r"returned NotImplemented|no implementation found.*Tensor.*Duck"):
            torch.broadcast_tensors(torch.ones(1), Duck())

    def test_nothing_runs(self):
        tensor = torch.ones(2)
        explain(torch.Tensor.add_, tensor, 1)
        explain(torch.Tensor.set_, tensor, torch.zeros(2))
        explain(torch.Tensor.zero_, tensor.as_subclass(Marked))
        assert tensor.tolist() == [1, 1]

    def test_modes_and_guards(self):
        class Inner(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                raise AssertionError("the mode was asked")

        class Outer(Inner):
            pass

        # The two C guards are what torch.overrides documents as DisableTorchFunctionSubclass and the one above it.
        with Outer(), Inner():
            found = explain(torch.add, Duck(), 1)
            with torch._C.DisableTorchFunctionSubclass():
                guarded = explain(torch.add, Duck(), 1)
            with torch._C.DisableTorchFunction():
                off = explain(torch.add, Duck(), 1)
        assert [(s.kind, s.type) for s in found.steps] == [("mode", Inner), ("type", Duck)]
        assert found.notes == ("Outer is asked when Inner calls the function again.",)
        assert [(s.kind, s.type) for s in guarded.steps] == [("mode", Inner)]
        assert guarded.notes[0] == "DisableTorchFunctionSubclass is on: Duck would be asked without it."
        assert off.steps == ()
        assert off.notes == ("DisableTorchFunction is on: Duck would be asked without it.",)

    def test_what_it_refuses(self):
        with pytest.raises(TypeError, match="'ones' is no function that PyTorch lists"):
            explain(torch.ones, 2, api="torch")
        with pytest.raises(TypeError, match="'print' is no function that can be overridden"):
            explain(print, 2)
        with pytest.raises(ValueError, match="api must be 'tensorlike' or 'torch', not 'jax'"):
            explain(torch.add, 2, api="jax")
        with pytest.raises(TypeError, match="add"):
            explain(torch.add, Duck())
