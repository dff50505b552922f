"""What the audit says of refusals, of types that answer with plain tensors, and of instances that it must not make."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import tensorlike as tl
from tensorlike.__main__ import main
from tensorlike.audit import AuditError, Outcome, audit
from tensorlike.audit.making import a
from tensorlike.audit.model import ValueCheck

ROOT = Path(__file__).parents[2]


class Refuser:
    def __init__(self) -> None:
        self.value = tl.ones(2, 2)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is tl.sin:
            raise NotImplementedError  # A refusal, which the audit is to tell from a crash.
        if func is tl.cos:
            raise TypeError("the cosine of a Refuser has no meaning")
        if func is tl.tan:
            try:
                return func(object())
            except TypeError as error:
                raise TypeError("no tangent") from error
        if func is tl.exp:
            return [][0]
        if func is tl.log:
            return func(object())  # the library's own TypeError
        if func is tl.sqrt:
            return len(3)  # type: ignore[arg-type]
        if func is tl.abs:
            raise TypeError
        return NotImplemented


def test_a_refusal_is_no_crash() -> None:
    report = audit(Refuser, only=[f"tensorlike.{name}" for name in ("sin", "cos", "tan", "exp", "log", "sqrt", "abs")])
    found = {row.function.removeprefix("tensorlike."): row.outcome for row in report.rows if row.operand == "input"}
    refused = dict.fromkeys(("sin", "cos", "tan"), Outcome.REFUSED)
    assert found == refused | dict.fromkeys(("exp", "log", "sqrt", "abs"), Outcome.RAISED)
    assert "refused: the cosine" in "".join(report.row("tensorlike.cos", "input").faults)
    assert report.coverage < 100
    assert tl.overrides.audit(Refuser, only="tensorlike.sin").row("tensorlike.sin", "input").error_type


class Angles(tl.Tensor):
    """Answers with plain tensors, and means to."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with tl.overrides.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))


