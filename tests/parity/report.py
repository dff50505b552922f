"""The report: a score by namespace, and every difference with its reason."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import torch

from .known import DIFFERENT, Known, known
from .score import CATEGORIES, Check, checks, operations

TITLES = {
    "values": "values",
    "apart": "not contiguous",
    "dtypes": "dtypes taken",
    "gradients": "gradients",
    "second gradients": "second",
    "errors": "errors",
}


class Report:
    """What a run found."""

    def __init__(self) -> None:
        self.checks: list[Check] = []
        self.reasons: dict[Check, Known | str | None] = {}

    def add(self, check: Check) -> None:
        self.checks.append(check)
        if check.text:
            self.reasons[check] = known(check.name, check.category, check.dtype, check.text)

    @property
    def unexplained(self) -> list[Check]:
        return [check for check, reason in self.reasons.items() if reason is None]

    def stale(self, names: Sequence[str]) -> list[Known]:
        """Return the known differences that none of the operations run shows any more."""
        met = {id(reason) for reason in self.reasons.values()}
        run = {(c.name, c.category, c.dtype) for c in self.checks if c.name in set(names)}
        return [k for k in DIFFERENT if id(k) not in met and any(k.covers(*one) for one in run)]

    def scores(self) -> dict[str, dict[str, list[int]]]:
        """Return [agreeing, all] by namespace and category."""
        found: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
        for check in self.checks:
            for namespace in (check.namespace, "all"):
                pair = found[namespace][check.category]
                pair[0] += not check.text
                pair[1] += 1
        return found

    def by_reason(self) -> dict[str, list[Check]]:
        found: dict[str, list[Check]] = defaultdict(list)
        for check, reason in self.reasons.items():
            if reason is not None:
                found[reason if isinstance(reason, str) else reason.reason].append(check)
        return found


def compare(pattern: str, progress: bool = False) -> tuple[Report, list[str]]:
    """Compare the operations that a glob names."""
    report, names = Report(), operations(pattern)
    for number, name in enumerate(names, 1):
        if progress:
            print(f"\r{number}/{len(names)} {name:60.60}", end="", file=sys.stderr, flush=True)
        for check in checks(name):
            report.add(check)
    if progress:
        print(f"\r{'':80}\r", end="", file=sys.stderr)
    return report, names


def _cell(pair: list[int]) -> str:
    return f"{pair[0]}/{pair[1]}" if pair[1] else "-"


def _grouped(checks: list[Check]) -> list[str]:
    """Return one line for each operation: its name and the dtypes in question."""
    dtypes: dict[str, list[str]] = defaultdict(list)
    for check in checks:
        kept = dtypes[check.name.removeprefix("tensorlike.")]
        if check.dtype and check.dtype not in kept:
            kept.append(check.dtype)
    return [f"{name} ({', '.join(found)})" if found else name for name, found in sorted(dtypes.items())]


def text_of(report: Report, names: list[str], seconds: float) -> str:
    scores = report.scores()
    lines = [f"{len(names)} operations with samples against PyTorch {torch.__version__}: checks that agree / all", ""]
    spaces = sorted((s for s in scores if s != "all"), key=lambda s: (s != "tensorlike", s))
    width = max(len(s) for s in (*spaces, "namespace"))
    titles = [TITLES[c] for c in CATEGORIES]
    lines.append(f"{'namespace':{width}}  operations  " + "  ".join(f"{t:>14}" for t in titles) + f"{'score':>9}")
    for space in (*spaces, "all"):
        mine = scores[space]
        good, total = (sum(mine[c][i] for c in CATEGORIES) for i in (0, 1))
        count = len({c.name for c in report.checks if space in (c.namespace, "all")})
        cells = "  ".join(f"{_cell(mine[c]):>14}" for c in CATEGORIES)
        score = f"{100 * good / total:.2f} %" if total else "-"
        lines.append(f"{space:{width}}  {count:>10}  {cells}{score:>9}")
    reasons = report.by_reason()
    lines += ["", f"{sum(map(len, reasons.values()))} differences with a reason:"]
    for reason, found in reasons.items():
        lines += [f"- {reason}:", f"  {', '.join(_grouped(found))}"]
    lines += ["", f"{len(report.unexplained)} differences without a reason" + ":" * bool(report.unexplained)]
    lines += [f"- {c.category} {c.name} {c.dtype}: {c.text}" for c in report.unexplained]
    for entry in report.stale(names):
        lines.append(f"- gone, take it off the list: {entry.names} ({entry.category}, {entry.dtypes}): {entry.reason}")
    lines += ["", f"{len(report.checks)} checks in {seconds:.0f} s"]
    return "\n".join(lines)


def data_of(report: Report, names: list[str], seconds: float) -> dict[str, Any]:
    def shown(check: Check) -> dict[str, str]:
        reason = report.reasons[check]
        return {**check._asdict(), "reason": reason.reason if isinstance(reason, Known) else reason or ""}

    return {
        "torch": torch.__version__,
        "operations": len(names),
        "seconds": round(seconds, 1),
        "scores": {
            space: {c: {"agree": p[0], "all": p[1]} for c, p in found.items()}
            for space, found in report.scores().items()
        },
        "differences": [shown(check) for check in report.reasons],
        "gone": [entry._asdict() for entry in report.stale(names)],
    }


def run(arguments: Sequence[str]) -> int:
    """Answer `python -m tests.parity`; 1 when a difference has no reason, or a known one is gone."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.parity",
        description="Run every sample of every operation in tensorlike and in PyTorch: values, dtypes, shapes, "
        "gradients, second gradients and errors, over all dtypes, contiguous and not.",
    )
    parser.add_argument("--report", action="store_true", help="print the score by namespace and every difference")
    parser.add_argument("--json", action="store_true", help="print the same as JSON")
    parser.add_argument("--only", metavar="GLOB", default="*", help="operations to compare, e.g. 'linalg.*' or 'add'")
    options = parser.parse_args(arguments)
    if not (options.report or options.json):
        parser.print_help()
        return 2
    if not operations(options.only):
        print(f"tests.parity: no operation is called {options.only!r}", file=sys.stderr)
        return 2
    begin = time.perf_counter()
    report, names = compare(options.only, progress=sys.stderr.isatty())
    seconds = time.perf_counter() - begin
    if options.json:
        print(json.dumps(data_of(report, names, seconds), indent=1))
    else:
        print(text_of(report, names, seconds))
    return 1 if report.unexplained or report.stale(names) else 0
