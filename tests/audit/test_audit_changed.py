"""`--changed`: functions whose answering code is as it was when the baseline was written are not called again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ONLY = ("abs", "add", "exp", "sum")

SOURCE = """
import tensorlike as tl
from scale import SCALE

HANDLED = {}


def implements(function):
    def register(handler):
        HANDLED[function] = handler
        return handler
    return register


class Units:
    def __init__(self, value):
        self.value = value

    @classmethod
    def __tensorlike_from_dense__(cls, tensor):
        return cls(tensor)

    def __tensorlike_to_dense__(self):
        return self.value

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func in HANDLED:
            return HANDLED[func](*args, **(kwargs or {}))
        return NotImplemented


def value_of(x):
    return x.value if isinstance(x, Units) else x


@implements(tl.add)
def add(input, other, *, alpha=1, out=None):
    return Units(tl.add(value_of(input), value_of(other), alpha=alpha))


@implements(tl.exp)
def exp(input, *, out=None):
    return Units(tl.exp(value_of(input)) * SCALE)


@implements(tl.abs)
def abs(input, *, out=None):
    import late
    return Units(late.absolute(input.value))
"""


class Project:
    """A folder with a type, audited by a command of its own, as a user does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = {
            "units.py": SOURCE, "scale.py": "SCALE = 1\n", "late.py": "def absolute(x):\n    return abs(x)\n",
        }  # fmt: skip
        self.write({})

    def write(self, changes: dict[str, tuple[str, str]]) -> None:
        for name, text in self.files.items():
            before, after = changes.get(name, ("", ""))
            assert before in text
            (self.folder / name).write_text(text.replace(before, after))

    def audit(self, *options: str, only: tuple[str, ...] = ONLY) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-B", "-m", "tensorlike", "audit", "units.py:Units", "--baseline", "audit.json"]
        command += [f"--only=tensorlike.{name}" for name in only]
        environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{self.folder}"}
        return subprocess.run(
            [*command, *options], cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = Project(tmp_path_factory.mktemp("project"))
    done = made.audit("--update-baseline")
    assert done.returncode == 0, done.stderr
    return made


@pytest.mark.parametrize(
    ("changes", "called"),
    [
        ({}, "0 of 4"),
        # What does not run does not count.
        ({"units.py": ("def value_of(x):\n", 'def value_of(x):\n    "The value."  # of x\n')}, "0 of 4"),
        ({"units.py": ("tl.exp(value_of(input))", "tl.exp(value_of(input), out=None)")}, "1 of 4"),
        ({"units.py": ("def exp(input, *, out=None)", "def exp(input, *, out=None, more=0)")}, "1 of 4"),
        ({"units.py": ("return x.value if", "return x.value + 0 if")}, "2 of 4"),
        ({"late.py": ("return abs(x)", "return abs(x) + 0")}, "1 of 4"),
        ({"units.py": ("self.value = value", "self.value = value; self.other = 1")}, "All"),
        ({"units.py": ("if func in HANDLED:", "if func in HANDLED and True:")}, "All"),
        ({"units.py": ("HANDLED[function] = handler", "HANDLED[function] = print or handler")}, "All"),
        ({"scale.py": ("1", "2")}, "All"),
    ],
    ids=["nothing", "comments", "handler", "parameters", "helper", "module imported by a call", "constructor",
         "dispatcher", "decorator", "constant of a module"],
)  # fmt: skip
def test_functions_whose_code_changed_are_called(
    project: Project, changes: dict[str, tuple[str, str]], called: str
) -> None:
    project.write(changes)
    printed = project.audit("--changed").stdout
    ran_for_all = changes and called == "All" and list(changes) == ["units.py"] and "print" not in str(changes)
    wanted = "4 of 4 functions were called" if ran_for_all else f"{called} functions were called"
    assert wanted in printed, printed


def test_what_was_not_called_is_reported_as_in_the_baseline(project: Project) -> None:
    project.write({"units.py": ("tl.exp(value_of(input))", "tl.exp(value_of(input)) + 1")})
    done = project.audit("--changed", "--json", "new.json")
    assert done.returncode == 1
    rows = {
        (row["function"], row["operand"]): row for row in json.loads((project.folder / "new.json").read_text())["rows"]
    }
    assert rows["tensorlike.exp", "input"]["value"] == "differs"
    kept = rows["tensorlike.sum", "input"]
    assert (kept["outcome"], kept["namespace"]) == ("refused", "tensorlike")
    assert "not called again" in kept["reason"]
    assert rows["tensorlike.add", "input"]["passed"]
    # A whole audit finds the same.
    project.audit("--json", "whole.json")
    whole = json.loads((project.folder / "whole.json").read_text())["rows"]
    assert [(r["function"], r["operand"], r["outcome"], r["value"] == "differs") for r in whole] == [
        (*key, row["outcome"], row["value"] == "differs") for key, row in rows.items()
    ]


def test_the_file_of_code_is_stable_and_follows_the_baseline(tmp_path: Path) -> None:
    project = Project(tmp_path)
    assert "does not know" not in project.audit("--update-baseline").stdout
    code = (tmp_path / "audit.code.json").read_text()
    assert str(tmp_path) not in code
    for options in (["--jobs", "0"], ["--changed"]):
        assert project.audit("--update-baseline", *options).returncode == 0
        assert (tmp_path / "audit.code.json").read_text() == code
    # What an audit of some functions did not call is still compared with the code that it was called with.
    project.write({"units.py": ("tl.exp(value_of(input))", "tl.exp(value_of(input), out=None)")})
    project.audit("--update-baseline", only=("sum",))
    assert "1 of 4" in project.audit("--changed").stdout


def test_options_and_files_that_cannot_be_used(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.audit("--update-baseline", only=("exp",))
    assert "--make changed" in project.audit("--changed", "--make", "Units(tl.ones(2))", only=("exp",)).stdout
    (tmp_path / "audit.code.json").write_text("{}")
    done = project.audit("--changed", only=("exp",))
    assert done.returncode == 2
    assert "audit.code.json is not usable" in done.stderr
    (tmp_path / "audit.code.json").unlink()
    assert "audit.code.json does not know units.Units" in project.audit("--changed", only=("exp",)).stdout
    command = [sys.executable, "-m", "tensorlike", "audit", "--changed"]
    for more, error in (
        (["units.py:Units"], "needs --baseline"),
        (["--all", "units", "--baseline=audit.json"], "--all"),
    ):
        done = subprocess.run([*command, *more], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert error in done.stderr
