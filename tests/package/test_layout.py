"""Where things lie: operations, their samples and their tests in the same ten folders."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = {"elementwise", "special", "reductions", "shape", "indexing", "linalg", "fft", "random", "memory", "nn"}
OPERATIONS = ROOT / "tensorlike" / "operations"
SHARED = ("formula_programs", "late_names", "native_calls", "native_families", "shared")
SAMPLES = ROOT / "tensorlike" / "audit" / "samples"
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
