"""The report of override coverage: what the tests exercised of each type, for a terminal, as JSON and as HTML."""

from __future__ import annotations

import json
import math
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from .handler_lines import Branch, Handler, Hit
from .implemented_functions import Rule
from .override_coverage import Count, Recorder


def matches(function: str, only: Sequence[str]) -> bool:
    """Return whether a glob matches the name of a function, with or without the library's; True without globs."""
    short = function.partition(".")[2]
    return not only or any(fnmatchcase(function, glob) or fnmatchcase(short, glob) for glob in only)


def displayed(percent: float, digits: int = 1) -> str:
    """Return a percentage as text: 0 and 100 only where they are exact, as coverage.py does it."""
    smallest = 10.0**-digits
    if 0 < percent < 100:
        percent = min(max(percent, smallest), 100 - smallest)
    return f"{percent:.{digits}f}"


class HandlerCoverage:
    """The lines and branches of one handler, each with the functions whose calls took it and their contexts."""

    def __init__(self, handler: Handler, hits: Iterable[Hit], *, complete: bool = True) -> None:
        self.handler = handler
        #: Whether all calls were traced: else a line without a hit is not known to be missed.
        self.complete = complete
        #: By line: the counts by function, and the contexts.
        self.functions: dict[int, Counter[str]] = {}
        self.contexts: dict[int, set[str]] = {}
        self.ways: dict[tuple[Branch, bool], Counter[str]] = {}
        branches = {(b.line, b.column): b for b in handler.branches}
        for file, first, line, column, outcome, function, context, times in hits:
            if (file, first) != handler.place:
                continue
            branch = branches.get((line, column))
            if branch is not None:
                self.ways.setdefault((branch, bool(outcome)), Counter())[function] += times
            else:
                self.functions.setdefault(line, Counter())[function] += times
                if context:
                    self.contexts.setdefault(line, set()).add(context)

    @property
    def missed(self) -> list[int]:
        """The lines that no call took; none where some calls were not traced."""
        return [line for line in self.handler.lines if self.complete and line not in self.functions]

    def missed_ways(self, line: int) -> list[tuple[Branch, bool]]:
        """Return the outcomes that no call took of the branches in a line that was reached."""
        if line not in self.functions or not self.complete:
            return []
        of_line = [branch for branch in self.handler.branches if branch.line == line]
        return [
            (branch, outcome) for branch in of_line for outcome in (True, False) if (branch, outcome) not in self.ways
        ]


