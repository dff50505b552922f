"""`Compare`: measurements in a table."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable
from typing import Any

from tensorlike._above import explain_absent_names

from .common import Measurement, ordered_unique, select_unit, trim_sigfig, unit_to_english

explain_absent_names(__name__)

__all__ = ["Colorize", "Compare"]

_END = "\033[0m"
_BEST, _GOOD, _BAD, _WORST = "\033[92m\033[1m", "\033[34m\033[1m", "\033[2m\033[91m", "\033[31m\033[1m"


class Colorize(enum.Enum):
    """The measurements that colours compare with each other."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


def _colored(text: str, ratio: float) -> str:
    """Return a text in the colour of a time that is `ratio` times the best."""
    if 1.1 < ratio < 2:
        return text
    color = _BEST if ratio <= 1.01 else _GOOD if ratio <= 1.1 else _BAD if ratio <= 5 else _WORST
    return f"{color}{text}{_END}{_END}"


class Compare:
    """Show measurements in tables: a table for each label, a row for each sub-label, a column for each description.

    >>> from tensorlike.utils.benchmark import Compare, Measurement, TaskSpec
    >>> def measured(seconds, row, column):
    ...     task = TaskSpec("f(x)", "pass", label="a label", sub_label=row, description=column)
    ...     return Measurement(1, [seconds], task)
    >>> Compare([measured(1e-6, "add", "small"), measured(2e-6, "mul", "small")]).print()
    [---- a label ----]
               |  small
    1 threads: --------
          add  |   1.0
          mul  |   2.0
    <BLANKLINE>
    Times are in microseconds (us).
    <BLANKLINE>
    """

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trimming = False
        self._colors = Colorize.NONE
        self._warnings = False

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements."""
        for result in results:
            if not isinstance(result, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(result)} instead.")
            self._results.append(result)

    def trim_significant_figures(self) -> None:
        """Show only those digits of a time that its spread lets one trust."""
        self._trimming = True

    def colorize(self, rowwise: bool = False) -> None:
        """Colour the times by how they compare with the best of their column, or of their row."""
        self._colors = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Mark the times whose spread is too large."""
        self._warnings = True

    def print(self) -> None:
        """Print the tables."""
        print(self)

    def __str__(self) -> str:
        groups: dict[Any, list[Measurement]] = {}
        for result in Measurement.merge(self._results):
            groups.setdefault(result.task_spec.label, []).append(result)
        return "\n".join(self._table(label, group) for label, group in groups.items())

    def _number(self, result: Measurement, scale: float, digits: int) -> str:
        value = trim_sigfig(result.median, result.significant_figures) if self._trimming else result.median
        return f"{value / scale:.{digits}f}"

    def _warning(self, result: Measurement) -> str:
        marked = self._warnings and result.has_warnings
        return f" (! {100 * result.iqr / result.median:.0f}%)" if marked else ""

    def _digits(self, results: list[Measurement], scale: float) -> int:
        """Return how many digits follow the point: one, or those that are trusted."""
        if not self._trimming:
            return 1
        before = (math.floor(round(math.log10(result.median / scale), 6)) + 1 for result in results)
        return min(max(0, result.significant_figures - digits) for result, digits in zip(results, before))

    def _table(self, label: str | None, results: list[Measurement]) -> str:
        unit, scale = select_unit(min(result.median for result in results))
        digits = self._digits(results, scale)
        rows = ordered_unique((r.task_spec.num_threads, r.task_spec.env, r.as_row_name) for r in results)
        rows.sort(key=lambda row: row[0])
        columns = ordered_unique(result.task_spec.description for result in results)
        cells = {}
        for result in results:
            row = result.task_spec.num_threads, result.task_spec.env, result.as_row_name
            cells[row, result.task_spec.description] = result
        several = len({environment for _, environment, _ in rows}) > 1
        before = max(len(f"  ({environment})  ") if several and environment else 6 for _, environment, _ in rows)
        names = max(len(name) for _, _, name in rows)
        left = before + names
        texts: dict[Any, str] = {}
        widths = {}
        for column in columns:
            found = {row: cells[row, column] for row in rows if (row, column) in cells}
            numbers = {row: self._number(result, scale, digits) for row, result in found.items()}
            number = max(map(len, numbers.values()))
            warning = max(len(self._warning(result)) for result in found.values())
            for row, result in found.items():
                texts[row, column] = numbers[row].rjust(number) + self._warning(result).ljust(warning)
            widths[column] = max(len(column or ""), number + warning)
        head = " " * left + "".join(f"  |  {(column or '').center(widths[column])}" for column in columns)
        title = f" {label or ''} "
        lines = [f"[{title.center(len(head) - 2, '-')}]", head]
        threads = environment = None
        for row in rows:
            if row[0] != threads:
                threads, environment = row[0], None
                lines.append(f"{threads} threads: ".ljust(len(head), "-"))
            shown = f"({row[1]})  " if several and row[1] and row[1] != environment else ""
            environment = row[1]
            line = shown.rjust(before) + row[2].ljust(names)
            for column in columns:
                text = texts.get((row, column), "").rjust(widths[column])
                line += f"  |  {self._colored(text, cells, row, column)}"
            lines.append(line)
        lines += ["", f"Times are in {unit_to_english(unit)}s ({unit})."]
        if self._warnings and any(result.has_warnings for result in results):
            lines.append("(! XX%) Measurement has high variance, where XX is the IQR / median * 100.")
        return "\n".join([*lines, ""])

    def _colored(self, text: str, cells: dict[Any, Measurement], row: Any, column: Any) -> str:
        if self._colors is Colorize.NONE or (row, column) not in cells:
            return text
        if self._colors is Colorize.ROWWISE:
            same = [found.median for at, found in cells.items() if at[0] == row]
        else:
            # Of the same number of threads.
            same = [found.median for at, found in cells.items() if (at[0][0], at[1]) == (row[0], column)]
        return _colored(text, round(cells[row, column].median / min(same), 6))
