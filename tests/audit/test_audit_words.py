"""The audit's vocabulary: one table, in every output; refusals that are meant; reports with the earlier words."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import tensorlike as tl
from tensorlike.__main__ import main
from tensorlike.audit import (
    AuditError,
    AuditReport,
    AuditRow,
    Outcome,
    SignatureFault,
    SignatureProblem,
    audit,
)
from tensorlike.audit.baseline import Baseline
from tensorlike.audit.continuous import json_schema
from tensorlike.audit.html import to_html
from tensorlike.audit.outcomes import FAULTY, legend
from tensorlike.audit.terminal import headline
from tensorlike.overrides import TensorLike, implements, refuse, rewrap

ROOT = Path(__file__).parents[2]


class Metres(TensorLike, unhandled=refuse):
    """Refuses all but a few functions."""

    def __init__(self, value: Any) -> None:
        self.value = value

    @classmethod
    def __tensorlike_from_dense__(cls, tensor: Any) -> Metres:
        return cls(tensor)

    def __tensorlike_to_dense__(self) -> Any:
        return self.value


@implements(tl.exp, for_type=Metres)
def exp(input: Any, *, out: Any = None) -> Any:
    return type(input)(tl.exp(input.value)) if out is None else NotImplemented


@implements(tl.sum, for_type=Metres)
def sum_(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None) -> Any:
    if dtype is not None or out is not None:
        return NotImplemented
    return type(input)(tl.sum(input.value, dim, keepdim))


@implements(tl.allclose, for_type=Metres)
def allclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    plain = [v.value if isinstance(v, Metres) else v for v in (input, other)]
    return tl.allclose(*plain, rtol, atol, equal_nan)


class Wrapped(Metres, unhandled=rewrap):
    def unwrap(self) -> Any:
        return self.value

    @classmethod
    def wrap(cls, tensor: Any, like: Any) -> Wrapped:
        return cls(tensor)


ONLY = ("tensorlike.exp", "tensorlike.sum", "tensorlike.allclose", "tensorlike.cos")


def row(outcome: Outcome, **facts: Any) -> AuditRow:
    return AuditRow("tensorlike.f", "tensorlike", "function", "input", outcome, **facts)


def test_a_rule_that_computes_with_plain_tensors_is_an_own_rule() -> None:
    found = audit(Metres, only=ONLY)
    assert found.row("tensorlike.exp", "input").verdict is Outcome.OWN
    assert found.row("tensorlike.exp", "input").on_plain
    # Neither a rule for this function, nor the type.
    assert found.row("tensorlike.allclose", "input").verdict is Outcome.THROUGH_PLAIN
    assert found.row("tensorlike.cos", "input").verdict is Outcome.REFUSED
    assert audit(Wrapped, only="tensorlike.cos").row("tensorlike.cos", "input").verdict is Outcome.THROUGH_PLAIN


def test_every_call_is_counted_under_one_word() -> None:
    totals = audit(Metres, only="tensorlike.*s*").totals
    assert sum(totals.outcomes.values()) == len(totals.rows)
    assert sum(totals.outcomes[word] for word in Outcome if word is not Outcome.NOT_CALLED) == totals.called
    assert totals.passed == sum(totals.outcomes[word] for word in Outcome if word.tint == "passed")


def test_the_worst_finding_is_the_verdict() -> None:
    from tensorlike.audit import ValueCheck

    problem = SignatureProblem(SignatureFault.MISSING, "out", "no out")
    found = row(
        Outcome.TYPE_LOST, reason="plain", value=ValueCheck.DIFFERS, difference="1 for 2", attributes="tag is None",
        signature=[problem],
    )  # fmt: skip
    assert found.verdict is Outcome.WRONG_VALUE
    assert found.faults == [
        "wrong value: 1 for 2", "attribute lost: tag is None", "wrong signature: no out", "type lost: plain"
    ]  # fmt: skip
    assert row(Outcome.OWN).verdict is Outcome.OWN
    assert row(Outcome.OWN, attributes="tag is None").severity == row(Outcome.OWN, signature=[problem]).severity


def test_the_table_is_whole() -> None:
    assert len({word.label for word in Outcome}) == len({word.colour for word in Outcome}) == len(Outcome)
    assert all(word.meaning.endswith(".") and word.tint for word in Outcome)
    assert {word for word in Outcome if word.tint not in ("passed", "uncalled")} == FAULTY


def test_the_page_of_the_documentation_is_the_table() -> None:
    text = (ROOT / "docs" / "reference" / "audit-words.md").read_text(encoding="utf-8")
    [table] = re.findall(r"<!-- words -->\n(.*)<!-- end of words -->", text, re.DOTALL)
    rows = [line.strip("| ").split(" | ") for line in table.strip().splitlines()[2:]]
    assert rows == [[label, f"`{word.value}`", meaning] for word, label, meaning in legend()]


def test_the_parts_of_the_ten_types_add_up_to_the_gallery() -> None:
    text = (ROOT / "docs" / "reference" / "audit-words.md").read_text(encoding="utf-8")
    audits = json.loads((ROOT / "docs" / "gallery" / "audits.json").read_text(encoding="utf-8"))
    rows = re.findall(r"^\| `(\w+)` \|.*?\|(.*)\|$", text[text.index("## Ten types") :], re.MULTILINE)
    assert len(rows) == 10
    # A program that passes is an own rule in the gallery's counts.
    keys = {"own rule": "own", "passed": "own", "through a plain tensor": "through_plain", "refused": "refused"}
    for name, parts in rows:
        found = {"own": 0, "through_plain": 0, "refused": 0}
        for word, number in re.findall(r"(own rule|passed|through a plain tensor|refused) ([\d,]+)", parts):
            found[keys[word]] += int(number.replace(",", ""))
        assert found == {word: audits[name].get(word, 0) for word in found}, name
        assert sum(found.values()) == audits[name]["calls"], name


def test_the_legend_is_shown_with_every_result(capsys: pytest.CaptureFixture[str]) -> None:
    found = audit(Metres, only=ONLY)
    words = [Outcome.OWN, Outcome.THROUGH_PLAIN, Outcome.REFUSED]
    main(["audit", f"{__file__}:Metres", *(f"--only={name}" for name in ONLY)])
    printed = " ".join(capsys.readouterr().out.split())
    page = to_html(found)
    for word in words:
        assert f"{word.label} {word.meaning}" in printed
        assert f"<dd>{word.meaning.replace(chr(39), '&#39;')}</dd>" in page
    # Those that occur.
    assert Outcome.RAISED.meaning not in printed
    with pytest.raises(SystemExit):
        main(["audit", "--help"])
    helped = " ".join(capsys.readouterr().out.split())
    assert all(f"{label} {meaning}" in helped for _, label, meaning in legend())
    schema = json.loads(json_schema())["$defs"]["outcome"]["oneOf"]
    assert [(s["const"], s["title"]) for s in schema] == [(word.value, word.label) for word in Outcome]


def test_all_outputs_have_the_same_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, data = tmp_path / "a.html", tmp_path / "a.json"
    command = ["audit", f"{__file__}:Metres", *(f"--only={name}" for name in ONLY), "--jobs", "0"]
    assert main([*command, "--html", str(page), "--json", str(data)]) == 0
    lines = capsys.readouterr().out
    totals = json.loads(data.read_text())["totals"]
    numbers = re.search(r"^\s*tensorlike +([\d ·]+) +[\d.]+ %", lines, re.MULTILINE)
    assert numbers is not None, lines
    shown = [int(number) for number in numbers[1].split() if number != "·"]
    words = [word for word in Outcome if totals[word.value]]
    assert shown == [totals["calls"], *(totals[word.value] for word in words)]
    for word in words:
        assert f'{word.label} <span class="soft">{totals[word.value]}</span>' in page.read_text()


# Refusals that are meant.


@pytest.mark.parametrize("how", ["argument", "class", "command", "project"])
def test_refusals_that_are_meant(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Said(Metres):
        __tensor_audit__ = {"refusals": "ok"}

    monkeypatch.chdir(tmp_path)
    target = f"{__file__}:Metres"
    command = ["audit", *(f"--only={name}" for name in ONLY), "--json", "a.json", "--jobs", "0"]
    if how == "argument":
        found = audit(Metres, only=ONLY, refusals="ok")
    elif how == "class":
        found = audit(Said, only=ONLY)
    else:
        if how == "command":
            command += ["--refusals", "ok"]
        else:
            table = f'[tool.tensorlike.audit."{target}"]\nrefusals = "ok"\n'
            (tmp_path / "pyproject.toml").write_text(table)
        assert main([*command[:1], target, *command[1:]]) == 0
        found = AuditReport.from_json((tmp_path / "a.json").read_text())
    fault = audit(Metres, only=ONLY)
    assert found.coverage == 100
    assert fault.coverage < 60
    assert found.totals.called == fault.totals.called
    assert found.totals.outcomes[Outcome.REFUSED] == found.totals.meant > 3
    assert found.worst() == []
    refused = found.row("tensorlike.cos", "input")
    assert (refused.passed, refused.counts, refused.meant) == (False, False, True)
    assert refused.faults[0].startswith("refused: no implementation found for 'tensorlike.cos'")
    assert f"({found.totals.meant} refused on purpose" in headline(found)
    # A parameter that is refused: the function is answered.
    parameter = found.row("tensorlike.sum", "input")
    assert parameter.passed
    assert parameter.verdict is (Outcome.INHERITED if how == "class" else Outcome.OWN)
    assert "dtype" in parameter.faults[0]
    assert fault.row("tensorlike.sum", "input").verdict is Outcome.REFUSED


def test_crashes_are_not_meant() -> None:
    class Crashing(Metres):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return [][1]

    found = audit(Crashing, only="tensorlike.cos", refusals="ok")
    assert {r.verdict for r in found.rows} == {Outcome.RAISED}
    assert found.coverage == 0


def test_a_wrong_word_for_refusals(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(AuditError, match=r"argument 'refusals' is 'fault' or 'ok', not 'fine'"):
        audit(Metres, only="tensorlike.cos", refusals="fine")
    assert main(["audit", f"{__file__}:Metres", "--refusals", "fine"]) == 2
    assert "--refusals is 'fault' or 'ok', not 'fine'" in capsys.readouterr().err


def test_the_summary_says_when_no_value_was_compared() -> None:
    class Unreadable:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return cls()

    found = audit(Unreadable, only="tensorlike.cos")
    assert headline(found).endswith("; no value was compared")
    assert "no value was compared" in to_html(found)
    assert "no value was compared" not in headline(audit(Metres, only=ONLY))


# The words of version 1.


def test_reports_and_baselines_with_the_earlier_words_are_read(tmp_path: Path) -> None:
    def old(**facts: Any) -> dict[str, Any]:
        return {"namespace": "tensorlike", "form": "function", "operand": "input", **facts}

    rows = [
        old(function="tensorlike.exp", outcome="fallback"),
        old(function="tensorlike.cos", outcome="not_implemented"),
        old(function="tensorlike.sum", outcome="recursed", error_type="RecursionError", error="f: again"),
    ]
    report = AuditReport.from_dict({"format": "tensorlike-audit", "format_version": 1, "type": "x.M", "rows": rows})
    assert [r.outcome for r in report.rows] == [Outcome.THROUGH_PLAIN, Outcome.REFUSED, Outcome.RAISED]
    assert [r.left_out for r in report.rows] == [False, True, False]
    assert report.rows[2].recursed
    file = tmp_path / "old.json"
    entry = {"api": "tensorlike", "type": "x.M", "rows": rows}
    file.write_text(json.dumps({"format": "tensorlike-audit-baseline", "format_version": 1, "types": [entry]}))
    baseline = Baseline.read(str(file))
    now = AuditReport("x.M", [row(Outcome.REFUSED, left_out=True)])
    now.rows[0].function = "tensorlike.cos"
    changes = baseline.changes(now)
    assert (changes.compared, changes.regressions, changes.improvements) == (1, [], [])
    again = Baseline(str(file), [report]).text
    assert '"format_version": 2' in again
    assert '"outcome": "through_plain"' in again


def test_a_baseline_keeps_lost_attributes(tmp_path: Path) -> None:
    lost = AuditReport("x.M", [row(Outcome.OWN, attributes="tag is None, the operand had 'a'")])
    kept = AuditReport("x.M", [row(Outcome.OWN)])
    (tmp_path / "lost.json").write_text(Baseline("", [lost]).text)
    baseline = Baseline.read(str(tmp_path / "lost.json"))
    assert baseline.changes(lost).regressions == []
    [better] = baseline.changes(kept).improvements
    assert better.text == "attributes: kept"
    (tmp_path / "kept.json").write_text(Baseline("", [kept]).text)
    [worse] = Baseline.read(str(tmp_path / "kept.json")).changes(lost).regressions
    assert worse.text == "attribute lost: tag is None, the operand had 'a'"
