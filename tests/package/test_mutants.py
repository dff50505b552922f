"""The table of mutants fits the tree: its lines are there, and so are the tests that are to fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import mutants

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("mutant", mutants.MUTANTS, ids=lambda mutant: mutant.name)
def test_the_line_and_the_tests_are_there(mutant: mutants.Mutant) -> None:
    text = mutants.mutated(mutant)
    assert text != (ROOT / mutant.file).read_text(encoding="utf-8")
    if mutant.file.endswith(".py"):
        compile(text, mutant.file, "exec")
    assert all((ROOT / name).is_file() for name in mutant.tests.split())


def test_names_are_different() -> None:
    assert len({mutant.name for mutant in mutants.MUTANTS}) == len(mutants.MUTANTS) >= 30


def test_a_line_that_is_gone_is_an_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    gone = mutants.Mutant("gone", "tensorlike/autograd/engine.py", "no such line", "", "tests/autograd/test_engine.py")
    monkeypatch.setattr(mutants, "MUTANTS", (gone,))
    assert mutants.main([]) == 1
    assert "gone: tensorlike/autograd/engine.py has 'no such line' 0 times" in capsys.readouterr().err
