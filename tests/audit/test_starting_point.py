"""`tensorlike new`: what it writes is formatted, imports, passes its tests and the audit in its line for CI."""

import importlib.util
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tensorlike.__main__ import main
from tensorlike.audit.starting_point import KINDS

pytestmark = pytest.mark.usefixtures("inside")


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "unit_tensor", raising=False)  # The gallery has a module of this name.


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("kind", KINDS)
def test_its_tests_pass(kind):
    assert main(["new", "UnitTensor", "unit_tensor.py", "--kind", kind]) == 0
    result = run("pytest", "-q", "-p", "no:cacheprovider", "-W", "error", "test_unit_tensor.py")
    assert result.returncode == 0, result.stdout + result.stderr
    assert " passed" in result.stdout


@pytest.mark.parametrize("kind", KINDS)
def test_its_line_for_ci_passes(kind, capsys):
    assert main(["new", "UnitTensor", "unit_tensor.py", "--kind", kind]) == 0
    lines = capsys.readouterr().out.splitlines()
    ci = lines[-1].strip()
    assert f"In CI: {ci}" in Path("unit_tensor.py").read_text()
    few = ["--only", "tensorlike.n*", "--only", "tensorlike.a*"]
    for line in lines[2:-2]:
        assert main([*shlex.split(line, comments=True)[1:], *few]) == 0
    assert main([*shlex.split(ci)[1:], *few]) == 0, capsys.readouterr().out


@pytest.mark.skipif(importlib.util.find_spec("ruff") is None, reason="ruff comes with the extra dev")
@pytest.mark.parametrize("width", ["88", "120"])
def test_it_is_formatted(width):
    for kind in KINDS:
        assert main(["new", "UnitTensor", f"unit_{kind}.py", "--kind", kind]) == 0
    assert main(["new", "UnitTensor", "unit_torch.py", "--api", "torch"]) == 0
    for command in (["format", "--diff"], ["check", "--select", "E,F,I,UP,B"]):
        result = run("ruff", *command, "--no-cache", "--isolated", "--line-length", width, ".")
        assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.slow
def test_a_subclass_of_pytorchs_tensor():
    pytest.importorskip("torch", reason="needs PyTorch")
    assert main(["new", "UnitTensor", "unit_tensor.py", "--api", "torch"]) == 0
    result = run("pytest", "-q", "-p", "no:cacheprovider", "test_unit_tensor.py")
    assert result.returncode == 0, result.stdout + result.stderr


def test_in_a_package_the_test_imports_relatively():
    os.mkdir("units")
    Path("units/__init__.py").touch()
    assert main(["new", "UnitTensor", "units/tensors.py"]) == 0
    assert "from .tensors import UnitTensor\n" in Path("units/test_tensors.py").read_text()


@pytest.mark.parametrize("existing", ["unit_tensor.py", "test_unit_tensor.py"])
def test_nothing_is_overwritten(existing, capsys):
    Path(existing).write_text("mine")
    assert main(["new", "UnitTensor", "unit_tensor.py"]) == 2
    assert capsys.readouterr().err == f"tensorlike new: {existing} exists; it is left as it is\n"
    assert os.listdir() == [existing]
    assert Path(existing).read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "file", "text"),
    [
        ("3d", "a.py", "a type cannot be called '3d': give a name such as UnitTensor"),
        ("class", "a.py", "a type cannot be called 'class'"),
        ("A.B", "a.py", "a type cannot be called 'A.B'"),
        ("TensorLike", "a.py", "would hide the TensorLike that its file imports"),
        ("A", "a", "'a' is no file that can be imported: give a name such as unit_tensor.py"),
        ("A", "a-b.py", "'a-b.py' is no file that can be imported"),
        ("A", "folder/", "'folder/' is no file that can be imported"),
        ("A", "types.py", "'types.py' would hide the module 'types' of that name"),
        ("A", "none/a.py", "cannot write none/a.py: No such file or directory"),
    ],
)
def test_names_that_cannot_be(name, file, text, capsys):
    assert main(["new", name, file]) == 2
    assert text in capsys.readouterr().err
    assert os.listdir() == []


def test_an_unknown_api(capsys):
    assert main(["new", "A", "a.py", "--api", "jax"]) == 2
    assert "--api is 'tensorlike' or 'torch', not 'jax'" in capsys.readouterr().err
