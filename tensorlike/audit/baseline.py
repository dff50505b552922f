"""Baselines: what a type answered before, in a file that is kept with the code and compared with each new audit.

# Note [What a baseline holds]
A baseline is under version control, so it must change when the type's answers change and at no other time. It has the
outcome of each call, the parameters that are taken differently, whether the value differs and whether attributes are
lost, by which regressions are measured. It has no times, paths, texts of errors, line numbers or addresses, and its
rows are sorted, a line each. One file holds several types, each under its name and the library that it is written
against. A report of `--json` serves as a baseline too, whatever the type is called in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, Any, NamedTuple

from .errors import AuditError
from .model import FORMAT as REPORT_FORMAT
from .model import AuditReport, AuditRow, Regression, ValueCheck
from .terminal import counted, print_regressions

FORMAT = "tensorlike-audit-baseline"
#: Version 1 had other words for some outcomes; it is read, not written.
VERSION = 2
READ = (1, 2)
_SHOWN = 20
#: What a baseline has in place of the words that say which attributes are lost.
LOST = "lost"


class Improvement(NamedTuple):
    """A row that was worse in the baseline."""

    row: AuditRow
    before: AuditRow
    text: str


class Changes(NamedTuple):
    """The differences between a report and its baseline."""

    #: The file of the baseline, as the user named it.
    name: str
    #: The number of calls that both have.
    compared: int
    regressions: list[Regression]
    improvements: list[Improvement]
    #: Calls that the baseline does not have, and calls of the baseline that are no longer made.
    new: list[AuditRow]
    gone: list[AuditRow]

    @property
    def worse(self) -> frozenset[tuple[str, str]]:
        """The keys of the rows that are worse than in the baseline."""
        return frozenset(regression.row.key for regression in self.regressions)


class Baseline:
    """The reports of a baseline file. `Baseline.read(path)` reads one, `text` is what the file holds."""

    def __init__(self, path: str, reports: Iterable[AuditReport] = (), *, named: bool = True) -> None:
        self.path = path
        self.reports = {(report.type_name, report.api): report for report in reports}
        #: Whether a report is compared with the one of the same type alone; a single report of `--json` is not asked.
        self.named = named

    @classmethod
    def read(cls, path: str) -> Baseline:
        """Return the baseline in a file, which may be a report of `--json` too.

        Raises AuditError when the file cannot be read, or is neither.
        """
        try:
            with open(path, encoding="utf-8") as file:
                data = json.load(file)
            if isinstance(data, Mapping) and data.get("format") == REPORT_FORMAT:
                return cls(path, [AuditReport.from_dict(data)], named=False)
            return cls(path, _reports(data))
        except OSError as error:
            hint = "; --update-baseline writes it" if isinstance(error, FileNotFoundError) else ""
            raise AuditError(f"cannot read the baseline {path}: {error.strerror or error}{hint}") from error
        except (ValueError, RecursionError) as error:
            raise AuditError(f"the baseline {path} is not usable: {error}") from error

    def former(self, type_name: str, api: str) -> AuditReport | None:
        """Return what the baseline has of a type, or None."""
        if not self.named:
            return next(iter(self.reports.values()))
        return self.reports.get((type_name, api))

    def changes(self, report: AuditReport) -> Changes:
        """Return what is worse and what is better in a report than in the baseline.

        Raises AuditError when there is no call that both have: nothing was compared.
        """
        former = self.former(report.type_name, report.api)
        if former is None:
            known = ", ".join(f"{name} ({api})" for name, api in sorted(self.reports)) or "no type"
            raise AuditError(
                f"nothing was compared: the baseline {self.path} has {known}, not {report.type_name} ({report.api}); "
                f"--update-baseline enters it"
            )
        before = {row.key: row for row in former.rows if row.called}
        now = {row.key: row for row in report.rows if row.called}
        compared = before.keys() & now.keys()
        if not compared:
            raise AuditError(
                f"nothing was compared: no call of this audit of {report.type_name} is in the baseline {self.path}, "
                f"which has {counted(len(before), 'call')} of {former.type_name} ({former.api})"
            )
        regressions = report.regressions(former)
        worse = {regression.row.key for regression in regressions}
        improvements = [
            Improvement(now[back.row.key], back.row, _improvement(back.row, now[back.row.key]))
            for back in former.regressions(report)
            if back.row.key not in worse
        ]
        # A function that was left out by --only is not gone.
        audited = {row.function for row in report.rows}
        return Changes(
            self.path,
            len(compared),
            regressions,
            improvements,
            [row for key, row in now.items() if key not in before],
            [row for key, row in before.items() if key not in now and row.function in audited],
        )

    def updated(self, reports: Sequence[AuditReport], *, partial: bool) -> Baseline:
        """Return the baseline with these reports in place of those of the same types.

        Args:
            reports: The new reports. Other types of the file are kept.
            partial: Whether the audit was of some functions alone: the others are kept as they were.
        """
        found = dict(self.reports) if self.named else {}
        for report in reports:
            former = found.get((report.type_name, report.api))
            rows = list(report.rows)
            if partial and former is not None:
                audited = {row.function for row in rows}
                rows += [row for row in former.rows if row.function not in audited]
            found[report.type_name, report.api] = AuditReport(
                report.type_name, rows, api=report.api, version=report.version
            )
        return Baseline(self.path, found.values())

    @property
    def text(self) -> str:
        """The contents of the file: see Note [What a baseline holds]."""
        types = []
        for _, report in sorted(self.reports.items()):
            head = {"api": report.api, "type": report.type_name, "version": report.version}
            rows = [_row(row) for row in sorted(report.rows, key=lambda row: row.key) if row.called]
            lines = ",\n".join(f"    {json.dumps(row, sort_keys=True, ensure_ascii=False)}" for row in rows)
            begin = json.dumps(head, sort_keys=True, ensure_ascii=False)[1:-1]
            types.append(f'  {{{begin}, "rows": [\n{lines}\n  ]}}')
        body = ",\n".join(types)
        return f'{{\n "format": "{FORMAT}",\n "format_version": {VERSION},\n "types": [\n{body}\n ]\n}}\n'


def _row(row: AuditRow) -> dict[str, Any]:
    """Return what a baseline holds of a row; what is not wrong is left out."""
    found: dict[str, Any] = {"function": row.function, "operand": row.operand, "outcome": row.outcome.value}
    if row.signature:
        faults = {(problem.fault.value, problem.parameter, problem.by_type) for problem in row.signature}
        found["signature"] = [
            {"fault": fault, "parameter": parameter, **({"by_type": True} if by_type else {})}
            for fault, parameter, by_type in sorted(faults)
        ]
    if row.value is ValueCheck.DIFFERS:
        found["value"] = row.value.value
    if row.attributes:
        found["attributes"] = LOST
    if row.left_out:
        found["left_out"] = True
    return found


def _reports(data: object) -> list[AuditReport]:
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        raise ValueError(f'no report of an audit and no baseline: it has no "format": "{FORMAT}" or "{REPORT_FORMAT}"')
    if data.get("format_version") not in READ:
        raise ValueError(f"a baseline of format version {data.get('format_version')!r}; this is version {VERSION}")
    try:
        return [
            AuditReport(
                str(entry["type"]),
                [_read_row(row) for row in entry["rows"]],
                api=str(entry["api"]),
                version=str(entry.get("version", "")),
            )
            for entry in data["types"]
        ]
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"a baseline that is damaged: {type(error).__name__}: {error}") from error


def _read_row(row: Mapping[str, Any]) -> AuditRow:
    problems = [{**problem, "text": ""} for problem in row.get("signature", ())]
    # A baseline does not say where a function lies or of which form it is: nothing is measured by it.
    return AuditRow.from_dict({"namespace": "", "form": "", **row, "signature": problems})


def _improvement(before: AuditRow, now: AuditRow) -> str:
    if before.outcome is not now.outcome:
        return f"was {before.outcome.label}, now {now.outcome.label}"
    if before.attributes and not now.attributes:
        return "attributes: kept"
    if len(now.signature) < len(before.signature):
        return "signature: " + (
            f"{len(before.signature)} faults were {len(now.signature)}" if now.signature else "right"
        )
    return "value: right"


def print_changes(changes: Changes, file: IO[str], *, what: str = "") -> None:
    """Print what is worse and what is better than in a baseline; `what` is the type, where there are several."""
    name = f"{changes.name}, {what}" if what else changes.name
    print_regressions(changes.regressions, name, file)
    if changes.improvements:
        print(f"{counted(len(changes.improvements), 'improvement')} against {name}:", file=file)
        for improvement in changes.improvements[:_SHOWN]:
            print(f"  {improvement.row.function}, {improvement.row.operand}: {improvement.text}", file=file)
        if len(changes.improvements) > _SHOWN:
            print(f"  … and {len(changes.improvements) - _SHOWN} more", file=file)
    for rows, text in ((changes.new, "are not in it"), (changes.gone, "of it are no longer made")):
        if rows:
            first = ", ".join(dict.fromkeys(row.function for row in rows[:3]))
            print(f"{counted(len(rows), 'call')} {text}, for example of {first}", file=file)
