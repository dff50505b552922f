"""The report as one HTML file that needs neither network nor other files."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from tensorlike.overrides.pages import as_script_data, rendered

from .errors import AuditError
from .model import POSITION, PROGRAM, WRITTEN, AuditReport, AuditRow, Totals, ValueCheck, without_particulars
from .outcomes import Outcome
from .terminal import headline, words_of

#: The parts of a namespace's bar, in the order they are drawn.
_TINTS = ("passed", "wrong", "missing", "lost")


def require_jinja() -> None:
    """Raise AuditError when Jinja2 is not installed."""
    try:
        import jinja2  # noqa: F401, PLC0415 - optional
    except ImportError as error:
        raise AuditError("an HTML report needs Jinja2: python3 -m pip install jinja2") from error


def _text(row: AuditRow) -> str:
    """Return the worst fault of a row without its kind, or why there was no call."""
    return row.faults[0].partition(":")[2].strip() if row.faults else "" if row.called else row.reason


def _cause(row: AuditRow) -> tuple[str, ...]:
    """Return what rows listed together share: the fault's cause, or the outcome and why there was no call."""
    return (row.cause,) if row.faults else (row.verdict.label, "" if row.called else without_particulars(row.reason))


def _parts(totals: Totals) -> list[dict[str, Any]]:
    counts = Counter(row.verdict.tint for row in totals.rows if row.called)
    return [
        {"tint": tint, "count": counts[tint], "percent": round(100 * counts[tint] / totals.called, 3)}
        for tint in _TINTS
        if counts[tint]
    ]


class _Cause(NamedTuple):
    """Rows that one change of the type would mend."""

    kind: str
    tint: str
    text: str
    #: Whether `text` is that of one row among others.
    example: bool
    rows: list[AuditRow]
    passed: bool

    @property
    def lead(self) -> AuditRow:
        """The row whose function a reader is most likely to know."""
        others = (WRITTEN, PROGRAM, POSITION)
        return min(
            self.rows,
            key=lambda row: (row.form in others, row.function.count("."), "_" in row.function, len(row.function)),
        )


def _causes(report: AuditReport) -> list[_Cause]:
    """Return the rows by cause: the worst first, then the one with most calls; what was not called last."""
    groups: dict[tuple[str, ...], list[AuditRow]] = {}
    for row in report.rows:
        groups.setdefault((row.verdict.tint, *_cause(row)), []).append(row)
    found = []
    for rows in groups.values():
        rows.sort(key=lambda row: row.key)
        first = rows[0]
        texts = {_text(row) for row in rows}
        # The message of one refusal names its operator and types alone.
        text = _text(first) if len(texts) == 1 or not first.left_out else ""
        passed = first.passed or not first.counts
        found.append(_Cause(first.verdict.label, first.verdict.tint, text, len(texts) > 1 and bool(text), rows, passed))
    found.sort(key=lambda cause: (-cause.rows[0].severity, not cause.rows[0].called, -len(cause.rows)))
    return found


def _legend(report: AuditReport) -> list[tuple[str, list[Outcome]]]:
    """Return each part of the bars with the words of its calls."""
    words = words_of(report.rows)
    found = [(tint, [word for word in words if word.tint == tint]) for tint in (*_TINTS, "uncalled")]
    return [(tint, members) for tint, members in found if members]


def _details(row: AuditRow) -> list[tuple[str, str | list[str]]]:
    """Return what a row's details say: each term with a text, or a list of them."""
    verdict = row.verdict
    meaning = f"{verdict.label}: {verdict.meaning}"
    if row.meant:
        meaning += " The type means to refuse, so that it does not count."
    value = row.difference or ("" if row.value is ValueCheck.NOT_COMPARED else "as computed with plain tensors")
    signature = [problem.text + (" (seen in a call)" if problem.confirmed else "") for problem in row.signature]
    found: list[tuple[str, str | list[str]]] = [
        ("Outcome", meaning),
        ("Answer", row.answer),
        ("Error", f"{row.error_type}: {row.error}" if row.error_type else ""),
        ("Reason", row.reason),
        ("Answered by", row.answered_by),
        ("Signature", signature),
        ("Value", value),
        ("Attributes", row.attributes),
        ("Warnings", row.warnings),
        ("Printed", row.printed),
    ]
    return [(term, text) for term, text in found if text]


def _data(causes: list[_Cause]) -> list[list[Any]]:
    """Return what the page's script makes lines of: the rows of all causes, one cause after the other."""
    found: list[list[Any]] = []
    for cause in causes:
        for row in cause.rows:
            # What the heading of the cause says need not stand in each line.
            text = _text(row) if cause.example else ""
            if len(row.faults) > 1:
                text = f"{text} (and {len(row.faults) - 1} more)".strip()
            found.append([row.function, row.operand, row.namespace, text, row.call, _details(row)])
    return found


def to_html(report: AuditReport) -> str:
    """Return the report as an HTML document. Raises AuditError when Jinja2 is not installed."""
    require_jinja()
    causes = _causes(report)
    kinds: Counter[str] = Counter()
    for cause in causes:
        kinds[cause.kind] += len(cause.rows)
    return rendered(
        "tensorlike.audit",
        "report.html.j2",
        report=report,
        headline=headline(report),
        namespaces=[(name, group, _parts(group)) for name, group in report.by_namespace().items()],
        legend=_legend(report),
        causes=causes,
        kinds=kinds,
        data=as_script_data(_data(causes)),
    )
