"""What the audit writes for other programs, baselines, comparisons of two types, and audits of a package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from tensorlike.__main__ import main
from tensorlike.audit import AuditReport, packages
from tensorlike.audit.continuous import json_schema

jsonschema = pytest.importorskip(
    "jsonschema", reason="reports are held to their schema with jsonschema, of the extra 'test'"
)
yaml = pytest.importorskip("yaml", reason="the workflows that docs show are read with PyYAML, of the extra 'test'")

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads(json_schema())

TYPES = """
    import tensorlike as tl

    class Right(tl.Tensor):
        pass

    class Wrong(tl.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            result = super().__torch_function__(func, types, args, kwargs or {})
            if func is tl.neg:
                return result + 1
            if func is tl.exp:
                return [][0]
            if func is tl.log:
                raise NotImplementedError("no <logarithm> of this | type")
            return result

    class Needy:
        def __init__(self, what):
            pass

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    class Mode(tl.overrides.TorchFunctionMode):
        pass
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "kinds_of_tensors"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "types.py").write_text(textwrap.dedent(TYPES))
    (folder / "broken.py").write_text("import a_module_that_nobody_has")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    return tmp_path


WRONG = ("audit", "kinds_of_tensors.types:Wrong", "--only", "tensorlike.neg", "--only", "tensorlike.exp", "--only")
WRONG = (*WRONG, "tensorlike.log", "--only", "tensorlike.cos")


