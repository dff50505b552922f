"""The tests are collected with what tensorlike itself needs and pytest; what is missing skips those that need it.

A module that a test file imports as it is loaded, and that is not there, stops the collection of every other file.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OURS = {"tensorlike", "tests", "tools", "examples", "_tensorlike_pytest"}
#: Files that need them are left out by `conftest.py`, which `test_the_tests_are_collected_without_them` shows.
LEFT_OUT_BY_CONFTEST = {"torch", "dask", "distributed"}


def distribution(requirement: str) -> str:
    return re.match(r"[\w.-]+", requirement)[0].lower().replace("_", "-")


def allowed() -> set[str]:
    """The modules that a file may import as it is loaded."""
    needed = {distribution(line) for line in PROJECT["dependencies"]} | {"pytest"}
    modules = {
        m for m, names in packages_distributions().items() if {n.lower().replace("_", "-") for n in names} & needed
    }
    return modules | set(sys.stdlib_module_names) | OURS | LEFT_OUT_BY_CONFTEST


def imported_on_loading(source: str) -> Iterator[tuple[str, int]]:
    """The modules of import statements at the top of a file; one in a block stands under a condition."""
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Import):
            yield from ((alias.name.partition(".")[0], statement.lineno) for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom) and not statement.level:
            yield str(statement.module).partition(".")[0], statement.lineno


def test_the_rule_finds_what_it_is_for() -> None:
    source = "import os, jsonschema\nfrom yaml.nodes import Node\nfrom . import x\nif 1:\n    import jax\n"
    found = {name for name, _ in imported_on_loading(source)}
    assert found == {"os", "jsonschema", "yaml"}
    assert found - allowed() == {"jsonschema", "yaml"}
    assert {"numpy", "scipy", "pytest", "typing_extensions"} <= allowed()


def test_what_may_be_missing_is_asked_for() -> None:
    """With `pytest.importorskip`, which says what is missing and why it is needed."""
    may_be = allowed()
    files = [ROOT / "conftest.py", *sorted((ROOT / "tests").rglob("*.py"))]
    assert len(files) > 300
    wrong = [
        f"{path.relative_to(ROOT).as_posix()}:{line}: {name}"
        for path in files
        if "sources" not in path.parts
        for name, line in imported_on_loading(path.read_text(encoding="utf-8"))
        if name not in may_be
    ]
    assert wrong == []


HIDING = """
    import importlib.util
    import sys

    FOUND = importlib.util.find_spec

    def hidden(name):
        return name.partition(".")[0] in {names!r}

    class Hiding:
        def find_spec(self, name, path=None, target=None):
            if hidden(name):
                raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

    importlib.util.find_spec = lambda name, package=None: None if hidden(name) else FOUND(name, package)
    sys.meta_path.insert(0, Hiding())
"""


def optional() -> set[str]:
    """The modules of the packages of every extra, and what the tests know of besides."""
    lines = [line for extra in PROJECT["optional-dependencies"].values() for line in extra]
    wanted = {distribution(line) for line in lines} - {"tensorlike", "pytest", "pytest-xdist"}
    modules = {
        m for m, names in packages_distributions().items() if {n.lower().replace("_", "-") for n in names} & wanted
    }
    known = {"torch", "jax", "dask", "distributed", "zarr", "pyarrow", "yaml", "jsonschema", "hypothesis", "ml_dtypes"}
    return (modules | known | {"array_api_strict", "cloudpickle", "joblib", "sklearn"}) - {"_pytest"}


@pytest.mark.slow
def test_the_tests_are_collected_without_them(tmp_path: Path) -> None:
    (tmp_path / "hiding.py").write_text(textwrap.dedent(HIDING.format(names=optional())))
    # Plug-ins of other packages would be loaded before anything is hidden.
    environment = {
        **os.environ,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)]),
    }
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "hiding", "-p", "_tensorlike_pytest"]
    command += ["-p", "no:cacheprovider", "-m", "", str(ROOT / "tests")]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "tests/autograd/test_engine.py" in done.stdout
    assert "tests/vs_torch/test_names.py" not in done.stdout
