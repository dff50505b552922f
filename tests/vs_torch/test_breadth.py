"""The benchmark of the whole surface compares before it times, and says when it has compared nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import tensorlike as tl

breadth = pytest.importorskip("benchmarks.breadth", reason="a checkout has the benchmarks")
ROOT = Path(__file__).parents[2]


def row(text, ours, theirs):
    return breadth.Row("row", "group", text, {"tensorlike": {**ours, "leaves": []}, "torch": {**theirs, "leaves": []}})


@pytest.mark.parametrize(
    "ours, theirs", [([1.0, 2.0], [1.0, 3.0]), ([1.0], [[1.0]]), ([1], [1.0]), ([float("nan")], [1.0])]
)
def test_other_results_are_not_timed(ours, theirs):
    with pytest.raises(breadth.UnableError, match="differs"):
        breadth.checked(row("x.clone()", {"x": tl.tensor(ours)}, {"x": torch.tensor(theirs)}))


def test_statements_are_compared_by_what_they_leave():
    other = row("x[0] = value", {"x": tl.zeros(2), "value": 1}, {"x": torch.zeros(2), "value": 2})
    with pytest.raises(breadth.UnableError, match="differs"):
        breadth.checked(other)


def test_errors_are_not_timed():
    with pytest.raises(breadth.UnableError, match="tensorlike: RuntimeError"):
        breadth.checked(row("f(x, x)", {"f": tl.mm, "x": tl.zeros(2)}, {"f": torch.add, "x": torch.zeros(2)}))


def test_random_values_may_differ():
    one = row("f(3)", {"f": tl.randn}, {"f": torch.randn})
    breadth.checked(one)
    assert all(time > 0 for time in breadth.timed(one, 1, 1e-5).values())


@pytest.mark.parametrize("make", [
    lambda: torch.arange(6.0).reshape(2, 3).t(), lambda: torch.arange(3.0).expand(2, 3), lambda: torch.tensor(2.5),
    lambda: torch.zeros(0, 3), lambda: torch.arange(8, dtype=torch.bfloat16)[::2],
    lambda: torch.tensor([1 + 2j]).conj(),
])  # fmt: skip
def test_samples_keep_values_and_strides(make):
    theirs = make()
    ours = breadth.Translation(tl, gradient=False)(theirs)
    assert (tuple(ours.shape), ours.stride()) == (tuple(theirs.shape), theirs.stride())
    assert str(ours.dtype).removeprefix("tensorlike") == str(theirs.dtype).removeprefix("torch")
    assert ours.tolist() == theirs.tolist()


def test_gradients_are_compared():
    spaces = {}
    for library, factor in ((tl, 2.0), (torch, 3.0)):
        x = library.ones(3, requires_grad=True)
        spaces[library.__name__] = {"x": x, "factor": factor, "leaves": [x]}
    with pytest.raises(breadth.UnableError, match="differs"):
        breadth.checked(breadth.differentiated(breadth.Row("row", "group", "x * factor", spaces)))


def run(*arguments):
    command = [sys.executable, "-m", "benchmarks.breadth", "--rounds", "1", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_rows_are_written(tmp_path):
    file = tmp_path / "rows.json"
    found = run("--only", r"^(add|linalg\.det|x\.shape$)", "--json", str(file))
    assert found.returncode == 0, found.stderr
    names = {one["name"] for one in json.loads(file.read_text())["rows"]}
    assert {"add #0", "add (method) #0", "add (in-place) #1", "add (operator) #0", "linalg.det #0", "x.shape"} <= names
    again = run("--only", "^linalg.det", "--gradient", "--baseline", str(file))
    assert again.returncode == 0, again.stderr
    assert "rows of both" in again.stdout


def test_nothing_compared_is_a_failure():
    found = run("--only", "no row is called that")
    assert found.returncode == 1
    assert "too few" in found.stderr
