"""The results of an audit: one row for each function and operand position, totals, and conversion to and from JSON."""

from __future__ import annotations

import dataclasses
import difflib
import enum
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from .notebook import report_html
from .outcomes import FAULTY, Outcome, read_outcome

__all__ = [
    "FAULTY",
    "POSITION",
    "PROGRAM",
    "WRITTEN",
    "AuditReport",
    "AuditRow",
    "Cause",
    "Outcome",
    "Regression",
    "SignatureFault",
    "SignatureProblem",
    "Totals",
    "ValueCheck",
    "without_particulars",
]

FORMAT = "tensorlike-audit"
#: The forms of rows that are no functions called by their names: calls as code writes them, and programs.
WRITTEN, PROGRAM, POSITION = "written", "program", "position"
#: Version 1 had other words for some outcomes; it is read, not written.
VERSION = 2
READ = (1, 2)


class SignatureFault(enum.Enum):
    """How the signature of an implementation differs from the function it overrides."""

    MISSING = "missing"
    NAME = "name"
    DEFAULT = "default"
    KIND = "kind"
    REFUSED = "refused"


class ValueCheck(enum.Enum):
    """The result of comparing a value with the dense computation."""

    EQUAL = "equal"
    DIFFERS = "differs"
    NOT_COMPARED = "not_compared"


@dataclasses.dataclass(frozen=True)
class SignatureProblem:
    """One parameter that the answering function and the overridden function take differently."""

    fault: SignatureFault
    parameter: str
    text: str
    #: Whether a real call showed it; otherwise it comes from comparing the signatures.
    confirmed: bool = False
    #: Whether the type refused the call with the parameter, as it may mean to.
    by_type: bool = False


