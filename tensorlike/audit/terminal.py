"""The report in a terminal: a table by namespace, the worst offenders, totals. Plain text where rich is missing."""

from __future__ import annotations

import itertools
import os
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from .model import POSITION, PROGRAM, WRITTEN, AuditReport, AuditRow, Cause, Regression, Totals
from .outcomes import STYLES, Outcome

if TYPE_CHECKING:
    from rich.console import Console

_WIDTH_IN_A_FILE = 120
_OFFENDERS = 20

#: The width at which the headings of columns are broken.
_HEADING = 12


def _rich_console(file: IO[str]) -> Console | None:
    try:
        from rich.console import Console  # noqa: PLC0415 - optional
    except ImportError:
        return None
    # A file or a log has no width, and 80 columns would cut the reasons off.
    width = None if file.isatty() or "COLUMNS" in os.environ else _WIDTH_IN_A_FILE
    return Console(file=file, width=width, highlight=False, soft_wrap=False)


def print_report(report: AuditReport, file: IO[str] | None = None, *, limit: int = _OFFENDERS) -> None:
    """Print the results of an audit."""
    file = sys.stdout if file is None else file
    console = _rich_console(file)
    if console is None:
        _plain_report(report, file, limit)
    else:
        _rich_report(report, console, limit)


def print_regressions(regressions: Sequence[Regression], name: str, file: IO[str] | None = None) -> None:
    """Print the regressions from the baseline `name`."""
    file = sys.stdout if file is None else file
    if not regressions:
        print(f"No regressions against {name}.", file=file)
        return
    print(f"{counted(len(regressions), 'regression')} against {name}:", file=file)
    for regression in regressions:
        print(f"  {regression.row.function}, {regression.row.operand}: {regression.text}", file=file)


