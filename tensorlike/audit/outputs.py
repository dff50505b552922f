"""Reports of an audit for other programs: JUnit, SARIF, annotations and a summary for GitHub, a badge.

# Note [What counts with a baseline]
Without a baseline every fault is a failure. With one, the failures are the rows that got worse; the other faults are
known, and a program that is told of them is told so too: JUnit has them as skipped, SARIF as unchanged, and GitHub gets
no annotations of them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote
from xml.etree import ElementTree

import tensorlike

from .model import POSITION, PROGRAM, WRITTEN, AuditReport, AuditRow, Totals
from .outcomes import Outcome
from .sources import Source
from .terminal import counted, headline

if TYPE_CHECKING:
    from .baseline import Changes


class Audited(NamedTuple):
    """One audited type: its report, where its `__torch_function__` is, and what changed since the baseline."""

    report: AuditReport
    source: Source | None = None
    changes: Changes | None = None

    def is_failure(self, row: AuditRow) -> bool:
        """Return whether a row counts as a failure: see Note [What counts with a baseline]."""
        if self.changes is None:
            return row.counts and not row.passed
        return row.key in self.changes.worse


class LeftOut(NamedTuple):
    """A type that was not audited, or a module that was not imported, and why."""

    name: str
    reason: str


class Results(NamedTuple):
    """All that one run of the command has found."""

    #: What was audited, as the user named it.
    target: str
    audited: Sequence[Audited]
    #: For `--all`: types without an audit, and modules that were not looked into.
    types: Sequence[LeftOut] = ()
    modules: Sequence[LeftOut] = ()

    @property
    def totals(self) -> Totals:
        """The totals of all types."""
        return Totals(row for audited in self.audited for row in audited.report.rows)


def kind_of(row: AuditRow) -> str:
    """Return the word that a row is counted under: what `Outcome.label` says."""
    return row.verdict.label


def _is_wrong(row: AuditRow) -> bool:
    """Return whether a row has a wrong result or a crash, and no refusal or answer of another type."""
    return row.severity >= 5


def _groups(rows: Sequence[AuditRow]) -> list[tuple[str, list[AuditRow]]]:
    """Return rows with faults by kind, in the order of the rows."""
    found: dict[str, list[AuditRow]] = {}
    for row in rows:
        found.setdefault(kind_of(row), []).append(row)
    return list(found.items())


def _in_short(kind: str, rows: Sequence[AuditRow]) -> str:
    """Return a group of rows as one line, with the shortest call as the example."""
    example = min(rows, key=lambda row: (len(row.call), row.key))
    fault = example.faults[0].removeprefix(f"{kind}:").strip()
    text = f"{kind}: {counted(len(rows), 'call')} of {counted(len({row.function for row in rows}), 'function')}"
    return f"{text}, for example {example.call or example.function}{f': {fault}' if fault else ''}"


def table_of(results: Results) -> list[list[str]]:
    """Return a table with a line for each type: its calls, those with each kind of fault, and what passed."""
    kinds = list(dict.fromkeys(kind_of(row) for audited in results.audited for row in audited.report.worst()))
    lines = [["Type", "Functions", "Calls", *kinds, "Passed"]]
    for report in (audited.report for audited in results.audited):
        totals, counts = report.totals, Counter(map(kind_of, report.worst()))
        others = (WRITTEN, PROGRAM, POSITION)
        functions = len({row.function for row in report.rows if row.called and row.form not in others})
        numbers = [f"{counts[kind]:,}" if counts[kind] else "·" for kind in kinds]
        passed = f"{totals.coverage:.1f} %" if totals.counted else "–"
        lines.append([report.type_name, f"{functions:,}", f"{totals.called:,}", *numbers, passed])
    return lines


# ---------------------------------------------------------------------------------------------------------------- JUnit

#: What XML 1.0 cannot hold.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


def junit(results: Results) -> str:
    """Return the results as JUnit's XML: a suite for each type, a case for each function and operand."""
    root = ElementTree.Element("testsuites", name=_xml(f"tensorlike audit {results.target}"))
    for audited in results.audited:
        report = audited.report
        suite = ElementTree.SubElement(root, "testsuite", name=_xml(report.type_name), time=f"{report.seconds:.3f}")
        counts = Counter(tests=len(report.rows), failures=0, errors=0, skipped=0)
        for row in report.rows:
            case = ElementTree.SubElement(
                suite, "testcase", classname=_xml(report.type_name), name=_xml(f"{row.function}[{row.operand}]")
            )
            if audited.is_failure(row):
                counts["failures"] += 1
                found = ElementTree.SubElement(case, "failure", type=_xml(kind_of(row)), message=_xml(row.faults[0]))
                found.text = _xml("\n".join([row.call, *row.faults, *_answered_by(row)]))
            elif not row.called or not row.passed:
                counts["skipped"] += 1
                known = "known to the baseline" if row.counts else "refused on purpose"
                reason = f"{known}: {row.faults[0]}" if row.called else row.reason
                ElementTree.SubElement(case, "skipped", message=_xml(reason))
        for name, count in counts.items():
            suite.set(name, str(count))
    for left_out in results.types:
        suite = ElementTree.SubElement(root, "testsuite", name=_xml(left_out.name), tests="1", skipped="1")
        case = ElementTree.SubElement(suite, "testcase", classname=_xml(left_out.name), name="audit")
        ElementTree.SubElement(case, "skipped", message=_xml(left_out.reason))
    ElementTree.indent(root, " ")
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _answered_by(row: AuditRow) -> list[str]:
    return [f"answered by {row.answered_by}"] if row.answered_by else []


