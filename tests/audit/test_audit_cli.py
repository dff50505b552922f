"""`tensorlike audit` as a user runs it: what it prints and writes, its exit status, and what it says of bad input."""

import html.parser
import io
import json
import os
import pickle
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

import tensorlike as tl
from tensorlike.__main__ import main
from tensorlike.audit import AuditReport, Outcome
from tensorlike.audit.html import to_html
from tensorlike.audit.terminal import progress_bar

ROOT = Path(__file__).resolve().parents[2]
SCALAR = f"{ROOT / 'examples' / 'scalar_tensor.py'}:ScalarTensor"
MAKE = ("--make", "ScalarTensor(2, 2.0)")

DUCKS = """
import sys
import tensorlike as torch

print("imported")

if __name__ == "__main__":
    raise SystemExit("run as a script")


class Boxed:
    def __init__(self, inner):
        self.inner = inner

    def __repr__(self):
        return "<script>alert('boxed')</script>"

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        def open_(value):
            if isinstance(value, (list, tuple)):
                return type(value)(map(open_, value))
            return value.inner if isinstance(value, cls) else value

        result = func(*map(open_, args), **{k: open_(v) for k, v in (kwargs or {}).items()})
        return cls(result) if isinstance(result, torch.Tensor) else result


class Refusing(Boxed):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


class Outer:
    class Inner(torch.Tensor):
        pass


class NoProtocol:
    pass


class Meta(type):
    def __getattr__(cls, name):
        raise RuntimeError(name)


class Odd(metaclass=Meta):
    pass


number = 3
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, with the module `some_ducks` in it."""
    (tmp_path / "some_ducks.py").write_text(DUCKS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "some_ducks", raising=False)
    yield tmp_path
    sys.modules.pop("some_ducks", None)


BOXED = ("--from-dense", "Boxed", "--to-dense", "lambda b: b.inner")


def run(*arguments: str) -> int:
    try:
        return main(["audit", *arguments])
    except SystemExit as error:  # argparse
        return int(error.code or 0)


def test_the_command_of_the_readme() -> None:
    command = [sys.executable, "-m", "tensorlike", "audit", "examples/scalar_tensor.py:ScalarTensor", *MAKE]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    words = " ".join(result.stdout.split())
    assert "Audit of scalar_tensor.ScalarTensor" in words
    assert "add() got an unexpected keyword" in words
    assert re.search(r"\d+ of \d+ calls of \d+ functions answered with nothing wrong: \d+\.\d %", words)