def test_plain_results() -> None:
    only = "tensorlike.linalg.*"
    lost = audit(Angles, only=only)
    assert lost.totals.outcomes[Outcome.TYPE_LOST] > 50
    assert [cause.text for cause in lost.causes()] == ["type lost"]
    meant = audit(Angles, only=only, plain_results="ok")
    assert meant.coverage == 100
    assert meant.totals.called == lost.totals.called

    class Meant(Angles):
        __tensor_audit__ = {"plain_results": "ok"}

    assert audit(Meant, only=only).coverage == 100
    assert audit(Meant, only=only, plain_results="lost").coverage < 50

    class Numbers(tl.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return 3.0

    # Neither of the type nor plain.
    numbers = audit(Numbers, only="tensorlike.add", plain_results="ok")
    assert {row.outcome for row in numbers.rows if row.called} == {Outcome.TYPE_LOST}
    assert numbers.totals.outcomes == {Outcome.WRONG_VALUE: 3}


class Operators:
    """The base of types that answer for each other."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        dense = lambda value: value.tensor if isinstance(value, Operators) else value
        result = func(*map(dense, args), **{key: dense(value) for key, value in (kwargs or {}).items()})
        kind = {"neg": Scaled, "exp": Operators, "log": Wrong}.get(func.__name__, cls)
        return kind(result + 1 if kind is Wrong else result) if isinstance(result, tl.Tensor) else result


class Diagonal(Operators):
    pass


class Scaled(Operators):
    pass


class Wrong(Operators):
    pass


def test_relatives_answer_for_a_type() -> None:
    """Another subclass of the class with the handler is read as an instance is; the base has lost the type."""
    only = ["tensorlike.cos", "tensorlike.neg", "tensorlike.exp", "tensorlike.log"]
    report = audit(Diagonal, from_dense=Diagonal, to_dense=lambda o: o.tensor, only=only, methods="none")
    found = {row.function.rpartition(".")[2]: row for row in report.rows if row.operand == "input"}
    assert found["cos"].verdict is found["neg"].verdict is Outcome.INHERITED
    assert found["neg"].value is ValueCheck.EQUAL
    assert found["exp"].type_lost
    assert not found["exp"].passed
    assert found["log"].verdict is Outcome.WRONG_VALUE


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ({"plain_result": "ok"}, "has no option 'plain_result'; did you mean 'plain_results'"),
        ({"plain_results": True}, r"__tensor_audit__\['plain_results'\] is 'lost' or 'ok', not True"),
        ({"make": 3}, r"__tensor_audit__\['make'\] is a function, not 3"),
        ("ok", "is a dictionary of options, not 'ok'"),
    ],
)
def test_a_wrong_policy(policy: Any, message: str) -> None:
    with pytest.raises(AuditError, match=message):
        audit(type("Wrong", (Angles,), {"__tensor_audit__": policy}), only="tensorlike.add")


class Boxes(tl.Tensor):
    """Instances without a size have nothing to answer with."""

    def __new__(cls, data: Any, *, size: tuple[int, int]) -> Any:
        made = tl.as_tensor(data).as_subclass(cls)
        made.size_of_image = size
        return made

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = super().__torch_function__(func, types, args, kwargs or {})
        if type(result) is cls:
            result.size_of_image = next(
                x.size_of_image for x in (*args, *(kwargs or {}).values()) if isinstance(x, cls)
            )
        return result


class Named(tl.Tensor):
    def __new__(cls, data: Any, name: str = "unnamed") -> Any:
        made = tl.as_tensor(data).as_subclass(cls)
        made.label = name
        return made

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        assert all(x.label for x in args if isinstance(x, cls))
        return super().__torch_function__(func, types, args, kwargs or {})


def test_a_constructor_is_not_skipped() -> None:
    message = (
        r"cannot make a Boxes of a tensor: Boxes.__new__\(\) needs data, size=..., and an instance made without it "
    )
    with pytest.raises(AuditError, match=message + r'.*--from-dense "lambda t: Boxes\(t, size=...\)"'):
        audit(Boxes, only="tensorlike.neg")
    assert audit(Boxes, only="tensorlike.neg", from_dense=lambda t: Boxes(t, size=(2, 2))).coverage == 100

    class Told(Boxes):
        __tensor_audit__ = {"from_dense": lambda t: Told(t, size=(2, 2))}

    assert audit(Told, only="tensorlike.neg").coverage == 100
    # One tensor is enough for this one.
    report = audit(Named, only="tensorlike.neg")
    assert report.instances == "Named(tensor)"
    assert report.totals.outcomes[Outcome.RAISED] == 0
    # The library's own constructors take what as_subclass gives.
    assert audit(type("Mine", (tl.nn.Parameter,), {}), only="tensorlike.neg").instances == "a tensor made a Mine"


def test_articles() -> None:
    names = {"U": "a U", "F": "an F", "Unit": "a Unit", "Angle": "an Angle", "Unknown": "an Unknown", "HTTP": "an HTTP"}
    assert {name: a(type(name, (), {})) for name in names} == names


def test_mistakes_in_a_call() -> None:
    with pytest.raises(TypeError, match="argument 'only' must be a glob such as 'linalg"):
        audit(Angles, only=3)  # type: ignore[arg-type]
    with pytest.raises(AuditError, match="argument 'plain_results' is 'lost' or 'ok', not 'fine'"):
        audit(Angles, plain_results="fine")
    report = audit(Angles, only="tensorlike.add")
    with pytest.raises(KeyError, match=r"no function of the report is called 'add'; did you mean 'tensorlike.add'"):
        report.row("add", "input")
    with pytest.raises(KeyError, match="tensorlike.add has no operand 'othr'; did you mean 'other'"):
        report.row("tensorlike.add", "othr")


PROJECT = """
[tool.tensorlike.audit]
only = "tensorlike.neg"

[tool.tensorlike.audit."angles:Angles"]
plain-results = "ok"
fail-under = 100

[tool.tensorlike.audit."angles:Boxes"]
from-dense = "lambda t: Boxes(t, size=(2, 2))"
json = "boxes.json"
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "angles.py").write_text(
        textwrap.dedent("""
            import tensorlike as tl

            class Angles(tl.Tensor):
                @classmethod
                def __torch_function__(cls, func, types, args=(), kwargs=None):
                    with tl.overrides.DisableTorchFunctionSubclass():
                        return func(*args, **(kwargs or {}))

            class Boxes(tl.Tensor):
                def __new__(cls, data, *, size):
                    return tl.as_tensor(data).as_subclass(cls)
        """)
    )
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    (tmp_path / "deeper").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_options_in_pyproject(project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    assert main(["audit", "angles:Angles"]) == 0
    assert "Angles: 2 of 2 calls of 1 function answered" in capsys.readouterr().out
    # The command line comes first.
    assert main(["audit", "angles:Angles", "--plain-results", "lost"]) == 1
    assert "is under the 100 %" in capsys.readouterr().err
    # Without a type, all that the table has; files are relative to it.
    monkeypatch.chdir(project / "deeper")
    monkeypatch.syspath_prepend(str(project))
    assert main(["audit"]) == 0
    assert "Angles: 2 of 2" in capsys.readouterr().out
    assert (project / "boxes.json").exists()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('[tool.tensorlike.audit]\nplain-result = "ok"', "has no option 'plain-result'; did you mean 'plain-results'?"),
        ("[tool.tensorlike.audit]\napi = 3.5\nmake = true", "make is str, not True"),
        ('[tool.tensorlike.audit]\n"a:B" = 3', "'a:B' is a table of options, not 3"),
        ("[tool.tensorlike]\naudit = 3", "tool.tensorlike.audit is a table"),
        ("[tool", "cannot read"),
        ('[tool.tensorlike.audit]\nplain-results = "yes"', "--plain-results is 'lost' or 'ok', not 'yes'"),
    ],
)
def test_a_wrong_table(project: Path, capsys: pytest.CaptureFixture[str], table: str, message: str) -> None:
    (project / "pyproject.toml").write_text(table)
    assert main(["audit", "angles:Angles"]) == 2
    assert message in capsys.readouterr().err


