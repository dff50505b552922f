"""An audit in a notebook or at a prompt: a report shown as a table, and a progress bar."""

from __future__ import annotations

import html
import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .model import AuditReport

_CAUSES = 30


def report_html(report: AuditReport) -> str:
    """Return a report as HTML without scripts: the totals of each namespace, and what is wrong by cause."""
    totals = report.totals
    head = f"{report.type_name}: {totals.passed:,} of {totals.called:,} calls answered with nothing wrong"
    spaces = [
        (name, f"{each.called:,}", f"{each.faults:,}", f"{each.coverage:.1f} %" if each.called else "")
        for name, each in report.by_namespace().items()
    ]
    causes = report.causes()
    shown = [
        (f"{len(cause.rows):,}", f"{cause.example.function}, {cause.example.operand}", cause.example.faults[0])
        for cause in causes[:_CAUSES]
    ]
    text = f"<p><b>{html.escape(head)}: {report.coverage:.1f} %</b></p>"
    text += _table(("Namespace", "Calls", "Faults", "Passed"), spaces)
    if shown:
        text += _table(("Calls", "For example", "What is wrong"), shown)
    if len(causes) > _CAUSES:
        text += f"<p>and {len(causes) - _CAUSES:,} more causes</p>"
    return f"<div>{text}</div>"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    def line(cells: Iterable[str], tag: str) -> str:
        return "<tr>" + "".join(f'<{tag} style="text-align:left">{html.escape(c)}</{tag}>' for c in cells) + "</tr>"

    body = "".join(line(cells, "td") for cells in rows)
    return f"<table><thead>{line(head, 'th')}</thead><tbody>{body}</tbody></table>"


def bar() -> Callable[[int, int, str], None]:
    """Return a function for `audit(progress=...)` that shows a bar, of tqdm: in a terminal or a notebook.

    Raises ImportError when tqdm is not installed.
    """
    try:
        with warnings.catch_warnings():
            # It warns where the notebook has no widgets, and draws its bar as text.
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm  # noqa: PLC0415 - optional
    except ImportError as error:
        raise ImportError("audit(progress=True): needs tqdm: python3 -m pip install tqdm") from error
    shown: Any = None

    def progress(done: int, total: int, name: str) -> None:
        nonlocal shown
        if shown is None:
            shown = tqdm(total=total, unit=" functions", desc="audit")
        shown.set_postfix_str(name, refresh=False)
        shown.update(done - shown.n)
        if done >= total:
            shown.close()

    return progress