# ---------------------------------------------------------------------------------------------------------------- SARIF

_SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def _rule_id(kind: str) -> str:
    return "override/" + re.sub(r"\W+", "-", kind).strip("-").lower()


def sarif(results: Results) -> str:
    """Return the results as SARIF 2.1.0: a rule for each kind of fault, a result for each function with it."""
    rules: dict[str, dict[str, Any]] = {}
    found: list[dict[str, Any]] = []
    for audited in results.audited:
        report = audited.report
        groups: dict[tuple[str, str], list[AuditRow]] = {}
        for row in report.worst():
            groups.setdefault((kind_of(row), row.function), []).append(row)
        for (kind, function), rows in groups.items():
            rule = rules.setdefault(_rule_id(kind), _rule(kind))
            failing = any(map(audited.is_failure, rows))
            result: dict[str, Any] = {
                "ruleId": rule["id"],
                "ruleIndex": list(rules).index(rule["id"]),
                "level": ("error" if _is_wrong(rows[0]) else "warning") if failing else "note",
                "message": {"text": _sarif_text(function, rows)},
                "locations": [_location(audited)],
                "partialFingerprints": {"override/v1": f"{report.type_name}:{report.api}:{kind}:{function}"},
                "properties": {"calls": [row.call for row in rows]},
            }
            if audited.changes is not None:
                result["baselineState"] = "new" if failing else "unchanged"
            found.append(result)
    driver = {
        "name": "tensorlike audit",
        "version": tensorlike.__version__,
        "semanticVersion": tensorlike.__version__,
        "rules": list(rules.values()),
    }
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": found}
    data = {"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def _rule(kind: str) -> dict[str, Any]:
    words = re.sub(r"\W+", " ", kind).title().replace(" ", "")
    return {
        "id": _rule_id(kind),
        "name": words,
        "shortDescription": {"text": f"Override: {kind}"},
        "fullDescription": {"text": next(o.meaning for o in Outcome if o.label == kind)},
    }


def _sarif_text(function: str, rows: Sequence[AuditRow]) -> str:
    lines = {fault: None for row in rows for fault in row.faults}
    operands = ", ".join(repr(row.operand) for row in rows)
    return "\n".join([f"{function} with an instance as {operands}:", *lines])


def _location(audited: Audited) -> dict[str, Any]:
    location: dict[str, Any] = {
        "logicalLocations": [{"fullyQualifiedName": audited.report.type_name, "kind": "type"}],
    }
    source = audited.source
    if source is not None:
        # A relative address is below the root of the sources; others are of files elsewhere on the machine.
        path = quote(source.path, safe="/:~")
        artifact = {"uri": path, "uriBaseId": "%SRCROOT%"}
        if not source.relative:
            artifact = {"uri": f"file://{'' if path.startswith('/') else '/'}{path}"}
        location["physicalLocation"] = {"artifactLocation": artifact, "region": {"startLine": source.line}}
    return location


# --------------------------------------------------------------------------------------------------------------- GitHub

#: GitHub shows ten annotations of each level for a step, and drops the rest.
_ANNOTATIONS = 10


def workflow_commands(results: Results) -> list[str]:
    """Return workflow commands that annotate the sources in a pull request, no more than GitHub shows."""
    found: dict[str, list[str]] = {"error": [], "warning": [], "notice": []}
    for audited in results.audited:
        report, changes = audited.report, audited.changes
        name = report.type_name.rpartition(".")[2]
        if changes is not None:
            for regression in changes.regressions:
                text = f"{regression.row.function}, {regression.row.operand}: {regression.text}"
                if regression.row.call:
                    text += f"\n{regression.row.call}"
                found["error"].append(_annotation("error", audited, f"{name} got worse", text))
        else:
            for kind, rows in _groups(report.worst()):
                level = "error" if _is_wrong(rows[0]) else "warning"
                found[level].append(_annotation(level, audited, f"{name}: {kind}", _in_short(kind, rows)))
        text = headline(report)
        if changes is not None and changes.improvements:
            text += f"; {counted(len(changes.improvements), 'call')} better than in {changes.name}"
        found["notice"].append(_annotation("notice", audited, f"Audit of {name}", text))
    lines = []
    for level, commands in found.items():
        hidden = len(commands) - _ANNOTATIONS
        if hidden > 0:
            commands = commands[: _ANNOTATIONS - 1]
            commands.append(f"::{level} title=tensorlike audit::and {hidden + 1} more; --markdown and --junit have all")
        lines += commands
    return lines


def _annotation(level: str, audited: Audited, title: str, text: str) -> str:
    properties = {"title": title}
    # GitHub finds files of the checkout alone.
    if audited.source is not None and audited.source.relative:
        properties = {"file": audited.source.path, "line": str(audited.source.line), **properties}
    given = ",".join(f"{name}={_escaped(value, property=True)}" for name, value in properties.items())
    return f"::{level} {given}::{_escaped(text)}"


def _escaped(text: str, *, property: bool = False) -> str:
    for character in "%\r\n" + (":," if property else ""):
        text = text.replace(character, f"%{ord(character):02X}")
    return text


# ------------------------------------------------------------------------------------------------------------- Markdown

_LISTED = 20


def markdown(results: Results) -> str:
    """Return the results as Markdown for the summary of a job: a line for each type, then its faults by kind."""
    return "\n".join(_markdown(results)) + "\n"


def _markdown(results: Results) -> Iterator[str]:
    yield f"## Audit of {_text(results.target)}"
    yield ""
    if results.audited:
        heading, *lines = table_of(results)
        yield _row_of(heading)
        yield "| --- |" + " ---: |" * (len(heading) - 1)
        yield from map(_row_of, lines)
    else:
        yield "No type was audited."
    yield ""
    for audited in results.audited:
        yield from _markdown_of(audited, several=len(results.audited) > 1)
    for title, left_out in (("Types without an audit", results.types), ("Modules left out", results.modules)):
        if left_out:
            yield f"<details><summary>{title}: {len(left_out)}</summary>"
            yield ""
            yield from (f"- {_text(name)}: {_text(reason)}" for name, reason in left_out)
            yield ""
            yield "</details>"
            yield ""


def _markdown_of(audited: Audited, *, several: bool) -> Iterator[str]:
    report, changes = audited.report, audited.changes
    if changes is not None:
        of = f" of {report.type_name}" if several else ""
        named: tuple[tuple[str, Sequence[Any]], ...] = (
            ("worse", changes.regressions),
            ("better", changes.improvements),
        )
        for word, found in named:
            if found:
                yield f"**{counted(len(found), 'call')}{_text(of)} {word} than in {_text(changes.name)}**"
                yield ""
                for change in found[:_LISTED]:
                    yield f"- {_code(change.row.function)}, {_code(change.row.operand)}: {_text(change.text)}"
                if len(found) > _LISTED:
                    yield f"- and {len(found) - _LISTED} more"
                yield ""
        if not changes.regressions:
            yield f"{_text(report.type_name)}: nothing is worse than in {_text(changes.name)}."
            yield ""
    worst = report.worst()
    if not worst:
        return
    yield f"<details><summary>Faults of {_text(report.type_name)}</summary>"
    yield ""
    for kind, rows in _groups(worst):
        functions = list({row.function: row for row in rows}.values())
        yield f"**{_text(kind)}**: {counted(len(rows), 'call')} of {counted(len(functions), 'function')}"
        yield f"({_text(rows[0].verdict.meaning)})"
        yield ""
        for row in functions[:_LISTED]:
            yield f"- {_code(row.call or row.function)}: {_text(_short('; '.join(row.faults)))}"
        if len(functions) > _LISTED:
            yield f"- and {counted(len(functions) - _LISTED, 'function')} more"
        yield ""
    yield "</details>"
    yield ""


def _row_of(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_text, cells))} |"