def counted(count: int, what: str) -> str:
    """Return a number with its noun, in the plural unless it is one."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def headline(report: AuditReport) -> str:
    """Return the totals in a sentence, and what the percentage does not say."""
    totals = report.totals
    text = (
        f"{report.type_name}: {totals.passed} of {counted(totals.counted, 'call')} of "
        f"{counted(report.functions, 'function')} answered with nothing wrong: {totals.coverage:.1f} %"
    )
    left_out = [
        f"{number} {words}"
        for number, words in ((totals.meant, "refused on purpose"), (totals.outcomes[Outcome.NOT_CALLED], "not called"))
        if number
    ]
    text = f"{text} ({', '.join(left_out)})" if left_out else text
    return "; ".join([text, *notes(report)])


def notes(report: AuditReport) -> list[str]:
    """Return the sentences that belong to the percentage."""
    unread = ["no value was compared"] if report.totals.passed and not report.totals.compared else []
    return [*unread, *report.notes]


def words_of(rows: Iterable[AuditRow]) -> list[Outcome]:
    """Return the words that rows are counted under, in the order of the table, without those of no row."""
    found = {row.verdict for row in rows}
    return [outcome for outcome in Outcome if outcome in found]


class _Column(NamedTuple):
    heading: str
    number: Callable[[Totals], int]
    style: str


def _columns(report: AuditReport) -> list[_Column]:
    """Return the columns of numbers, which add up to the calls; without words that no call is counted under."""
    columns = [_Column("Calls", lambda t: t.called, "")]
    for outcome in words_of(row for row in report.rows if row.called):
        heading = "\n".join(textwrap.wrap(outcome.label.capitalize(), _HEADING))
        columns.append(_Column(heading, lambda t, outcome=outcome: t.outcomes[outcome], STYLES[outcome.tint]))  # type: ignore[misc]
    return columns


def _legend(report: AuditReport) -> list[str]:
    """Return a line for each word of the table."""
    words = words_of(row for row in report.rows if row.called)
    width = max((len(outcome.label) for outcome in words), default=0)
    return [f"{outcome.label.ljust(width)}  {outcome.meaning}" for outcome in words]


def _lines(report: AuditReport) -> list[tuple[str, Totals]]:
    """Return the lines of the table: the namespaces and, if there are several, their total."""
    groups = list(report.by_namespace().items())
    return [*groups, ("Total", report.totals)] if len(groups) > 1 else groups


def _cell(number: int) -> str:
    return str(number) if number else "·"


def _passed(totals: Totals) -> str:
    return f"{totals.coverage:.1f} %" if totals.counted else "–"


def _named(rows: Iterable[AuditRow], what: str) -> Iterator[str]:
    """Yield a line with the functions of rows, as many as fit in it; none without rows."""
    names = list(dict.fromkeys(row.function for row in rows))
    if names:
        first = ", ".join(names[:4])
        more = f" and {len(names) - 4} more" if len(names) > 4 else ""
        yield f"{what} for {counted(len(names), 'function')}: {first}{more}."


def _causes(report: AuditReport) -> list[Cause]:
    """Return what is wrong, without functions that the type leaves out and programs, which have lines of their own."""
    return [cause for cause in report.causes() if not cause.example.left_out and cause.example.form != PROGRAM]


def _programs(report: AuditReport) -> Iterator[str]:
    """Yield a line for each program that failed, and one for those that passed, or do not apply for one reason."""
    others: dict[str, list[str]] = {}
    for row in report.programs:
        if row.called and row.counts and not row.passed:
            place = f", at `{_short(row.call, 60)}`" if row.call else ""
            yield f"{row.function}: {_short(row.faults[0], 160)}{place}"
            continue
        word = "passed" if row.passed else "refused on purpose" if row.called else f"not applicable ({row.reason})"
        others.setdefault(word, []).append(row.function)
    for word, names in others.items():
        yield f"{word}: {'; '.join(names)}"


def _notes(report: AuditReport, limit: int) -> Iterator[str]:
    # Missing functions are often nearly all: the table counts them, the list names the faults.
    hidden = len(_causes(report)) - limit
    if hidden > 0:
        yield f"… and {counted(hidden, 'more cause')}; --html FILE or --json FILE lists all calls."
    functions = [row for row in report.rows if row.form not in (WRITTEN, PROGRAM, POSITION)]
    yield from _named((row for row in functions if row.left_out and row.counts), "NotImplemented")
    meant = [row for row in report.rows if row.meant]
    yield from _named((row for row in meant if not row.counts), "Refused on purpose")
    yield from _named((row for row in meant if row.counts), "Parameters refused on purpose")
    for text, count in report.warnings.items():
        yield f"Warned in {counted(count, 'call')}: {text}"


def _rich_report(report: AuditReport, console: Console, limit: int) -> None:
    from rich import box  # noqa: PLC0415 - optional
    from rich.markup import escape  # noqa: PLC0415 - optional
    from rich.table import Table  # noqa: PLC0415 - optional
    from rich.text import Text  # noqa: PLC0415 - optional

    columns = _columns(report)
    heading = f"Audit of {escape(report.type_name)}"
    table = Table(title=heading, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    lines = _lines(report)
    # Columns that are cut say nothing: a narrow terminal wraps the lines instead.
    table.add_column("Namespace", no_wrap=True, min_width=max(len(name) for name, _ in lines))
    for column in columns:
        width = max(map(len, column.heading.split("\n")))
        table.add_column(column.heading, justify="right", no_wrap=True, min_width=width)
    table.add_column("Passed", justify="right", no_wrap=True, min_width=len("100.0 %"))
    for name, totals in lines:
        cells = []
        for column in columns:
            number = column.number(totals)
            cells.append(Text(_cell(number), style=column.style if number else "dim"))
        perfect = totals.counted > 0 and not totals.faults
        passed = Text(_passed(totals), style="bold green" if perfect else "bold")
        table.add_row(Text(name, style="bold" if name == "Total" else ""), *cells, passed)
    console.print(table, soft_wrap=True)
    for line in _legend(report):
        console.print(Text(line, style="dim"), soft_wrap=True)
    causes = _causes(report)[:limit]
    if causes:
        worst = Table(
            title="Worst first", title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False
        )
        worst.add_column("Calls", justify="right", no_wrap=True, min_width=len("Calls"))
        worst.add_column("For example", overflow="fold", min_width=24)
        worst.add_column("What is wrong", overflow="fold", ratio=1)
        for cause in causes:
            row = cause.example
            faults = "\n".join(_short(fault) for fault in row.faults)
            worst.add_row(str(len(cause.rows)), Text(f"{row.function}, {row.operand}"), Text(faults))
        console.print(worst)
    if report.programs:
        console.print(Text("Programs", style="bold"))
        for line in _programs(report):
            console.print(Text(f"  {line}"))
    for note in _notes(report, limit):
        console.print(Text(note), soft_wrap=True)
    style = "bold green" if not report.totals.faults else "bold"
    console.print(Text(headline(report), style=style), soft_wrap=True)


def _short(text: str, limit: int = 240) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _plain_report(report: AuditReport, file: IO[str], limit: int) -> None:
    columns = _columns(report)
    headings = [heading.split("\n") for heading in ["Namespace", *(column.heading for column in columns), "Passed"]]
    lines = [
        [name, *(_cell(column.number(totals)) for column in columns), _passed(totals)]
        for name, totals in _lines(report)
    ]
    heads = [list(line) for line in itertools.zip_longest(*headings, fillvalue="")]
    widths = [max(map(len, column)) for column in zip(*heads, *lines)]
    print(f"Audit of {report.type_name}\n", file=file)
    for line in (*heads, ["-" * width for width in widths], *lines):
        cells = [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:]))]
        print("  ".join(cells).rstrip(), file=file)
    print(file=file)
    for text in _legend(report):
        print(text, file=file)
    print(file=file)
    causes = _causes(report)[:limit]
    if causes:
        print("Worst first:", file=file)
        for cause in causes:
            row = cause.example
            others = f" ({counted(len(cause.rows), 'call')})" if len(cause.rows) > 1 else ""
            for fault in row.faults:
                print(f"  {row.function}, {row.operand}{others}: {_short(fault)}", file=file)
    if report.programs:
        print("Programs:", file=file)
        for text in _programs(report):
            print(f"  {text}", file=file)
    for note in _notes(report, limit):
        print(note, file=file)
    print(headline(report), file=file)


class _Bar:
    """A progress bar on a terminal; as a callable it is what `audit` takes as `progress`."""

    def __init__(self, file: IO[str]) -> None:
        self.file = file
        self._next = 0.0

    def __call__(self, done: int, total: int, name: str) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + 0.1
            self.show(done, total, name)

    def __enter__(self) -> Callable[[int, int, str], None]:
        return self

    def __exit__(self, *exception: object) -> None:
        print("\r\x1b[K", end="", file=self.file, flush=True)

    def show(self, done: int, total: int, name: str) -> None:
        filled = 30 * done // max(total, 1)
        line = f"[{'#' * filled}{'.' * (30 - filled)}] {done}/{total} {name}"
        # A line that is wrapped could not be written over.
        print(f"\r\x1b[K{line[: shutil.get_terminal_size().columns - 1]}", end="", file=self.file, flush=True)


class _RichBar(_Bar):
    def __init__(self, file: IO[str]) -> None:
        from rich.console import Console  # noqa: PLC0415 - optional
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn  # noqa: PLC0415 - optional

        super().__init__(file)
        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
        # Output of the audited type is captured: rich must not redirect it. Nor may it draw in a thread of its own,
        # which holds locks while a worker is forked.
        self.bar: Any = Progress(
            *columns,
            console=Console(file=file),
            transient=True,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self.task = self.bar.add_task("", total=None)

    def __enter__(self) -> Callable[[int, int, str], None]:
        self.bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.bar.stop()

    def show(self, done: int, total: int, name: str) -> None:
        self.bar.update(self.task, completed=done, total=total, description=name, refresh=True)


class _NoBar:
    def __enter__(self) -> None:
        return None

    def __exit__(self, *exception: object) -> None:
        return None


def progress_bar() -> _Bar | _NoBar:
    """Return a context manager that gives a function for `audit(progress=...)`, or None without a terminal.

    The logs of continuous integration are no terminal, also where they pretend to be one.
    """
    file = sys.stderr
    if file is None or not file.isatty() or os.environ.get("CI") or os.environ.get("TERM") == "dumb":
        return _NoBar()
    try:
        return _RichBar(file)
    except ImportError:
        return _Bar(file)