class TypeCoverage:
    """The coverage of one type: for every overridable function and operand the counts of calls by outcome."""

    def __init__(
        self,
        name: str,
        recorder: Recorder,
        counts: Iterable[Count] | None = None,
        only: Sequence[str] = (),
        handlers: Sequence[HandlerCoverage] = (),
    ) -> None:
        self.name = name
        self.api = recorder.functions.name
        self.handlers = handlers
        self.operands: dict[tuple[str, str], dict[str, int]] = {
            key: {} for key in recorder.functions.operands(recorder.kind) if matches(key[0], only)
        }
        #: The names of the types of results and of exceptions.
        self.results: dict[tuple[str, str], set[str]] = {}
        #: The calls by context, where the run has contexts.
        self.contexts: dict[tuple[str, str], dict[str, int]] = {}
        #: Calls of functions that the library does not list, or through an argument that it lists as no operand.
        self.others: dict[str, int] = {}
        names = {function for function, _ in self.operands}
        for function, operand, outcome, result, context, times in recorder.counts() if counts is None else counts:
            found = self.operands.get((function, operand))
            if found is None:
                if matches(function, only):
                    shown = f"{function}({operand})" if operand and function in names else function
                    self.others[shown] = self.others.get(shown, 0) + times
                continue
            found[outcome] = found.get(outcome, 0) + times
            if context:
                of_operand = self.contexts.setdefault((function, operand), {})
                of_operand[context] = of_operand.get(context, 0) + times
            if result:
                self.results.setdefault((function, operand), set()).add(result)
        #: What the type implements: each function and operand of its rules, and whether a test exercised it.
        self.implemented = self._implemented(recorder.rules, only)
        self.functions = {function for function, _ in self.operands}
        #: The functions that no test called with the type in any operand.
        self.missed_functions = self.functions - {function for (function, _), found in self.operands.items() if found}

    def _implemented(self, rules: Sequence[Rule], only: Sequence[str]) -> dict[tuple[str, str], bool]:
        return {
            (rule.function, operand): any(self.operands.get(place) for place in places)
            for rule in rules
            if matches(rule.function, only)
            for operand, places in rule.operands.items()
        }

    @property
    def implemented_percent(self) -> float | None:
        """The share of the operands of what the type implements that a test exercised; None where that is not known."""
        return _percent(sum(self.implemented.values()), len(self.implemented)) if self.implemented else None

    @property
    def exercised(self) -> int:
        """The number of operands of functions that held the type at least once."""
        return sum(1 for found in self.operands.values() if found)

    @property
    def percent(self) -> float:
        """The same, in percent."""
        return _percent(self.exercised, len(self.operands))

    def never(self) -> list[tuple[str, str]]:
        """Return (function, operand) of each operand that no test exercised."""
        return [key for key, found in self.operands.items() if not found]

    def missing(self, *, every: bool = False) -> list[str]:
        """Return what no test exercised, as short as can be: `linalg.*`, `exp`, `cat(out)`.

        Of what a namespace lacks the first are named, all with `every`.
        """
        untouched = {name for name, exercised, _ in self.namespaces() if not exercised}
        found: dict[str, dict[str, list[str]]] = {}
        for function, operand in self.never():
            namespace = namespace_of(function)
            short = function.partition(".")[2]
            of_namespace = found.setdefault(namespace, {})
            if namespace in untouched:
                of_namespace[_all_of(namespace)] = []
            elif function in self.missed_functions:
                of_namespace[short] = []
            else:
                of_namespace.setdefault(short, []).append(operand)
        lines = []
        for namespace, names in found.items():
            told = [name + (f"({', '.join(operands)})" if operands else "") for name, operands in names.items()]
            if not every and len(told) > _NAMED:
                told = [*told[: _NAMED - 1], f"{len(told) - _NAMED + 1} more of {_all_of(namespace)}"]
            lines += told
        return lines

    def missing_implemented(self) -> list[str]:
        """Return what no test exercised of what the type implements: `exp`, `add(other)`."""
        found: dict[str, list[str]] = {}
        whole = {function for function, _ in self.implemented}
        whole -= {function for (function, _), exercised in self.implemented.items() if exercised}
        for (function, operand), exercised in self.implemented.items():
            if not exercised:
                found.setdefault(function.partition(".")[2], []).extend(() if function in whole else (operand,))
        return [name + (f"({', '.join(operands)})" if operands else "") for name, operands in found.items()]

    def namespaces(self) -> Iterator[tuple[str, int, int]]:
        """Yield (namespace, exercised, all) of the operands."""
        totals: dict[str, list[int]] = {}
        for (function, _), found in self.operands.items():
            both = totals.setdefault(namespace_of(function), [0, 0])
            both[0] += bool(found)
            both[1] += 1
        yield from ((name, one, two) for name, (one, two) in totals.items())

    def as_dict(self) -> dict[str, Any]:
        """Return the coverage as JSON data."""
        calls = []
        for (f, o), found in self.operands.items():
            if found:
                row = {"function": f, "operand": o, "outcomes": found, "results": sorted(self.results.get((f, o), ()))}
                if self.contexts:
                    row["contexts"] = dict(sorted(self.contexts.get((f, o), {}).items()))
                calls.append(row)
        return {
            "api": self.api,
            "percent": round(self.percent, 2),
            "functions": len(self.functions),
            "functions_missed": len(self.missed_functions),
            "exercised": self.exercised,
            "operands": len(self.operands),
            "implemented": None
            if self.implemented_percent is None
            else {
                "percent": round(self.implemented_percent, 2),
                "exercised": sum(self.implemented.values()),
                "operands": len(self.implemented),
                "never": [list(key) for key, exercised in self.implemented.items() if not exercised],
            },
            "calls": calls,
            "never": [list(key) for key in self.never()],
            "other_functions": dict(sorted(self.others.items())),
        }


#: The names of one namespace that the list of what is missing has, unless all are asked for.
_NAMED = 8


def _all_of(namespace: str) -> str:
    return (namespace.partition(".")[2] or namespace) + ".*"


def namespace_of(function: str) -> str:
    """Return the namespace that a function is listed in."""
    owner, _, last = function.rpartition(".")
    # Getters and setters are listed with the methods of their class.
    return owner.rpartition(".")[0] if last in ("__get__", "__set__", "__delete__") else owner


def _percent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 0.0


def _share(percent: float | None) -> str:
    return "-" if percent is None else displayed(percent) + "%"


