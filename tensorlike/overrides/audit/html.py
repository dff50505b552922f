"""The report as one HTML file that needs neither network nor other files."""

from __future__ import annotations

from typing import Any

from .making import AuditError
from .model import FAULTY, AuditReport, AuditRow, Outcome, Totals, ValueCheck
from .terminal import headline

__all__ = ["require_jinja", "to_html"]

#: The parts of a namespace's bar, in the order they are drawn.
_PARTS = ("passed", "wrong", "lost", "missing")


def require_jinja() -> None:
    """Raise AuditError when Jinja2 is not installed."""
    try:
        import jinja2  # noqa: F401
    except ImportError as error:
        raise AuditError("an HTML report needs Jinja2: python3 -m pip install jinja2") from error


def _status(row: AuditRow) -> str:
    """Return the part of the bar that a row belongs to."""
    if not row.called:
        return "uncalled"
    if row.passed:
        return "passed"
    if row.outcome is Outcome.NOT_IMPLEMENTED:
        return "missing"
    if row.outcome is Outcome.TYPE_LOST and not row.signature and row.value is not ValueCheck.DIFFERS:
        return "lost"
    return "wrong"


def _parts(totals: Totals) -> list[dict[str, Any]]:
    counts = dict.fromkeys(_PARTS, 0)
    for row in totals.rows:
        if row.called:
            counts[_status(row)] += 1
    return [
        {"status": status, "count": count, "percent": round(100 * count / totals.called, 3)}
        for status, count in counts.items()
        if count
    ]


def to_html(report: AuditReport) -> str:
    """Return the report as an HTML document. Raises AuditError when Jinja2 is not installed."""
    require_jinja()
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tensorlike.overrides.audit", package_path=""),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    rank = {id(row): index for index, row in enumerate(report.worst())}
    rows = sorted(report.rows, key=lambda row: (rank.get(id(row), len(rank)), row.function, row.operand))
    totals = report.totals
    return environment.get_template("report.html.j2").render(
        report=report,
        totals=totals,
        headline=headline(report),
        outcomes=[o for o in Outcome if totals.outcomes[o]],
        faulty=FAULTY,
        namespaces=[(name, group, _parts(group)) for name, group in report.by_namespace().items()],
        rows=[(row, _status(row)) for row in rows],
        ValueCheck=ValueCheck,
    )