TORCH = """
import torch
from tensorlike.overrides import audit

class Plain(torch.Tensor):
    pass

class Points(torch.Tensor):
    def __new__(cls, *args, manifold="sphere", requires_grad=False, **kwargs):
        data = args[0] if len(args) == 1 and isinstance(args[0], torch.Tensor) else torch.Tensor(*args, **kwargs)
        made = torch.Tensor._make_subclass(cls, data.data, requires_grad)
        made.manifold = manifold
        return made

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        assert all(x.manifold for x in args if type(x) is cls)
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

# PyTorch drops the weight under every mode, and so under the one that observes.
for kind in (Plain, Points):
    report = audit(kind, only="torch.nn.functional.l1_loss", api="torch", plain_results="ok")
    assert report.totals.called >= 2, report.rows
    assert [row.faults for row in report.worst()] == []
assert report.instances == "Points(tensor)"
"""


#: What a type of PyTorch's is not to blame for: it was not asked, or was not asked for it.
NOT_ASKED = """
import torch
from tensorlike.overrides import audit

class Plain(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs or {})

def row(function, operand):
    return audit(Plain, only=function, api="torch").row(function, operand)

# Of `out`, its second tensor is the instance, and the first a plain one.
found = row("torch.functional.lu", "out")
assert found.called and found.passed, found
# The number of bins is taken from a tensor by `__index__`, tensors in a list are operands.
found = row("torch.histogramdd", "bins")
assert found.called and found.passed and "[" in found.call, found
# `alpha` is refused, which Python's operators do by NotImplemented: plain tensors do so, too.
found = row("torch.Tensor.__rsub__", "self")
assert found.called and found.passed, found
"""


@pytest.mark.parametrize("program", [TORCH, NOT_ASKED], ids=["what a mode changes", "what it was not asked for"])
def test_what_is_no_fault_of_a_type(program: str) -> None:
    pytest.importorskip("torch")
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
