"""The gallery's pages, audits and badges: what they say is what the types do."""

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tensorlike.audit import Outcome
from tools import generate_gallery
from tools.generate_gallery import AUDITS, DOCS, FOLDER, GALLERY, ROOT

STEMS = [stem for stem, _, _ in GALLERY]
NAMES = [name for _, names, _ in GALLERY for name in names]


def test_every_type_is_in_the_gallery() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} == set(STEMS)
    assert set(json.loads(AUDITS.read_text(encoding="utf-8"))) == set(NAMES)
    assert {path.stem for path in DOCS.glob("*.md")} == {"index", *STEMS}


@pytest.mark.parametrize("stem", STEMS)
def test_examples_print_what_their_pages_show(stem: str, capsys: pytest.CaptureFixture[str]) -> None:
    importlib.import_module(f"examples.gallery.{stem}").main()
    [shown] = re.findall(r"^```text\n(.*?)^```$", (DOCS / f"{stem}.md").read_text(encoding="utf-8"), re.M | re.S)
    assert capsys.readouterr().out == shown


def test_an_example_runs_as_a_script() -> None:
    done = subprocess.run([sys.executable, "unit_tensor.py"], capture_output=True, text=True, check=True, cwd=FOLDER)
    assert "speed: tensor([1.5000, 2.0000]) m s^-1" in done.stdout


@pytest.mark.parametrize("name", NAMES)
def test_audits_have_no_faults(name: str) -> None:
    counts = json.loads(AUDITS.read_text(encoding="utf-8"))[name]
    assert generate_gallery.faults(counts) == 0
    assert counts["calls"] == sum(number for _, number in generate_gallery.words(counts)) > 300
    assert counts["coverage"] == 100
    # Badge and page have the words and numbers that the command prints.
    badge = (DOCS / "badges" / f"{name}.svg").read_text(encoding="utf-8")
    stem = next(stem for stem, names, _ in GALLERY if name in names)
    page = (DOCS / f"{stem}.md").read_text(encoding="utf-8")
    for word, number in generate_gallery.words(counts):
        assert f"{word.label} {number}" in badge
        assert f"{word.label} {number}" in page


def test_a_page_says_what_the_command_prints() -> None:
    # In a process of its own, as users run it: functions that other tests have registered are audited, too.
    counts = json.loads(AUDITS.read_text(encoding="utf-8"))["DualTensor"]
    command = [sys.executable, "-m", "tensorlike", "audit", f"{FOLDER}/dual_tensor.py:DualTensor", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    totals = json.loads(done.stdout)["totals"]
    assert {word: number for word, number in totals.items() if number and word != "not_called"} == counts


def test_a_word_of_the_table_is_drawn_and_named() -> None:
    counts = {"calls": 10, "counted": 8, "coverage": 75.0, "own": 4, "through_plain": 2, "wrong_value": 2, "refused": 2}
    drawn = generate_gallery.badge("Some", counts)
    assert "own rule 4, through a plain tensor 2, refused 2, wrong value 2" in drawn
    assert all(word.colour in drawn for word in (Outcome.OWN, Outcome.THROUGH_PLAIN, Outcome.WRONG_VALUE))
    assert generate_gallery.faults(counts) == 2
    sentence = generate_gallery.in_words("Some", counts)
    assert "refused 2 (on purpose)" in sentence
    assert "Of the 8 that count, 75.0 %" in sentence


@pytest.mark.slow
def test_the_files_are_current() -> None:
    command = [sys.executable, "tools/generate_gallery.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "not current: nothing"), done.stdout + done.stderr


def test_pages_link_to_files_that_are_there() -> None:
    for path in DOCS.glob("*.md"):
        links = re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8"))
        assert links
        assert [link for link in links if not (Path(path.parent) / link).exists()] == []
