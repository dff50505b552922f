"""Every listing of the documentation runs and prints what stands below it; commands of ours are parsed."""

import importlib
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tensorlike import __main__ as command_line
from tensorlike.testing import pytest_plugin
from tests.helpers.listings import COMMANDS, LISTING, commands, run_listings

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
GENERATED = ("_build/", "reference/")
#: Those about errors are shipped with the package.
PAGES = sorted(path for path in DOCS.rglob("*.md") if not path.relative_to(DOCS).as_posix().startswith(GENERATED))
PAGES += sorted(ROOT.glob("tensorlike/utils/error_pages/*.md"))

#: Pages whose listings are not run here, with the reason.
ELSEWHERE = {"cpp.md": "tests/cpp runs them: they need a compiler", "gpu.md": "they need a GPU"}


def name(path: Path) -> str:
    return path.relative_to(DOCS).as_posix() if path.is_relative_to(DOCS) else path.relative_to(ROOT).as_posix()


WITH_LISTINGS = [
    path for path in PAGES if "```python" in path.read_text(encoding="utf-8") and name(path) not in ELSEWHERE
]


def test_there_are_listings() -> None:
    assert len(WITH_LISTINGS) >= 10
    assert {name(path) for path in PAGES} >= set(ELSEWHERE)


@pytest.mark.parametrize("page", WITH_LISTINGS, ids=name)
def test_listings_print_what_is_written(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    if "import torch\n" in text:
        pytest.importorskip("torch", reason="the page is about PyTorch's types")
    if "import dask" in text or "import tensorlike.dask" in text:
        pytest.importorskip("dask", reason="the page is about data in chunks, which Dask computes: extra dask")
    listings = list(LISTING.finditer(text))
    # Nothing that looks like a listing is left out.
    assert len(listings) == len(re.findall(r"^```python", text, re.MULTILINE))
    for code, expected, printed in run_listings(page):
        assert printed == expected, code


@pytest.mark.parametrize("page", WITH_LISTINGS, ids=name)
def test_outputs_stand_below_their_listings(page: Path) -> None:
    # Text that belongs to no listing, such as a table of figures, is in pages without listings.
    text = page.read_text(encoding="utf-8")
    below = [listing for listing in LISTING.finditer(text) if listing["printed"] is not None]
    assert len(below) == len(re.findall(r"^```text", text, re.MULTILINE))


class Options:
    """The part of pytest's parser that a plugin's `pytest_addoption` uses; it notes the names."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def getgroup(self, *_: str) -> "Options":
        return self

    def addoption(self, *names: str, **_: Any) -> None:
        self.names |= {one for one in names if one.startswith("-")}

    def addini(self, *_: Any, **__: Any) -> None:
        pass


OURS = [
    (name(page), command)
    for page in PAGES
    for command in commands(page)
    if command.startswith(("tensorlike audit", "python -m tensorlike audit", "pytest --override"))
]


def test_there_are_commands() -> None:
    shown = sum(len(COMMANDS.findall(page.read_text(encoding="utf-8"))) for page in PAGES)
    assert shown >= 5
    assert len(OURS) >= 8


@pytest.mark.parametrize("page, command", OURS)
def test_commands_are_parsed(page: str, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = shlex.split(command)
    if words[0] == "pytest":
        known = Options()
        pytest_plugin.pytest_addoption(known)  # type: ignore[arg-type]
        given = {word.partition("=")[0] for word in words[1:] if word.startswith("--override")}
        assert given <= known.names
        return
    parsed: list[Any] = []
    # By its name, `tensorlike.audit` is the function.
    cli = importlib.import_module("tensorlike.audit.cli")
    monkeypatch.setattr(cli, "run", lambda options: parsed.append(options) or 0)
    arguments = words[words.index("audit") :]
    assert command_line.main(arguments) == 0
    assert parsed
