"""The report of override coverage as HTML that needs neither network nor other files."""

from __future__ import annotations

import keyword
import re
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tensorlike.overrides.pages import rendered

from .coverage_report import CoverageReport, HandlerCoverage, TypeCoverage, displayed, namespace_of
from .override_coverage import ANSWERED, NOT_IMPLEMENTED, RAISED

#: The elements that tokens of Python stand in, besides keywords.
_TAGS = {tokenize.STRING: "i", tokenize.NUMBER: "i", tokenize.COMMENT: "em"}
for _name in ("FSTRING_START", "FSTRING_MIDDLE", "FSTRING_END"):  # Python 3.12 and newer take f-strings apart.
    if hasattr(tokenize, _name):
        _TAGS[getattr(tokenize, _name)] = "i"


def require_jinja() -> None:
    """Raise ImportError when Jinja2 is not installed."""
    try:
        import jinja2  # noqa: F401, PLC0415 - optional
    except ImportError as error:
        raise ImportError(
            "--override-coverage-html needs Jinja2, of the extra 'report': python3 -m pip install 'tensorlike[report]'"
        ) from error


def is_file(path: Path) -> bool:
    """Return whether a report goes into one file at `path`, rather than into a folder there."""
    return not path.is_dir() and (path.is_file() or bool(path.suffix))


def write_html(report: CoverageReport, path: Path) -> None:
    """Write the report to a file, or a page for each type and `index.html` into a folder. May raise OSError."""
    if is_file(path):
        path.write_text(_page(report, report.types, {}), encoding="utf-8")
        return
    path.mkdir(parents=True, exist_ok=True)
    files = {covered.name: f"{re.sub('[^A-Za-z0-9_.-]', '.', covered.name)}.html" for covered in report.types}
    (path / "index.html").write_text(_page(report, [], files), encoding="utf-8")
    for covered in report.types:
        (path / files[covered.name]).write_text(_page(report, [covered], files), encoding="utf-8")


def _page(report: CoverageReport, types: list[TypeCoverage], files: dict[str, str]) -> str:
    numbers = {covered.name: number for number, covered in enumerate(report.types)}
    return rendered(
        "tensorlike.testing",
        "coverage.html.j2",
        rows=report.rows(),
        blocked=report.blocked,
        advice=report.advice,
        links={name: files.get(name) or f"#type-{number}" for name, number in numbers.items()},
        index="index.html" if files and types else "",
        sections=[_section(covered, numbers[covered.name]) for covered in types],
    )


def _section(covered: TypeCoverage, number: int) -> dict[str, Any]:
    return {
        "number": number,
        "name": covered.name,
        "library": "PyTorch" if covered.api == "torch" else "tensorlike",
        "percent": displayed(covered.percent),
        "exercised": covered.exercised,
        "operands": len(covered.operands),
        "implemented": len(covered.implemented),
        "implemented_exercised": sum(covered.implemented.values()),
        "implemented_missing": ", ".join(covered.missing_implemented()),
        "namespaces": _namespaces(covered),
        "handlers": [_handler(h, f"{number}-{index}") for index, h in enumerate(covered.handlers)],
        "has_contexts": bool(covered.contexts),
    }


def _namespaces(covered: TypeCoverage) -> list[dict[str, Any]]:
    """Return the namespaces with the calls of their functions."""
    calls: dict[str, list[dict[str, Any]]] = {}
    for (function, operand), found in covered.operands.items():
        calls.setdefault(namespace_of(function), []).append(
            {
                "function": function,
                "operand": operand,
                "counts": [found.get(outcome, "") for outcome in (ANSWERED, NOT_IMPLEMENTED, RAISED)],
                "results": ", ".join(sorted(covered.results.get((function, operand), ()))),
                "contexts": _contexts(covered.contexts.get((function, operand), {})),
                "hit": bool(found),
            }
        )
    return [
        {"name": name, "exercised": exercised, "all": count, "calls": calls.get(name, [])}
        for name, exercised, count in covered.namespaces()
    ]


def _contexts(counts: Any) -> list[str]:
    """Return contexts as they are read: the phase is told of set-up and teardown alone."""
    split = sorted(context.rpartition("|") for context in counts)
    return [name if phase == "run" else f"{name} ({phase})" for name, _, phase in split]


def _handler(covered: HandlerCoverage, number: str) -> dict[str, Any]:
    handler = covered.handler
    ways = 2 * len(handler.branches)
    return {
        "number": number,
        "name": handler.name,
        "file": Path(handler.place[0]).name,
        "has_source": bool(handler.source),
        "lines": len(handler.lines),
        "lines_hit": len([line for line in handler.lines if line in covered.functions]),
        "ways": ways,
        "ways_hit": len(covered.ways),
        "missed": covered.missed,
        "partial": [line for line in handler.lines if covered.missed_ways(line)],
        "source": list(_source(covered)),
    }


def _source(covered: HandlerCoverage) -> Iterator[dict[str, Any]]:
    handler, missed = covered.handler, set(covered.missed)
    for line, text in enumerate(highlighted(handler.source), handler.first_line):
        functions = covered.functions.get(line, Counter())
        never = [branch.never(outcome) for branch, outcome in covered.missed_ways(line)]
        state = "missed" if line in missed else "partial" if never else "hit" if functions else ""
        yield {
            "line": line,
            "text": text,
            "state": state,
            "never": never,
            "functions": sorted((name or "outside of a call", times) for name, times in functions.items()),
            "ways": [
                {"words": _words(branch.kind, outcome), "functions": sorted(covered.ways.get((branch, outcome), {}))}
                for branch in handler.branches
                if branch.line == line
                for outcome in (True, False)
                if (branch, outcome) in covered.ways
            ],
            "contexts": _contexts(covered.contexts.get(line, ())),
        }


def highlighted(source: Sequence[str]) -> list[Any]:
    """Return lines of Python as HTML: keywords in `b`, texts and numbers in `i`, comments in `em`.

    Lines that are no Python by themselves are returned as they are.
    """
    import markupsafe  # noqa: PLC0415 - optional

    marks: list[tuple[int, int, int, int, str]] = []
    # A method's lines are indented: they are the body of something.
    lines = ["if True:\n", *(f" {line}\n" for line in source)]
    try:
        for token in tokenize.generate_tokens(iter(lines).__next__):
            tag = _TAGS.get(token.type, "")
            if token.type == tokenize.NAME and keyword.iskeyword(token.string):
                tag = "b"
            if tag and token.start[0] > 1:
                marks.append((token.start[0] - 2, token.start[1] - 1, token.end[0] - 2, token.end[1] - 1, tag))
    except (tokenize.TokenError, SyntaxError, StopIteration):
        return list(source)
    found = []
    for number, text in enumerate(source):
        html, done = markupsafe.Markup(""), 0
        for first, start, last, end, tag in marks:
            if first <= number <= last:
                begin = max(done, start if first == number else 0)
                stop = max(begin, end if last == number else len(text))
                html += text[done:begin] + markupsafe.Markup("<{0}>{1}</{0}>").format(tag, text[begin:stop])
                done = stop
        found.append(html + text[done:])
    return found


def _words(kind: str, outcome: bool) -> str:
    if kind == "for":
        return "entered the loop" if outcome else "ended the loop"
    if kind == "case":
        return "matched" if outcome else "did not match"
    return "true" if outcome else "false"
