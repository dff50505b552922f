"""Generated code is what the golden files show; `python -m tests.golden` writes them after a change of a template."""

import pytest

from tests import golden


@pytest.fixture(scope="module")
def texts():
    return golden.expected()


@pytest.mark.parametrize("name", [*(f"{name}.txt" for name in golden.ARCHETYPES), "blocks.txt"])
def test_generated_code_is_golden(texts, name):
    there = (golden.FOLDER / name).read_text(encoding="utf-8")
    assert texts[name] == there, f"{name} changed: read it, then run `python -m tests.golden`"


def test_no_golden_file_is_left_over(texts):
    assert {path.name for path in golden.FOLDER.glob("*.txt")} == set(texts)


@pytest.mark.parametrize("name", golden.ARCHETYPES)
def test_an_archetype_has_all_kinds_of_code(texts, name):
    for part in ("# <tensorlike wrapper of ", "# <tensorlike implementation of ", "# <tensorlike node of "):
        assert texts[f"{name}.txt"].count(part) == 1
    making = name in ("view", "several")
    assert ("# <tensorlike making of " in texts[f"{name}.txt"]) is making
    assert ("# <tensorlike recording of " in texts[f"{name}.txt"]) is not making
