"""`python -m tests.parity`: what it counts, what it lists, and how it ends."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

import tensorlike as tl
from tests.parity import known as known_differences
from tests.parity import report
from tests.parity.known import BY_RULE, DIFFERENT, Known
from tests.parity.score import checks, operations
from tests.parity.text import CATEGORIES

ROOT = Path(__file__).parents[2]


def test_the_report(capsys):
    assert report.run(["--report", "--only", "sinc"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("1 operations with samples against PyTorch 2.13.0")
    assert next(line for line in lines if line.startswith("| tensorlike ")).endswith("100.00 % |")
    assert "0 differences without a reason." in lines


def test_json(capsys):
    assert report.run(["--json", "--only", "special.zeta"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["operations"] == 1
    assert set(found["scores"]["tensorlike.special"]) <= set(CATEGORIES)
    assert {d["reason"] for d in found["differences"]} == {BY_RULE["no kernel"]}
    assert {d["dtype"] for d in found["differences"]} == {"float16", "bfloat16"}


def test_a_difference_is_found_and_listed(monkeypatch, capsys):
    from tests.helpers.parity import families

    row = families()["tensorlike.sinc"][0]
    wrong = lambda input: tl.add(tl.special.sinc(input), 1.0)
    monkeypatch.setattr(row, "function", wrong, raising=True)
    assert report.run(["--report", "--only", "sinc"]) == 1
    shown = capsys.readouterr().out
    assert "- values tensorlike.sinc float64: tensorlike.sinc(<float64" in shown
    monkeypatch.setattr(report, "known", lambda *check: Known("sinc", "*", "*", "on purpose"))
    assert report.run(["--report", "--only", "sinc"]) == 0
    assert "- on purpose: `sinc` (" in capsys.readouterr().out


def test_a_difference_that_is_gone_fails(monkeypatch, capsys):
    monkeypatch.setattr(report, "DIFFERENT", (Known("sinc", "values", "*", "no longer so"),))
    assert report.run(["--report", "--only", "sinc"]) == 1
    assert "gone, take it off the list: sinc (values, *): no longer so" in capsys.readouterr().out
    monkeypatch.setattr(report, "DIFFERENT", (Known("sinc", "values", "*", "on some machines", everywhere=False),))
    assert report.run(["--report", "--only", "sinc"]) == 0


def test_every_check_is_made():
    found = {check.category for check in checks("tensorlike.exp")}
    assert found == set(CATEGORIES)
    assert {c.dtype for c in checks("tensorlike.exp") if c.category == "values"} >= {"float16", "bfloat16", "bool"}


def test_known_differences_are_of_operations_that_there_are():
    names = set(operations())
    for entry in DIFFERENT:
        assert entry.category in CATEGORIES
        assert entry.reason
        for name in entry.names.split():
            assert operations(name) or f"tensorlike.{name}" in names, f"no operation is called {name}"


@pytest.mark.parametrize("arguments, status", [(["--only", "no such"], 2), ([], 2)])
def test_wrong_arguments(arguments, status, capsys):
    assert report.run([*arguments, *(["--report"] if arguments else [])]) == status


def test_without_pytorch_it_says_so(monkeypatch, capsys):
    from tests.parity import __main__ as entry

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert entry.main() == 2
    assert "pip install torch==2.13.0" in capsys.readouterr().err


def test_from_the_shell():
    done = subprocess.run(
        [sys.executable, "-m", "tests.parity", "--report", "--only", "neg"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "tensorlike" in done.stdout
    assert known_differences.PROGRAMS
