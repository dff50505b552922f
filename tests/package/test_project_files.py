"""The files that a repository shows its visitors: the citation, the issue forms, and the pages about versions."""

from __future__ import annotations

import datetime
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import tensorlike as tl
from tools import run_documented_commands as documented

yaml = pytest.importorskip("yaml", reason="the citation and the issue forms are read with PyYAML, of the extra 'test'")

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_citation() -> None:
    citation = read(ROOT / "CITATION.cff")
    # What the schema of version 1.2.0 requires, and what a reference cannot do without.
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    known = {"type", "abstract", "version", "license", "keywords", "date-released", "repository-code", "url", "doi"}
    assert set(citation) <= known | {"cff-version", "message", "title", "authors"}
    assert citation["cff-version"] == "1.2.0"
    assert citation["type"] == "software"
    assert [author["name"] for author in citation["authors"]] == [author["name"] for author in PROJECT["authors"]]
    assert (citation["title"], citation["version"]) == (PROJECT["name"], tl.__version__)
    assert citation["license"] == PROJECT["license"]
    released = re.search(
        rf"^## \[{re.escape(tl.__version__)}\] - (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    )
    assert released is not None
    if released[1] == "unreleased":
        assert "date-released" not in citation
    else:
        assert citation["date-released"] == datetime.date.fromisoformat(released[1])


@pytest.mark.parametrize("path", [path for path in FORMS if path.name != "config.yml"], ids=lambda path: path.stem)
def test_issue_forms(path: Path) -> None:
    form = read(path)
    assert {"name", "description", "body"} <= set(form) <= {"name", "description", "title", "labels", "body"}
    fields = [item for item in form["body"] if item["type"] != "markdown"]
    assert fields, "a form asks for something"
    for item in form["body"]:
        assert item["type"] in ("markdown", "textarea", "input", "dropdown", "checkboxes")
        if item["type"] == "markdown":
            assert item["attributes"]["value"]
            continue
        assert re.fullmatch(r"[a-zA-Z0-9_-]+", item["id"])
        assert set(item["attributes"]) <= {"label", "description", "placeholder", "value", "render", "options"}
        if item["type"] == "dropdown":
            options = item["attributes"]["options"]
            # YAML reads a bare yes or no as a boolean, which is refused there.
            assert all(isinstance(option, str) for option in options)
            assert len(set(options)) == len(options) > 1
    for names in ([item["id"] for item in fields], [item["attributes"]["label"] for item in fields]):
        assert len(set(names)) == len(names)
    # Each of them knows what it was run with.
    assert any("python -m tensorlike info" in item["attributes"]["label"] for item in fields)


def test_issue_forms_are_there() -> None:
    assert {path.stem for path in FORMS} == {"audit-finding", "bug", "config", "differs-from-pytorch"}
    names = [read(path)["name"] for path in FORMS if path.stem != "config"]
    assert len(set(names)) == 3
    assert set(read(ROOT / ".github" / "ISSUE_TEMPLATE" / "config.yml")) <= {"blank_issues_enabled", "contact_links"}
    for name in ("CODE_OF_CONDUCT.md", "SECURITY.md", "CONTRIBUTING.md", ".github/pull_request_template.md"):
        assert (ROOT / name).read_text(encoding="utf-8")


def test_supported_versions_are_those_of_the_package() -> None:
    page = (ROOT / "docs" / "supported-versions.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| ([\w-]+) \| ([\d.]+) \| (\d{4}-\d\d) \| (\d{4}-\d\d) \|$", page, re.MULTILINE)
    wanted = [("Python", PROJECT["requires-python"].removeprefix(">="))]
    wanted += [tuple(dependency.split(">=")) for dependency in PROJECT["dependencies"]]
    assert [row[:2] for row in table] == wanted
    for name, _, released, ends in table:
        begin, end = (int(year) * 12 + int(month) for year, month in (date.split("-") for date in (released, ends)))
        assert end - begin == 12 * (3 if name == "Python" else 2)
    # An upper bound would keep users from a newest version that works.
    assert not [d for d in PROJECT["dependencies"] if "<" in d or "~" in d or "," in d]
    classified = re.findall(r"Python :: (3\.\d+)$", "\n".join(PROJECT["classifiers"]), re.MULTILINE)
    assert classified[0] == wanted[0][1]


def test_the_version_is_the_same_everywhere() -> None:
    releasing = (ROOT / "docs" / "releasing.md").read_text(encoding="utf-8")
    [sentence] = re.findall(r"Write X\.Y\.Z in (.*?);", releasing, re.DOTALL)
    named = re.findall(r"`([^`]+)`", sentence)
    assert len(named) == 3
    for name in named:
        assert tl.__version__ in (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["releasing.md", "deprecations.md", "supported-versions.md"])
def test_pages_name_files_that_are_there(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (ROOT / "docs" / link).exists(), link
    for name in re.findall(
        r"(?:^|[ `(])((?:tests|tools|docs|examples|tensorlike|\.ci)/[\w./*-]*\w)", text, re.MULTILINE
    ):
        assert list(ROOT.glob(name)), name


def test_every_documented_command_is_run() -> None:
    """By `.ci/run`: in a stage of its own, or by the tool that runs the rest in a fresh checkout."""
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "python3 tools/run_documented_commands.py" in ci
    shown = [command for page in documented.PAGES for command in documented.commands(page)]
    assert len(shown) >= 15
    for words, stage in documented.ELSEWHERE.items():
        assert any(words in command for command in shown), words
        assert f'stage "{stage}"' in ci, stage
    assert [c for c in shown if not documented.elsewhere(c) and "&& .venv/bin/python tools/build_docs.py" in c]


def test_commands_are_read_as_they_are_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "```sh\npytest -q  # all\nA=1 \\\n    b c\n```\n"
    (tmp_path / "README.md").write_text(text)
    monkeypatch.setattr(documented, "ROOT", tmp_path)
    assert list(documented.commands("README.md")) == ["pytest -q", "A=1 b c"]
    assert documented.as_run("python -m pytest -q").endswith(documented.NARROWED)
    assert documented.as_run("python tools/x.py DIR") == "python tools/x.py build/notebooks"