class CoverageReport:
    """The coverage of every requested type."""

    def __init__(self, types: Sequence[TypeCoverage], blocked: Iterable[str] = ()) -> None:
        self.types = list(types)
        #: What kept the lines of handlers from being traced.
        self.blocked = sorted(set(blocked))

    @property
    def advice(self) -> str:
        """The advice for a run in which lines were not traced."""
        newer = "" if hasattr(sys, "monitoring") else ", or with Python 3.12 or newer"
        return f"it was running already and was left alone; run the tests without it{newer}"

    @property
    def percent(self) -> float:
        """The share of the operands of all types that was exercised."""
        return _percent(sum(c.exercised for c in self.types), sum(len(c.operands) for c in self.types))

    @property
    def implemented_percent(self) -> float | None:
        """The share of the operands of all rules of all types that was exercised; None where no rule is known."""
        found = [exercised for covered in self.types for exercised in covered.implemented.values()]
        return _percent(sum(found), len(found)) if found else None

    def failures(self, fail_under: Mapping[str, float], implemented: Mapping[str, float] | None = None) -> list[str]:
        """Return a line for each type whose coverage is below its limit; "" is the limit of those not named.

        `implemented` has limits of the coverage of what a type implements.
        """
        found = []
        for covered in self.types:
            for percent, limits, what, option in (
                (covered.percent, fail_under, "total", "fail-under"),
                (covered.implemented_percent, implemented or {}, "implemented", "fail-under-implemented"),
            ):
                limit = limits.get(covered.name, limits.get(""))
                if limit is None:
                    continue
                if percent is None:
                    found.append(
                        f"Coverage failure: {covered.name}: what it implements is not known, so {option}={limit:g} "
                        "cannot be met"
                    )
                elif percent < limit:
                    # Rounded down, so that the figure is below the limit too.
                    total = math.floor(percent * 100) / 100
                    found.append(
                        f"Coverage failure: {covered.name}: {what} of {total:.2f} is less than {option}={limit:g}"
                    )
        return found

    def rows(self) -> list[tuple[str, int, int, int, int, str, str]]:
        """Return (name, functions, missed, operands, missed, cover, implemented) of each type, then of all."""
        rows = [
            (
                c.name,
                len(c.functions),
                len(c.missed_functions),
                len(c.operands),
                len(c.never()),
                displayed(c.percent) + "%",
                _share(c.implemented_percent),
            )
            for c in self.types
        ]
        sums = [sum(int(row[column]) for row in rows) for column in range(1, 5)]
        totals = displayed(self.percent) + "%", _share(self.implemented_percent)
        return [*rows, ("TOTAL", sums[0], sums[1], sums[2], sums[3], *totals)]

    def lines(self, *, every: bool = False, show_missing: bool = False, width: int = 100) -> Iterator[str]:
        """Yield the summary for a terminal; with `every`, by namespace and outcome too."""
        rows = self.rows()
        names = max(len("Name"), *(len(row[0]) for row in rows))
        head = f"{'Name':<{names}}  Functions  Missed  Operands  Missed   Cover  Implemented"
        indent = " " * (len(head) + 3) if width - len(head) >= 43 else " " * 4
        yield head + ("   Missing" if show_missing else "")
        ruler = "-" * (len(head) + (10 if show_missing else 0))
        yield ruler
        missing = [_absent(covered, every) if show_missing else [] for covered in self.types]
        for (name, functions, unused, operands, never, cover, own), absent in zip(rows, [*missing, []]):
            if name == "TOTAL":
                yield ruler
            line = f"{name:<{names}}  {functions:>9}  {unused:>6}  {operands:>8}  {never:>6}  {cover:>6}  {own:>11}"
            lines = (textwrap.wrap(text, width - len(indent), break_on_hyphens=False) for text in absent)
            told = [part for parts in lines for part in parts]
            if len(indent) > 4:
                yield line + ("   " + told.pop(0) if told else "")
            else:
                yield line
            yield from (indent + part for part in told)
        for covered in self.types:
            yield from self._details(covered, every)
        for tracer in self.blocked:
            yield f"lines of __torch_function__ were not traced under {tracer}: {self.advice}"

    def _details(self, covered: TypeCoverage, every: bool) -> Iterator[str]:
        told = []
        if every:
            for name, one, two in covered.namespaces():
                told.append(f"  {name:<32} {one:>5} of {two:<5} {displayed(_percent(one, two)):>5} %")
            outcomes: Counter[str] = Counter()
            for found in covered.operands.values():
                outcomes.update(found)
            calls = ", ".join(f"{times} {outcome}" for outcome, times in sorted(outcomes.items()))
            told.append(f"  calls: {calls or 'none'}")
        if covered.others:
            others = sorted(covered.others, key=lambda name: (-covered.others[name], name))
            told.append(f"  not in the list: {_some(others, every)}")
            if covered.api == "tensorlike" and any(name.startswith("torch.") for name in others):
                told.append("  PyTorch's functions called: --override-coverage-api=torch counts them")
        if told:
            yield f"{covered.name}:"
            yield from told

    def to_json(self) -> str:
        """Return the report as JSON."""
        return json.dumps({"version": 1, "types": {c.name: c.as_dict() for c in self.types}}, indent=1) + "\n"


def _absent(covered: TypeCoverage, every: bool) -> list[str]:
    """Return what was missed of a type: of what it implements, where that is known, and of everything."""
    of_all = ", ".join(covered.missing(every=every))
    if not covered.implemented:
        return [of_all]
    own = ", ".join(covered.missing_implemented()) or "nothing"
    return [f"of what it implements: {own}", f"of all: {of_all or 'nothing'}"]


def _some(names: Sequence[str], every: bool) -> str:
    shown = names if every else names[:8]
    return ", ".join(shown) + (f" and {len(names) - len(shown)} more" if len(shown) < len(names) else "")
