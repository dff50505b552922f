"""The types of the library as its users' type checker sees them: `typing_cases.py` says what must pass and what not."""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest

import tensorlike as tl
from tools import any_share

pytest.importorskip("mypy", reason="mypy comes with the extra dev")

ROOT = Path(__file__).resolve().parents[2]
CASES = Path(__file__).with_name("typing_cases.py")
EXAMPLES = ROOT / "examples"

_EXPECTED = re.compile(r"# (?P<kind>[ER]): (?P<what>.+?)(?=  #|$)")
_FOUND = re.compile(r"^.*?:(?P<line>\d+): (?:error: .*\[(?P<code>[a-z-]+)\]|note: Revealed type is \"(?P<type>.*)\")$")


def expectations(source):
    """Return what a type checker must find: (line, "E" or "R", code or type)."""
    return {
        (number, match["kind"], match["what"])
        for number, line in enumerate(source.splitlines(), 1)
        for match in _EXPECTED.finditer(line)
        if not line.startswith(("#", "`"))
    }


def short(text):
    """Return a type as the comments spell it: classes without their module, named results without their items."""
    text = re.sub(r"tuple\[.*, fallback=([\w.]+)(?:\[[^\[\]]*\])?\]", r"\1", text)
    return re.sub(r"\b(?:\w+\.)+(?=[A-Z])", "", text)