@dataclasses.dataclass
class AuditRow:
    """One function with an instance of the type as one operand: the call, its outcome and what is wrong with it."""

    function: str
    namespace: str
    form: str
    operand: str
    outcome: Outcome
    call: str = ""
    answer: str = ""
    error_type: str = ""
    error: str = ""
    #: The Python function that answered and where it stands, when it could be seen.
    answered_by: str = ""
    #: Tensors were expected and none, or too few, of the results are of the type. A fault only for `TYPE_LOST`.
    type_lost: bool = False
    #: Tensor's default implementation computed the answer, also where the type's own one was called and called it.
    by_default: bool = False
    signature: list[SignatureProblem] = dataclasses.field(default_factory=list)
    value: ValueCheck = ValueCheck.NOT_COMPARED
    difference: str = ""
    reason: str = ""
    warnings: list[str] = dataclasses.field(default_factory=list)
    printed: str = ""
    #: What the result should have carried and does not, in words: declared attributes and `metadata`.
    attributes: str = ""
    #: The type's code called the function again on plain tensors, whatever came back.
    on_plain: bool = False
    #: The type returned NotImplemented: it has no rule.
    left_out: bool = False
    #: The type means to refuse what it refuses, so that a refusal is listed and does not count.
    meant: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """The key of the row: the function's name and the operand's."""
        return self.function, self.operand

    @property
    def called(self) -> bool:
        """Whether there was a call."""
        return self.outcome is not Outcome.NOT_CALLED

    @property
    def findings(self) -> list[tuple[Outcome, str]]:
        """All that is wrong, the worst first: the word for it and the particulars. Refusals that are meant too."""
        found = []
        refused = any(p.fault is SignatureFault.REFUSED and not p.by_type for p in self.signature)
        if self.outcome in FAULTY and not (self.outcome is Outcome.RAISED and refused):
            # These errors go on with the types that were called, or with advice, which the list of faults omits.
            end = " on types that implement " if self.left_out else ": " if self.recursed else None
            error = self.error if end is None else self.error.partition(end)[0].partition("; ")[0]
            found.append((self.outcome, error or self.reason))
        if self.value is ValueCheck.DIFFERS:
            found.append((Outcome.WRONG_VALUE, self.difference))
        if self.attributes:
            found.append((Outcome.ATTRIBUTE_LOST, self.attributes))
        found += [(Outcome.REFUSED if p.by_type else Outcome.SIGNATURE, p.text) for p in self.signature]
        return sorted(found, key=lambda finding: -finding[0].severity)

    @property
    def recursed(self) -> bool:
        """Whether the implementation called itself without end."""
        return self.outcome is Outcome.RAISED and self.error_type == "RecursionError"

    def _counting(self) -> list[tuple[Outcome, str]]:
        """Return the findings without the refusals that are meant."""
        return [f for f in self.findings if not (self.meant and f[0] is Outcome.REFUSED)]

    @property
    def faults(self) -> list[str]:
        """The faults, a line each, the worst first; of what the type means to refuse, that."""
        return [f"{word.label}: {text}".removesuffix(": ") for word, text in self._counting() or self.findings]

    @property
    def verdict(self) -> Outcome:
        """The word that the call is counted under: the worst that is wrong, or how it was answered."""
        found = self._counting()
        return found[0][0] if found else self.outcome

    @property
    def counts(self) -> bool:
        """Whether the call counts for the percentage: it was made, and it is no refusal that is meant."""
        return self.called and not (self.meant and self.verdict is Outcome.REFUSED)

    @property
    def cause(self) -> str:
        """The fault without what differs from call to call: rows of one cause are counted together."""
        if self.form == PROGRAM:
            # Each stands for itself.
            return f"{self.verdict.label}: {self.function}" if self.verdict in FAULTY else ""
        return _cause(self)

    @property
    def passed(self) -> bool:
        """Whether the type answered without a fault."""
        return self.called and self.verdict not in FAULTY

    @property
    def severity(self) -> int:
        """The severity of the row: 0 for one that passed."""
        return max([self.outcome.severity, *(word.severity for word, _ in self._counting())]) if self.counts else 0

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON holds it."""
        found = dataclasses.asdict(self)
        found["outcome"] = self.outcome.value
        found["verdict"] = self.verdict.value
        found["value"] = self.value.value
        found["passed"] = self.passed
        found["cause"] = self.cause
        for problem in found["signature"]:
            problem["fault"] = problem["fault"].value
        return found

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> AuditRow:
        """Return the row that `to_dict` made `data` from; unknown keys are left out."""
        known = {field.name: field.type for field in dataclasses.fields(cls)}
        values = {name: value for name, value in data.items() if name in known}
        for name, value in values.items():
            if known[name] == "str" and not isinstance(value, str):
                raise TypeError(f"{name!r} of a row is {value!r}, not text")
        values["outcome"], said = read_outcome(data["outcome"])
        values.update(said)
        values["value"] = ValueCheck(data.get("value", ValueCheck.NOT_COMPARED.value))
        values["signature"] = [
            SignatureProblem(
                SignatureFault(problem["fault"]),
                problem["parameter"],
                problem["text"],
                bool(problem.get("confirmed", False)),
                bool(problem.get("by_type", False)),
            )
            for problem in data.get("signature", ())
        ]
        return cls(**values)


#: What differs between calls that fail for one reason: names, numbers, dtypes with shapes, and quoted text.
_PARTICULARS = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|\w+(?:\.\w+)+(?:\(.*\))?|\w*\d[\w.]*(?:\[[^\]]*\])?|\w+\(\)")


def without_particulars(text: str) -> str:
    """Return a message without what differs from call to call."""
    return _PARTICULARS.sub("…", text.partition("\n")[0])


def _cause(row: AuditRow) -> str:
    verdict = row.verdict
    if verdict is Outcome.WRONG_VALUE:
        kind = next((word for word in ("shape", "dtype", "raises") if f"{word} " in row.difference), "")
        return {"": "the value differs", "raises": "to_dense raises"}.get(kind, f"the {kind} differs")
    if verdict is Outcome.ATTRIBUTE_LOST:
        return f"{verdict.label}: {row.attributes.partition(' is ')[0]}"
    problem = next((p for p in row.signature if p.by_type == (verdict is Outcome.REFUSED)), None)
    if problem is not None and row.outcome is not verdict and verdict in (Outcome.SIGNATURE, Outcome.REFUSED):
        kind = "refused" if problem.by_type else problem.fault.value
        return f"signature: {kind} parameter {problem.parameter}"
    if verdict is Outcome.REFUSED and row.left_out:
        return "refused: NotImplemented"
    if verdict in (Outcome.RAISED, Outcome.REFUSED):
        return f"{verdict.label}: {row.error_type}: {without_particulars(row.error)}".removesuffix(": ")
    return verdict.label if verdict in FAULTY else ""


@dataclasses.dataclass(frozen=True)
class Cause:
    """One thing that is wrong, and the rows that show it, the worst first."""

    text: str
    rows: tuple[AuditRow, ...]

    @property
    def example(self) -> AuditRow:
        """The row that shows it first."""
        return self.rows[0]


class Totals:
    """The numbers of rows of each outcome, and of those that passed."""

    def __init__(self, rows: Iterable[AuditRow]) -> None:
        self.rows = list(rows)
        #: Every row once, under the word that it counts as: the numbers of the called ones add up to the calls.
        self.outcomes = Counter(row.verdict for row in self.rows)
        self.called = sum(row.called for row in self.rows)
        #: The calls that the percentage is of: refusals that are meant are no part of it.
        self.counted = sum(row.counts for row in self.rows)
        self.passed = sum(row.passed for row in self.rows)
        self.compared = sum(row.value is not ValueCheck.NOT_COMPARED for row in self.rows)

    @property
    def coverage(self) -> float:
        """The percentage of the calls that passed; 100 when there were none."""
        return 100.0 * self.passed / self.counted if self.counted else 100.0

    @property
    def faults(self) -> int:
        """The number of calls that did not pass, without the refusals that are meant."""
        return self.counted - self.passed

    @property
    def meant(self) -> int:
        """The number of calls that the type means to refuse."""
        return self.called - self.counted

    def to_dict(self) -> dict[str, Any]:
        """Return the totals as JSON holds them."""
        return {
            "calls": self.called,
            "counted": self.counted,
            "passed": self.passed,
            "coverage": round(self.coverage, 2),
            "compared": self.compared,
            **{outcome.value: self.outcomes[outcome] for outcome in Outcome},
        }


@dataclasses.dataclass(frozen=True)
class Regression:
    """A row that was better in the baseline."""

    row: AuditRow
    before: AuditRow
    text: str


@dataclasses.dataclass(repr=False)
class AuditReport:
    """The result of an audit. `coverage` is the percentage of calls that the type answered without a fault.

    A notebook shows it as a table.
    """

    type_name: str
    rows: list[AuditRow]
    target: str = ""
    api: str = "tensorlike"
    version: str = ""
    instances: str = ""
    seconds: float = 0.0
    #: Warnings of the type, each with the number of calls that gave it.
    warnings: dict[str, int] = dataclasses.field(default_factory=dict)
    #: Sentences that belong to the percentage, such as what it leaves out.
    notes: list[str] = dataclasses.field(default_factory=list)

    def __repr__(self) -> str:
        called = self.totals.called
        return f"<AuditReport of {self.type_name}: {self.coverage:.1f} % of {called} call{'' if called == 1 else 's'}>"

    def _repr_html_(self) -> str:
        return report_html(self)

    @property
    def totals(self) -> Totals:
        """The totals of all rows."""
        return Totals(self.rows)

    @property
    def coverage(self) -> float:
        """The percentage of calls that the type answered without a fault."""
        return self.totals.coverage

    @property
    def functions(self) -> int:
        """The number of functions; calls as code writes them are of the same ones."""
        return len({row.function for row in self.rows if row.form not in (WRITTEN, PROGRAM, POSITION)})

    @property
    def programs(self) -> list[AuditRow]:
        """The rows of the programs."""
        return [row for row in self.rows if row.form == PROGRAM]

    def by_namespace(self) -> dict[str, Totals]:
        """Return the totals of each namespace, the one with the most faults first."""
        groups: dict[str, list[AuditRow]] = {}
        for row in self.rows:
            groups.setdefault(row.namespace, []).append(row)
        totals = {name: Totals(rows) for name, rows in groups.items()}
        return dict(sorted(totals.items(), key=lambda item: (-item[1].faults, item[0])))

    def worst(self) -> list[AuditRow]:
        """Return the rows with faults, the worst first: wrong results before missing functions."""
        faulty = [row for row in self.rows if row.counts and not row.passed]
        # Of equals functions come first, which examples are taken from.
        return sorted(
            faulty, key=lambda row: (-row.severity, row.form in (WRITTEN, PROGRAM, POSITION), row.function, row.operand)
        )

    def causes(self) -> list[Cause]:
        """Return what is wrong, each thing once with all its rows: the worst first, then the most frequent."""
        groups: dict[str, list[AuditRow]] = {}
        for row in self.worst():
            groups.setdefault(row.cause, []).append(row)
        found = [Cause(text, tuple(rows)) for text, rows in groups.items()]
        return sorted(found, key=lambda cause: (-cause.example.severity, -len(cause.rows)))

    def row(self, function: str, operand: str) -> AuditRow:
        """Return the row of a function's full name and an operand; raise KeyError when there is none."""
        for row in self.rows:
            if row.key == (function, operand):
                return row
        operands = [row.operand for row in self.rows if row.function == function]
        known = operands or list(dict.fromkeys(row.function for row in self.rows))
        wanted = operand if operands else function
        near = difflib.get_close_matches(wanted, known, n=1) or [n for n in known if n.endswith(f".{wanted}")][:1]
        what = (
            f"{function} has no operand {operand!r}"
            if operands
            else f"no function of the report is called {function!r}"
        )
        end = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known[:8])}"
        raise KeyError(f"row(): {what}; {end}")

    def regressions(self, baseline: AuditReport) -> list[Regression]:
        """Return the rows that are worse than in `baseline`; a function that the baseline does not have is no
        regression.
        """
        before = {row.key: row for row in baseline.rows}
        found = []
        for row in self.rows:
            former = before.get(row.key)
            if former is None or not former.called or not row.called:
                continue
            text = _regression(former, row)
            if text:
                found.append(Regression(row, former, text))
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON holds it."""
        return {
            "format": FORMAT,
            "format_version": VERSION,
            "api": self.api,
            "version": self.version,
            "target": self.target,
            "type": self.type_name,
            "instances": self.instances,
            "seconds": round(self.seconds, 3),
            "totals": self.totals.to_dict(),
            "warnings": dict(self.warnings),
            "notes": list(self.notes),
            "rows": [row.to_dict() for row in self.rows],
        }

    def to_json(self) -> str:
        """Return the report as JSON text."""
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n"
        # The same to JSON, and nothing that ends a script element or a line of JavaScript around it.
        return text.replace("</", "<\\/").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")

    @classmethod
    def from_dict(cls, data: object) -> AuditReport:
        """Return the report that `to_dict` made `data` from.

        Raises ValueError when `data` is no report of an audit, or one of a later format.
        """
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise ValueError(f'no report of an audit: it has no "format": "{FORMAT}"')
        if data.get("format_version") not in READ:
            raise ValueError(f"a report of format version {data.get('format_version')!r}; this is version {VERSION}")
        try:
            return cls(
                type_name=str(data["type"]),
                rows=[AuditRow.from_dict(row) for row in data["rows"]],
                target=str(data.get("target", "")),
                api=str(data.get("api", "tensorlike")),
                version=str(data.get("version", "")),
                instances=str(data.get("instances", "")),
                seconds=float(data.get("seconds", 0.0)),
                warnings={str(text): int(count) for text, count in data.get("warnings", {}).items()},
                notes=[str(note) for note in data.get("notes", ())],
            )
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"a report that is damaged: {type(error).__name__}: {error}") from error

    @classmethod
    def from_json(cls, text: str) -> AuditReport:
        """Return the report that `to_json` wrote; raise ValueError when `text` is none."""
        return cls.from_dict(json.loads(text))


def _regression(before: AuditRow, now: AuditRow) -> str:
    """Return in words what is worse in `now`, or ""."""
    if not now.counts or not now.faults:
        return ""
    if now.outcome.severity > before.outcome.severity:
        return f"was {before.outcome.label}, now {now.faults[0]}"
    known = {(problem.fault, problem.parameter) for problem in before.signature}
    new = [
        problem
        for problem in now.signature
        if (problem.fault, problem.parameter) not in known and not (now.meant and problem.by_type)
    ]
    if new:
        return f"signature: {new[0].text}"
    if now.value is ValueCheck.DIFFERS and before.value is not ValueCheck.DIFFERS:
        return f"{Outcome.WRONG_VALUE.label}: {now.difference}"
    if now.attributes and not before.attributes:
        return f"{Outcome.ATTRIBUTE_LOST.label}: {now.attributes}"
    return ""