def _text(text: str) -> str:
    """Return a text that Markdown shows as it is."""
    return re.sub(r"([\\`*_\[\]<>&|#~])", r"\\\1", " ".join(text.split()))


def _code(text: str) -> str:
    """Return a text as a span of code, with more backticks around it than are in it."""
    text = " ".join(text.split())
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{space}{text}{space}{fence}"


def _short(text: str, limit: int = 240) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


# ----------------------------------------------------------------------------------------------------------------- HTML

_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem;color-scheme:light dark}"
    "div{overflow-x:auto}table{border-collapse:collapse}th,td{padding:.3rem .8rem;text-align:right;"
    "border-bottom:1px solid #8886}th:first-child,td:first-child{text-align:left}"
)


def html_index(results: Results, folder: str) -> str:
    """Return a page that lists several types, each with a link to its page `folder/TYPE.html`."""
    title = f"Audit of {escape(results.target)}"
    heading, *lines = table_of(results)
    body = [f"<h1>{title}</h1>", "<div><table>"]
    body.append("<thead><tr>" + "".join(f'<th scope="col">{escape(cell)}</th>' for cell in heading) + "</tr></thead>")
    for name, *cells in lines:
        link = f'<a href="{escape(quote(f"{folder}/{name}.html"))}">{escape(name)}</a>'
        body.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in (link, *map(escape, cells))) + "</tr>")
    body.append("</table></div>")
    for what, left_out in (("Types without an audit", results.types), ("Modules left out", results.modules)):
        if left_out:
            body += [f"<h2>{what}</h2>", "<ul>"]
            body += [f"<li><code>{escape(name)}</code>: {escape(reason)}</li>" for name, reason in left_out]
            body.append("</ul>")
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    lines_of_page = ["<!doctype html>", f'<html lang="en"><head>{head}<style>{_STYLE}</style></head><body>']
    return "\n".join([*lines_of_page, *body, "</body></html>"]) + "\n"