def findings(path):
    """Return what mypy finds in a file, in the form of `expectations`."""
    # The cache is the one that `mypy --strict` leaves: with it this takes 2 s, without 20 s.
    command = [sys.executable, "-m", "mypy", "--strict", "--show-absolute-path", "--no-pretty", "--no-error-summary"]
    run = subprocess.run([*command, str(path)], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert not run.stderr, run.stderr
    lines = [line for line in run.stdout.splitlines() if line.startswith(str(path))]
    stubs = [line for line in run.stdout.splitlines() if ".pyi:" in line and ": error: " in line]
    assert not stubs, "\n".join(stubs)
    found = [match for match in map(_FOUND.match, lines) if match]
    errors = [line for line in lines if ": error: " in line]
    assert len(errors) == sum(match["code"] is not None for match in found), errors
    return {(int(m["line"]), "E" if m["code"] else "R", m["code"] or short(m["type"])) for m in found}


def test_users_code():
    """What must pass passes, what must not has its error, and `reveal_type` says the type."""
    expected, found = expectations(CASES.read_text()), findings(CASES)
    missing = sorted(f"line {n}: {kind}: {what} is not found" for n, kind, what in expected - found)
    surplus = sorted(f"line {n}: {kind}: {what} is not expected" for n, kind, what in found - expected)
    assert not missing + surplus, "\n".join([*missing, *surplus])
    kinds = Counter(kind for _, kind, _ in expected)
    assert CASES.read_text().count("assert_type(") > 60
    assert kinds["E"] > 30, kinds
    assert kinds["R"] > 90, kinds


def pyright_errors(*paths):
    """Return the errors that pyright finds in files: (path, line, message). Skips where it cannot be run."""
    pytest.importorskip("pyright", reason="pyright comes with the extra dev")
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, *map(str, paths)]
    # The package gets what it runs, in Node.js, from an index at the first use.
    environment = {**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        # As in a wheel: Note [Namespaces that PyTorch has].
        Path(folder, "tensorlike").mkdir()
        for entry in [*(ROOT / "tensorlike").iterdir(), *(ROOT / "stubs" / "tensorlike").iterdir()]:
            Path(folder, "tensorlike", entry.name).symlink_to(entry)
        run = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
    if not run.stdout.lstrip().startswith("{"):
        pytest.skip(f"pyright cannot be run: {run.stderr.strip()[-300:]}")
    report = json.loads(run.stdout)
    assert report["summary"]["filesAnalyzed"] >= len(paths), report["summary"]
    return [
        (Path(found["file"]), found["range"]["start"]["line"] + 1, found["message"])
        for found in report["generalDiagnostics"]
        # What is found must not depend on what is installed.
        if found["severity"] == "error" and found.get("rule") != "reportMissingImports"
    ]


def test_users_code_in_pyright():
    expected = {line for line, kind, _ in expectations(CASES.read_text()) if kind == "E"}
    found = {line: message for _, line, message in pyright_errors(CASES)}
    assert not expected - set(found), sorted(expected - set(found))
    assert not set(found) - expected, {line: found[line] for line in sorted(set(found) - expected)}


@pytest.mark.slow
def test_examples_in_pyright():
    found = [f"{path.relative_to(ROOT)}:{line}: {message}" for path, line, message in pyright_errors(ROOT / "examples")]
    assert not found, "\n".join(found)


@pytest.mark.slow
def test_examples_in_mypy():
    # One by one, since two examples have one name.
    folders = [[str(path) for path in sorted(folder.glob("*.py"))] for folder in (EXAMPLES, EXAMPLES / "gallery")]
    assert all(folders)
    for paths in folders:
        command = [sys.executable, "-m", "mypy", "--strict", "--no-pretty", *paths]
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
        assert run.returncode == 0, run.stdout + run.stderr


def loaded_later():
    """Return the dotted names of what packages load when it is asked for."""
    packages = [tl.autograd, tl.nn, tl.nn.utils, tl.overrides, tl.testing, tl.utils]
    tables = ("_LAZY", "_HOMES", "_FUNCTIONS")
    names = [(package, name) for package in packages for table in tables for name in vars(package).get(table, ())]
    return [f"{package.__name__}.{name}" for package, name in names if not name.startswith("_")]


def test_what_is_loaded_later_is_known(tmp_path):
    names = loaded_later()
    assert len(names) > 30, names
    path = tmp_path / "later.py"
    path.write_text("\n".join([f"import tensorlike  # {path}", *(f"reveal_type({name})" for name in names)]))
    found = {line: what for line, kind, what in findings(path) if kind == "R" or pytest.fail(what)}
    assert len(found) == len(names), found
    unknown = [name for line, name in enumerate(names, 2) if found[line] in ("object", "builtins.object", "Any")]
    assert not unknown


def test_each_reveal_is_compared():
    source = CASES.read_text()
    revealed = [number for number, line in enumerate(source.splitlines(), 1) if "reveal_type(" in line]
    assert revealed == sorted(number for number, kind, _ in expectations(source) if kind == "R")


class TestTheChecksThemselves:
    def test_comments(self):
        source = "f(1)  # E: arg-type\nreveal_type(x)  # R: list[int]  # noqa: F821\n# no E: at all\nx = 1\n"
        assert expectations(source) == {(1, "E", "arg-type"), (2, "R", "list[int]")}

    def test_short(self):
        assert short("tuple[a.b.Tensor, a.b.Tensor, fallback=a.types.max]") == "a.types.max"
        assert short("tuple[a.b.Tensor, tuple[a.Tensor, ...], fallback=a.types.max[a.Tensor]]") == "a.types.max"
        assert short("def (x: a.b.Tensor | None) -> builtins.int") == "def (x: Tensor | None) -> builtins.int"

    def test_share_of_any(self):
        modules = "  tensorlike.a  3  10  70.00%\n  tensorlike.b  1  30  96.67%\n"
        modules += "  tensorlike.nn.functional  9  10  10.00%\n"
        assert any_share.share(f"  Name  Anys  Exprs  Coverage\n-----\n{modules}-----\n  Total  13  50  74.00%\n") == 10
        with pytest.raises(ValueError, match="no module"):
            any_share.share("  Total  0  0  0.00%\n")
        recorded = float(any_share.RECORD.read_text())
        assert any_share.verdict(recorded, recorded) is None
        assert "annotate what was added" in any_share.verdict(recorded + 0.1, recorded)

    def test_pyright_errors(self, tmp_path):
        path = tmp_path / "cases.py"
        path.write_text('import tensorlike as tl\nimport no_such_module\ntl.ones("2")\ntl.ones(2)\n')
        assert {(found, line) for found, line, _ in pyright_errors(path)} == {(path, 3)}

    def test_findings(self, tmp_path):
        path = tmp_path / "cases.py"
        # The path makes the text another one: of the same text mypy has the findings in its cache, with a former path.
        path.write_text(f'# {path}\nimport tensorlike as tl\ntl.ones("2")\nreveal_type(tl.ones(2).ndim)\n')
        assert findings(path) == {(3, "E", "arg-type"), (4, "R", "int")}
