"""Where things lie: operations, their samples and their tests in the same ten folders."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "tensorlike"
FOLDERS = {"elementwise", "special", "reductions", "shape", "indexing", "linalg", "fft", "random", "memory", "nn"}
OPERATIONS = PACKAGE / "operations"
SHARED = ("formula_programs", "late_names", "native_calls", "native_families", "native_general", "shared")
SAMPLES = PACKAGE / "audit" / "samples"
#: Tests of what is no operation: folders as the package has them, and what the tests share.
OTHERS = {
    "array_api", "as_torch", "audit", "autograd", "cpp", "dask", "data", "dispatch", "distributions", "docs", "gallery",
    "helpers", "library", "native", "optim", "overrides", "package", "parity", "random_programs", "reliability",
    "serialization", "sparse", "tensor", "testing", "transforms", "utils", "vs_torch",
}  # fmt: skip


def folders(place):
    return {path.name for path in place.iterdir() if path.is_dir() and path.name[0] not in "._"}


@pytest.mark.parametrize(
    "place, others, files",
    [
        (OPERATIONS, set(), {"__init__.py", *(f"{name}.py" for name in SHARED)}),
        (SAMPLES, set(), {"__init__.py", "sample.py"}),
        (ROOT / "tests", OTHERS, {"__init__.py", "conftest.py"}),
    ],
    ids=["operations", "samples", "tests"],
)
def test_the_folders_are_the_ten(place, others, files):
    assert folders(place) - others == FOLDERS
    assert {path.name for path in place.glob("*.py")} == files
    empty = {name for name in FOLDERS if {path.name for path in (place / name).glob("*.py")} <= {"__init__.py"}}
    assert empty == set()


def test_every_file_of_operations_is_imported():
    tree = ast.parse((OPERATIONS / "__init__.py").read_text(encoding="utf-8"))
    imported = [alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names]
    there = {f"tensorlike.operations.{path.parent.name}.{path.stem}" for path in OPERATIONS.glob("*/*.py")}
    assert imported == sorted(name for name in there if not name.endswith(".__init__"))


def test_dir_names_what_is_loaded_when_it_is_asked_for():
    program = (
        "import importlib, sys\n"
        "for name in sys.argv[1:]:\n"
        "    module = importlib.import_module(name)\n"
        "    if left_out := sorted(set(module.__all__) - set(dir(module))):\n"
        "        print(name, left_out)\n"
    )
    names = [
        ".".join(("tensorlike", *path.relative_to(PACKAGE).parts)).removesuffix(".py").removesuffix(".__init__")
        for path in sorted(PACKAGE.rglob("*.py"))
        if not path.is_relative_to(PACKAGE / "dask") and not path.is_relative_to(PACKAGE / "as_torch")
        if all(re.search(start, path.read_text(), re.MULTILINE) for start in ("^__all__ =", r"^def __getattr__\("))
    ]
    assert {"tensorlike", "tensorlike.overrides", "tensorlike.utils"} <= set(names)
    done = subprocess.run([sys.executable, "-c", program, *names], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("", 0), done.stdout + done.stderr