# ---------------------------------------------------------------------------------------------------------------- badge

_LABEL = "overrides"
#: The least percentage of each colour, by its name and as drawn.
_COLOURS = (
    (100.0, "brightgreen", "#3c8a0c"),
    (90.0, "green", "#5d8a0c"),
    (75.0, "yellowgreen", "#7a7d08"),
    (50.0, "yellow", "#94700a"),
    (25.0, "orange", "#b3540c"),
    (0.0, "red", "#c0392b"),
)


def _message(totals: Totals) -> tuple[str, str, str]:
    """Return the text of a badge, and the colour by its name and as drawn."""
    if not totals.counted:
        return "nothing called", "lightgrey", "#6e6e6e"
    # Rounded down: 100 % is for a type without faults.
    share = totals.passed * 1000 // totals.counted / 10
    _, name, drawn = next(colour for colour in _COLOURS if share >= colour[0])
    return f"{share:g} %", name, drawn


def badge(results: Results) -> str:
    """Return the percentage as JSON for the endpoint badge of shields.io."""
    message, colour, _ = _message(results.totals)
    return json.dumps({"schemaVersion": 1, "label": _LABEL, "message": message, "color": colour}) + "\n"


def badge_svg(results: Results) -> str:
    """Return the percentage as a drawn badge."""
    message, _, colour = _message(results.totals)
    # Of DejaVu Sans, 11 pixels high. `textLength` fits the text into its place where another font is taken.
    left, right = (round(sum(_width(c) for c in text)) for text in (_LABEL, message))
    split, whole = left + 10, left + right + 20
    texts = [
        f'<text x="{x}" y="14" textLength="{length}">{text}</text>'
        for x, length, text in ((5, left, _LABEL), (split + 5, right, message))
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole}" height="20" role="img" '
        f'aria-label="{_LABEL}: {message}">\n'
        f"<title>{_LABEL}: {message}</title>\n"
        f'<clipPath id="r"><rect width="{whole}" height="20" rx="3"/></clipPath>\n'
        f'<g clip-path="url(#r)"><rect width="{split}" height="20" fill="#444"/>'
        f'<rect x="{split}" width="{whole - split}" height="20" fill="{colour}"/></g>\n'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="11">{"".join(texts)}</g>\n'
        f"</svg>\n"
    )


def _width(character: str) -> float:
    if character in "il.,: ":
        return 3.6
    return 10.5 if character in "%mw" else 4.6 if character in "rt" else 6.9