def test_a_file_is_imported_under_its_stem(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = list(sys.path)
    assert run(str(folder / "some_ducks.py") + ":Boxed", *BOXED, "--only", "tensorlike.mul") == 0
    captured = capsys.readouterr()
    assert "some_ducks.Boxed: 3 of 3 calls of 1 function answered with nothing wrong: 100.0 %" in captured.out
    # What the module prints does not end in the report.
    assert captured.err == "imported\n"
    assert "imported" not in captured.out
    assert sys.path == path
    assert "some_ducks" not in sys.modules


def test_instances_of_a_file_can_be_pickled(folder: Path) -> None:
    from tensorlike.audit.making import target

    with target("some_ducks.py:Boxed") as (module, kind):
        assert pickle.loads(pickle.dumps(kind(3))).inner == 3
        assert module.__name__ == "some_ducks"


@pytest.mark.parametrize("what", ["some_ducks:Boxed", "some_ducks.py:Boxed", "./some_ducks.py:Boxed"])
def test_modules_and_files(folder: Path, what: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(what, *BOXED, "--only", "tensorlike.mul", "--only", "tensorlike.add") == 0
    assert "6 of 6 calls of 2 functions" in capsys.readouterr().out


def test_nested_types_and_subclasses(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("some_ducks:Outer.Inner", "--only", "tensorlike.mul") == 0
    assert "some_ducks.Outer.Inner: 3 of 3 calls" in capsys.readouterr().out


def test_expressions_see_the_module_and_tl(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("some_ducks:Boxed", "--make", "Boxed(tl.ones(2) * number)", "--only", "tensorlike.mul") == 0
    assert run("some_ducks:Boxed", "--make", "lambda: Boxed(torch.ones(2))", "--only", "tensorlike.mul") == 0
    assert "3 of 3 calls" in capsys.readouterr().out


# JSON, HTML, limits and baselines.


def test_json_to_standard_output(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = (*BOXED, "--only", "tensorlike.mul", "--json")
    # In the second the target looks like the file of --json.
    for arguments in (("some_ducks:Boxed", *options), (*options, "some_ducks:Boxed")):
        assert run(*arguments) == 0
        report = AuditReport.from_json(capsys.readouterr().out)
        assert report.target == "some_ducks:Boxed"
        assert report.type_name == "some_ducks.Boxed"
        assert [row.operand for row in report.rows] == ["input", "other", "out"]
        assert {row.outcome for row in report.rows} == {Outcome.OWN}


def test_json_to_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("some_ducks:Boxed", *BOXED, "--only", "tensorlike.mul", "--json", "audit.json") == 0
    data = json.loads((folder / "audit.json").read_text(encoding="utf-8"))
    assert data["totals"]["passed"] == 3
    assert "Audit of some_ducks.Boxed" in capsys.readouterr().out


def test_fail_under(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("some_ducks:Boxed", *BOXED, "--only", "tensorlike.mul", "--fail-under", "100") == 0
    assert capsys.readouterr().err in ("", "imported\n")
    refusing = ("some_ducks:Refusing", "--from-dense", "Refusing", "--only", "tensorlike.mul")
    assert run(*refusing, "--fail-under", "0.5") == 1
    assert capsys.readouterr().err.endswith("0.00 % is under the 0.5 % of --fail-under\n")
    assert run(*refusing, "--fail-under", "0") == 0


def test_baseline(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    boxed = ("some_ducks:Boxed", "--from-dense", "Boxed", "--only", "tensorlike.mul")
    refusing = ("some_ducks:Refusing", "--from-dense", "Refusing", "--only", "tensorlike.mul")
    assert run(*boxed, "--json", "good.json") == 0
    assert run(*refusing, "--json", "bad.json") == 0
    capsys.readouterr()
    assert run(*boxed, "--baseline", "good.json") == 0
    assert "No regressions against good.json." in capsys.readouterr().out
    assert run(*refusing, "--baseline", "good.json") == 1
    output = capsys.readouterr().out
    assert "3 regressions against good.json:" in output
    assert "tensorlike.mul, other: was own rule, now refused: no implementation found" in output
    # Bad, but not worse than it was.
    assert run(*refusing, "--baseline", "bad.json") == 0
    assert run(*boxed, "--baseline", "bad.json") == 0


class Page(html.parser.HTMLParser):
    """Checks that tags are closed in order and that nothing is fetched."""

    VOID = {"meta", "input", "br", "link", "img"}

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.fetched: list[str] = []
        self.data = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self.seen.append(tag)
        self.fetched += [value or "" for name, value in attributes if name in ("src", "href", "action", "data")]
        self.holds_data = given.get("type") == "application/json"
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script" and self.holds_data:
            self.data += data

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag


NEEDS_JINJA = "HTML reports need Jinja2, of the extra 'report'"


def test_html(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("jinja2", reason=NEEDS_JINJA)
    assert run("some_ducks:Boxed", *BOXED, "--html", "audit.html", "--json", "audit.json") == 0
    text = (folder / "audit.html").read_text(encoding="utf-8")
    report = AuditReport.from_json((folder / "audit.json").read_text(encoding="utf-8"))
    page = Page()
    page.feed(text)
    page.close()
    assert page.open == []
    rows = json.loads(page.data)
    assert {(name, operand) for name, operand, *_ in rows} == {row.key for row in report.rows}
    assert len(rows) == len(report.rows) > 500
    # Self-contained: nothing is fetched, and what a type's repr says is text.
    assert page.fetched == ["#calls"]
    assert "@import" not in text
    assert "url(" not in text
    assert "http" not in text.replace("http-equiv", "")
    assert "<script>alert(" not in text
    assert "&lt;script&gt;alert(" in text
    assert page.seen.count("script") == 2
    assert "prefers-color-scheme: dark" in text
    assert 'type="search"' in text
    for namespace in report.by_namespace():
        assert f'<th scope="row" class="name">{namespace}</th>' in text
    # Every row has its call.
    assert {call for *_, call, _ in rows} == {row.call for row in report.rows}
    capsys.readouterr()
    assert run("some_ducks:Boxed", *BOXED, "--only", "mul", "--html", "no/folder.html") == 2
    assert "tensorlike audit: cannot write no/folder.html: No such file" in capsys.readouterr().err


def test_html_shows_errors_and_signatures() -> None:
    pytest.importorskip("jinja2", reason=NEEDS_JINJA)
    from examples.scalar_tensor import ScalarTensor

    functions = ("tensorlike.add", "tensorlike.mul")
    report = tl.overrides.audit(ScalarTensor, make=lambda: ScalarTensor(2, 2.0), only=functions)
    text = to_html(report)
    assert "TypeError: no implementation found for 'tensorlike.mul'" in text
    assert "add() got an unexpected keyword argument &#39;alpha&#39;" in text
    assert "add (scalar_tensor.py:" in text


# Without rich and Jinja2.


def without(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for module in [m for m in sys.modules if m == name or m.startswith(name + ".")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, name, None)


def test_plain_text_without_rich(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    without(monkeypatch, "rich")
    assert run(SCALAR, *MAKE, "--only", "tensorlike.add", "--only", "tensorlike.mul") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Audit of scalar_tensor.ScalarTensor"
    assert lines[2].split() == ["Namespace", "Calls", "Through", "a", "Refused", "Wrong", "Passed"]
    assert lines[3].split() == ["plain", "tensor", "signature"]
    assert lines[5].split() == ["tensorlike", "6", "1", "3", "2", "16.7", "%"]
    wrong = "  tensorlike.add, input: wrong signature: add() has no parameter 'alpha'"
    assert any(line.startswith(wrong) for line in lines)
    assert lines[-1].startswith("scalar_tensor.ScalarTensor: 1 of 6 calls of 2 functions answered")
    assert lines[-1].endswith("; no value was compared")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich", reason="progress bars need rich, of the extra 'report'")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("CI", "1")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress_bar() as progress:
        assert progress is None
    monkeypatch.delenv("CI")
    with progress_bar() as progress:
        assert progress is not None
        progress(1, 3, "tensorlike.mul")
    assert "1/3 tensorlike.mul" in re.sub(r"\x1b\[[\d;?]*\w", "", terminal.getvalue())
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress_bar() as progress:
        assert progress is None


def test_html_without_jinja(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "jinja2")
    assert run("some_ducks:Boxed", *BOXED, "--only", "tensorlike.mul", "--html", "audit.html") == 2
    assert "an HTML report needs Jinja2" in capsys.readouterr().err
    assert not (folder / "audit.html").exists()


def test_nothing_slow_is_imported_by_the_package() -> None:
    code = "import sys, tensorlike.overrides; print(*sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code]
    modules = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()
    assert "tensorlike.overrides" in modules
    slow = {"rich", "jinja2", "argparse", "tensorlike.audit", "tensorlike.audit.samples"}
    assert slow.isdisjoint(modules)


# Bad input: one line, exit status 2, no traceback.


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "what to audit is missing: FILE_OR_MODULE:TYPE"),
        (["some_ducks"], "given as FILE_OR_MODULE:TYPE, such as .*, not 'some_ducks'"),
        (["some_ducks.py:"], "given as FILE_OR_MODULE:TYPE"),
        (["nowhere.py:Boxed"], "there is no file nowhere.py"),
        (["no_such_module:Boxed"], "cannot import no_such_module: ModuleNotFoundError: No module named"),
        (["fails.py:Boxed"], "cannot import fails.py: ZeroDivisionError: division by zero"),
        (["wrong.py:Boxed"], "cannot import wrong.py: SyntaxError: "),
        (["exits.py:Boxed"], "cannot import exits.py: SystemExit: 3"),
        (["json.py:Boxed"], "json.py cannot be imported as 'json': another module of this name is loaded"),
        (["some_ducks:Boxd"], "some_ducks has no Boxd; did you mean Boxed\\?"),
        (["some_ducks:Zzz"], "some_ducks has no Zzz; it has Boxed, Refusing"),
        (["some_ducks:number"], "number in some_ducks is an int, not a type"),
        (["some_ducks:NoProtocol"], "NoProtocol has no __torch_function__"),
        (["tensorlike:Tensor"], "Tensor is the plain tensor"),
        (["some_ducks:Boxed"], "cannot make a Boxed: Boxed\\(\\) raises TypeError: .*; give --make EXPR"),
        (["some_ducks:Boxed", "--make", "Boxed("], "--make 'Boxed\\(' is no expression"),
        (["some_ducks:Boxed", "--make", "Box(1)"], "cannot make a Boxed: .*NameError: name 'Box' is not defined"),
        (["some_ducks:Boxed", "--make", "3"], "makes an int, not a Boxed"),
        (["some_ducks:Boxed", "--from-dense", "3"], "--from-dense '3' is an int, not a function"),
        (["some_ducks:Boxed", "--from-dense", "oh"], "--from-dense 'oh' raises NameError"),
        (["some_ducks:Boxed", *BOXED[:3], "lambda b: b.outer"], "to_dense of a Boxed raises AttributeError"),
        (["some_ducks:Boxed", *BOXED, "--only", "mulll"], "no function that can be overridden matches 'mulll'"),
        (["some_ducks:Boxed", *BOXED, "--only", "mul", "--only", "addd"], "matches 'addd'; did you mean 'add'\\?"),
        (["some_ducks:Boxed", "--make", "exit(3)"], "cannot make a Boxed: make raises SystemExit: 3"),
        (["some_ducks:Boxed", "--to-dense", "exit(3)"], "--to-dense 'exit\\(3\\)' raises SystemExit: 3"),
        (["some_ducks:Boxed", "--to-dense", "lambda"], "--to-dense 'lambda' is no expression: invalid syntax"),
        (["some_ducks:Odd"], "Odd cannot be asked for its __torch_function__: RuntimeError"),
        (["some_ducks:Boxed", *BOXED, "--html", ""], "--html needs the name of a file"),
        (["some_ducks:Boxed", *BOXED, "--html", "."], "cannot write .: Is a directory"),
        (["some_ducks:Boxed", *BOXED, "--json", "some_ducks.py/x"], "cannot write some_ducks.py/x: Not a directory"),
        (["some_ducks:Boxed", *BOXED, "--api", "jax"], "is 'tensorlike' or 'torch', not 'jax'"),
        (["some_ducks:Boxed", *BOXED, "--baseline", "deep.json"], "deep.json is not usable: maximum recursion depth"),
        (["some_ducks:Boxed", *BOXED, "--baseline", "odd.json"], "TypeError: 'operand' of a row is \\[4\\], not text"),
        (["some_ducks:Boxed", *BOXED, "--baseline", "none.json"], "cannot read the baseline none.json: No such file"),
        (["some_ducks:Boxed", *BOXED, "--baseline", "wrong.py"], "the baseline wrong.py is not usable: "),
        (["some_ducks:Boxed", *BOXED, "--baseline", "empty.json"], "not usable: no report of an audit"),
        (["some_ducks:Boxed", *BOXED, "--only", "mul", "--json", "no/folder.json"], "cannot write no/folder.json"),
        (["some_ducks:Boxed", "--fail-under", "120"], "must be a percentage from 0 to 100, not '120'"),
        (["some_ducks:Boxed", "--fail-under", "much"], "must be a percentage from 0 to 100, not 'much'"),
        (["some_ducks:Boxed", "--unknown"], "unrecognized arguments: --unknown"),
    ],
)
def test_bad_input(folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    (folder / "fails.py").write_text("1 / 0\n", encoding="utf-8")
    (folder / "wrong.py").write_text("def\n", encoding="utf-8")
    (folder / "exits.py").write_text("raise SystemExit(3)\n", encoding="utf-8")
    (folder / "json.py").write_text("", encoding="utf-8")
    (folder / "empty.json").write_text("{}", encoding="utf-8")
    (folder / "deep.json").write_text("[" * 100_000, encoding="utf-8")
    row = {"function": "f", "namespace": "n", "form": "function", "operand": [4], "outcome": "own"}
    report = {"format": "tensorlike-audit", "format_version": 1, "type": "x", "rows": [row]}
    (folder / "odd.json").write_text(json.dumps(report), encoding="utf-8")
    assert run(*arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    last = captured.err.splitlines()[-1]
    assert re.search(message, last), last
    assert last.startswith(("tensorlike audit: ", "tensorlike: error: "))


def test_a_type_whose_hook_fails(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = """
        import tensorlike as tl

        class Never(tl.Tensor):
            @classmethod
            def __tensorlike_from_dense__(cls, tensor):
                raise ValueError("no tensor will do")
    """
    (folder / "never_made.py").write_text(textwrap.dedent(source), encoding="utf-8")
    assert run("never_made.py:Never") == 2
    error = capsys.readouterr().err
    assert "cannot make a Never: Never.__tensorlike_from_dense__ raises ValueError: no tensor will do" in error


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    version = f"tensorlike {tl.__version__}"
    for arguments, text in ((["--version"], version), (["audit", "--help"], "exit status: 0; 1 below")):
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        assert stopped.value.code == 0
        assert text in capsys.readouterr().out
    with pytest.raises(SystemExit) as stopped:
        main([])
    assert stopped.value.code == 2


def test_a_reader_that_goes_away(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert run("some_ducks:Boxed", "--from-dense", "Boxed", "--only", "tensorlike.mul", "--json") == 1
    assert capsys.readouterr().err == "imported\n"
