"""Pages about errors: every error that names one has it, and what the pages show is raised so."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import tensorlike as tl
from tensorlike import __main__ as command_line
from tensorlike.utils import error_pages
from tests.helpers.listings import LISTING, run_listings

PACKAGE = Path(tl.__file__).parent
#: Pages whose example cannot be run everywhere.
NOT_RUN = {"device-mismatch": "it needs two devices"}


def named() -> dict[str, list[str]]:
    """Return the names of pages in calls of `explained`, with the files of the calls."""
    found: dict[str, list[str]] = {}
    for file in PACKAGE.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if "explained(" not in text:
            continue
        for call in ast.walk(ast.parse(text)):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "explained":
                for value in ast.walk(call.args[1]):
                    if isinstance(value, ast.Constant) and isinstance(value.value, str):
                        found.setdefault(value.value, []).append(file.name)
    return found


def test_every_name_has_its_page_and_every_page_its_error() -> None:
    assert sorted(named()) == error_pages.names()
    assert len(error_pages.names()) >= 30


@pytest.mark.parametrize("name", error_pages.names())
def test_the_page_shows_an_error_that_names_it_and_a_cure(name: str) -> None:
    page = PACKAGE / "utils" / "error_pages" / f"{name}.md"
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert all(len(line) <= 120 for line in LISTING.sub("", text).splitlines())
    if name in NOT_RUN:
        assert not LISTING.search(text)
        return
    (_, fails, printed), *cures = run_listings(page)
    assert printed == fails
    assert printed.splitlines()[-1] == f"(`tensorlike error {name}` explains this)"
    assert cures
    for code, expected, found in cures:
        assert found == expected, code
        assert "Error: " not in found


def test_the_command_prints_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["error", "matmul-shapes"]) == 0
    page = PACKAGE / "utils" / "error_pages" / "matmul-shapes.md"
    assert capsys.readouterr().out == page.read_text(encoding="utf-8")


def test_the_command_lists_the_pages(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["error"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == error_pages.names()


def test_a_name_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["error", "matmul-shape"]) == 2
    assert "did you mean matmul-shapes" in capsys.readouterr().err
    assert command_line.main(["error", "zzz"]) == 2
    assert "lists the pages" in capsys.readouterr().err


def test_the_message_names_the_function_and_the_page_is_a_note() -> None:
    with pytest.raises(RuntimeError) as caught:
        tl.ones(6).reshape(4, 2)
    assert str(caught.value) == "reshape(): shape '[4, 2]' is invalid for input of size 6"
    assert caught.value.__notes__ == ["(`tensorlike error reshape-size` explains this)"]