def test_every_report_is_written(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [f"--{kind}={kind}.out" for kind in ("junit", "sarif", "markdown", "json")]
    assert main([*WRONG, *files, "--badge=badge.svg", "--github"]) == 0
    printed = capsys.readouterr().out
    report = AuditReport.from_json((package / "json.out").read_text())
    faulty = len(report.worst())
    assert faulty >= 3

    suites = ElementTree.parse("junit.out").getroot()
    cases = list(suites.iter("testcase"))
    assert len(cases) == len(report.rows)
    assert sum(case.find("failure") is not None or case.find("error") is not None for case in cases) == faulty

    sarif = json.loads((package / "sarif.out").read_text())
    assert sarif["version"] == "2.1.0"
    [run] = sarif["runs"]
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert {result["ruleId"] for result in run["results"]} <= rules
    places = [result["locations"][0]["physicalLocation"] for result in run["results"]]
    assert {place["artifactLocation"]["uri"] for place in places} == {"kinds_of_tensors/types.py"}
    line = next(n for n, text in enumerate(textwrap.dedent(TYPES).splitlines(), 1) if "@classmethod" in text)
    assert {place["region"]["startLine"] for place in places} <= {line, line + 1}

    assert any(text.startswith("::error file=kinds_of_tensors/types.py,line=") for text in printed.splitlines())
    summary = (package / "markdown.out").read_text()
    assert "| Type |" in summary
    assert "no <logarithm>" not in summary.replace("`", "").split("<details>")[0]
    badge = ElementTree.parse("badge.svg").getroot()
    assert badge.tag == "{http://www.w3.org/2000/svg}svg"
    assert f"{report.coverage:.0f}" in "".join(badge.itertext())


def test_every_badge_is_written(package: Path) -> None:
    """Also those of pyproject.toml, which names one or several."""
    assert main([*WRONG, "--badge=badge.svg", "--badge=badge.json"]) == 0
    message = json.loads((package / "badge.json").read_text())["message"]
    assert message in "".join(ElementTree.parse("badge.svg").getroot().itertext())
    table = "[tool.tensorlike.audit]\nonly = ['tensorlike.neg']\nbadge = {}\n"
    for kept in ("['one.svg', 'one.json']", "'two.svg'"):
        (package / "pyproject.toml").write_text(table.format(kept))
        assert main(["audit", "kinds_of_tensors.types:Wrong"]) == 0
    assert {"one.svg", "one.json", "two.svg"} <= {path.name for path in package.iterdir()}


def test_a_badge_for_services_and_the_summary_of_a_job(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(package / "summary.md"))
    (package / "summary.md").write_text("before\n")
    assert main([*WRONG, "--badge=badge.json", "--markdown", str(package / "summary.md")]) == 0
    badge = json.loads((package / "badge.json").read_text())
    assert badge["schemaVersion"] == 1
    assert {"label", "message", "color"} <= badge.keys()
    # Steps of a job write to one file.
    assert (package / "summary.md").read_text().startswith("before\n")


def test_baselines(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    baseline = ("--baseline", "audit.json")
    assert main([*WRONG, *baseline, "--update-baseline"]) == 0
    text = (package / "audit.json").read_text()
    jsonschema.validate(json.loads(text), SCHEMA)
    assert "seconds" not in text
    assert str(package) not in text
    # The same audit writes the same file.
    assert main([*WRONG, *baseline, "--update-baseline"]) == 0
    assert (package / "audit.json").read_text() == text
    assert main([*WRONG, *baseline]) == 0
    assert "No regressions" in capsys.readouterr().out

    types = package / "kinds_of_tensors" / "types.py"
    source = types.read_text()

    def audit(changed: str) -> tuple[int, str]:
        types.write_text(changed)
        command = [sys.executable, "-B", "-m", "tensorlike", *WRONG, *baseline]
        environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{package}"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    status, printed = audit(
        source.replace(
            "if func is tl.neg:", "if func is tl.cos:\n            raise ValueError\n        if func is tl.neg:"
        )
    )
    assert status == 1
    assert "tensorlike.cos" in printed.partition("against")[2]
    status, printed = audit(source.replace("return [][0]", "return result"))
    assert status == 0
    assert "tensorlike.exp" in printed.partition("against")[2]
    types.write_text(source)

    (package / "audit.json").write_text(text.replace("kinds_of_tensors.types.Wrong", "kinds_of_tensors.types.Other"))
    assert main([*WRONG, *baseline]) == 2
    assert "nothing was compared" in capsys.readouterr().err
    assert main([*WRONG, "--update-baseline"]) == 2


def test_json_keeps_to_its_schema(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert main([*WRONG, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    jsonschema.validate(data, SCHEMA)
    for wrong in ({**data, "format_version": "1"}, {**data, "rows": [{**data["rows"][0], "outcome": "fine"}]}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, SCHEMA)
    # Every field of a row stands in the schema.
    row = next(definition for name, definition in SCHEMA["$defs"].items() if name == "row")
    assert set(data["rows"][0]) == set(row["properties"])


def test_two_types_are_compared(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    two = ("compare", "kinds_of_tensors.types:Right", "kinds_of_tensors.types:Wrong", "--only", "tensorlike.???")
    assert main([*two]) == 0
    printed = capsys.readouterr().out
    assert "tensorlike.neg" in printed
    assert "Right" in printed
    assert main([*two, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    jsonschema.validate(data, SCHEMA)
    assert data["counts"]["both"] > 5
    assert main(["compare", two[1], two[2], "--only", "no such"]) == 2


def test_all_types_of_a_package(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    all_of_it = ("audit", "--all", "kinds_of_tensors", "--only", "tensorlike.neg")
    assert main([*all_of_it]) == 0
    printed = capsys.readouterr().out
    assert "kinds_of_tensors.types.Right" in printed
    assert "kinds_of_tensors.types.Needy: cannot make a Needy" in printed
    assert "kinds_of_tensors.broken: ModuleNotFoundError" in printed
    assert "Mode" not in printed
    assert "2 types" in printed
    # What a type needs stands in the project.
    (package / "pyproject.toml").write_text(
        '[tool.tensorlike.audit."kinds_of_tensors.types:Needy"]\nmake = "Needy(3)"\nplain-results = "ok"\n'
    )
    assert main([*all_of_it, "--json=all.json", "--junit=all.xml"]) == 0
    data = json.loads((package / "all.json").read_text())
    jsonschema.validate(data, SCHEMA)
    assert [report["type"].rpartition(".")[2] for report in data["reports"]] == ["Needy", "Right", "Wrong"]
    assert main(["audit", "--all", "a_package_that_nobody_has"]) == 2
    assert "cannot import a_package_that_nobody_has" in capsys.readouterr().err
    assert main(["audit", "--all", "kinds_of_tensors", "kinds_of_tensors.types:Right"]) == 2


def test_a_package_of_which_nothing_is_audited_is_no_success(
    package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (package / "needy_kinds.py").write_text(
        "class Needy:\n    def __init__(self, t): pass\n    def __torch_function__(self, *args): return 1\n"
    )
    assert main(["audit", "--all", "needy_kinds", "--fail-under", "90"]) == 2
    printed = capsys.readouterr()
    assert "needy_kinds: nothing was audited" in printed.out
    assert "%" not in printed.out
    assert "nothing of needy_kinds was audited" in printed.err


def test_what_is_meant_holds_for_all_types_of_a_package(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Options that say what types mean to do, and how many are audited at a time, were dropped with `--all`."""
    all_of_it = ("audit", "--all", "kinds_of_tensors", "--only=tensorlike.neg", "--only=tensorlike.Tensor.item")
    asked: list[int] = []
    in_children = packages.in_children

    def counted(work: Any, *, jobs: int, seconds: float) -> Any:
        asked.append(jobs)
        return in_children(work, jobs=jobs, seconds=seconds)

    monkeypatch.setattr(packages, "in_children", counted)

    def rows(*options: str) -> dict[str, dict[str, Any]]:
        assert main([*all_of_it, "--json=all.json", *options]) == 0
        data = json.loads((package / "all.json").read_text())
        (right,) = [report for report in data["reports"] if report["type"].endswith(".Right")]
        return {row["function"]: row for row in right["rows"]}

    assert rows("--jobs=1")["tensorlike.Tensor.item"]["passed"]
    assert "has no methods" in rows("--methods=none", "--jobs=3")["tensorlike.Tensor.item"]["reason"]
    assert asked == [1, 3]
    # A negation has the shape of its operand, and another sum.
    assert rows("--metadata=shape")["tensorlike.neg"]["verdict"] == "inherited"
    assert rows("--metadata=lambda x: x.sum().item()")["tensorlike.neg"]["verdict"] == "attribute_lost"
    (package / "pyproject.toml").write_text(
        '[tool.tensorlike.audit."kinds_of_tensors.types:Right"]\nmetadata = "lambda x: x.sum().item()"\n'
    )
    assert rows()["tensorlike.neg"]["verdict"] == "attribute_lost"


def test_the_page_shows_commands_that_there_are() -> None:
    import argparse

    from tensorlike.audit import cli

    parser = argparse.ArgumentParser()
    cli.add_arguments(parser)
    page = (ROOT / "docs" / "how-to" / "test-in-ci.md").read_text()
    found: list[str] = []

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            found.extend(v for k, v in value.items() if k in ("run", "entry") and str(v).startswith("tensorlike audit"))
            value = list(value.values())
        if isinstance(value, list):
            for item in value:
                walk(item)

    for block in page.split("```yaml\n")[1:]:
        walk(yaml.safe_load(block.partition("```")[0]))
    assert len(found) == 2
    for command in found:
        parser.parse_args(command.split()[2:])
