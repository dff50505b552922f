"""The report of override coverage as HTML that needs neither network nor other files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .coverage_report import CoverageReport, HandlerCoverage, TypeCoverage, displayed
from .override_coverage import ANSWERED, NOT_IMPLEMENTED, RAISED

__all__ = ["is_file", "require_jinja", "write_html"]


def require_jinja() -> None:
    """Raise ImportError when Jinja2 is not installed."""
    try:
        import jinja2  # noqa: F401
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
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tensorlike.testing", package_path=""),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    numbers = {covered.name: number for number, covered in enumerate(report.types)}
    return environment.get_template("coverage.html.j2").render(
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
        "namespaces": list(covered.namespaces()),
        "handlers": [_handler(h, f"{number}-{index}") for index, h in enumerate(covered.handlers)],
        "has_contexts": bool(covered.contexts),
        "calls": [
            {
                "function": function,
                "operand": operand,
                "counts": [found.get(outcome, "") for outcome in (ANSWERED, NOT_IMPLEMENTED, RAISED)],
                "results": ", ".join(sorted(covered.results.get((function, operand), ()))),
                "contexts": _contexts(covered.contexts.get((function, operand), {})),
                "hit": bool(found),
            }
            for (function, operand), found in covered.operands.items()
        ],
    }


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
    for line, text in enumerate(handler.source, handler.first_line):
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


def _words(kind: str, outcome: bool) -> str:
    if kind == "for":
        return "entered the loop" if outcome else "ended the loop"
    if kind == "case":
        return "matched" if outcome else "did not match"
    return "true" if outcome else "false"
