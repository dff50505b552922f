"""The gallery's pages, audits and badges: what they say is what the types do."""

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tensorlike.overrides.audit import AuditRow, Outcome, SignatureFault, SignatureProblem, ValueCheck
from tools import generate_gallery
from tools.generate_gallery import AUDITS, DOCS, FOLDER, GALLERY, KINDS, ROOT

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
    assert counts["faults"] == 0
    assert counts["calls"] == sum(counts[kind] for kind in KINDS) > 300
    text = (DOCS / "badges" / f"{name}.svg").read_text(encoding="utf-8")
    assert f"answered {counts['answered']}, falls back {counts['falls back']}" in text


def test_kinds_of_answers() -> None:
    def row(outcome: Outcome, **facts: object) -> AuditRow:
        return AuditRow("tensorlike.f", "tensorlike", "function", "input", outcome, **facts)

    def refused(text: str) -> list[SignatureProblem]:
        return [SignatureProblem(SignatureFault.REFUSED, "dim", text, True)]

    kind = generate_gallery.kind_of
    assert kind(row(Outcome.OWN)) == kind(row(Outcome.FALLBACK)) == "answered"
    assert kind(row(Outcome.TYPE_LOST, type_lost=True)) == kind(row(Outcome.FALLBACK, type_lost=True)) == "falls back"
    assert kind(row(Outcome.NOT_IMPLEMENTED)) == "refused"
    assert (
        kind(row(Outcome.OWN, signature=refused("f(dim=1): TypeError: no implementation found for 'f'"))) == "refused"
    )
    assert kind(row(Outcome.OWN, signature=refused("f() got an unexpected keyword argument 'dim'"))) == "faults"
    assert kind(row(Outcome.RAISED)) == kind(row(Outcome.OWN, value=ValueCheck.DIFFERS)) == "faults"
    assert kind(row(Outcome.NOT_CALLED)) == ""


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
