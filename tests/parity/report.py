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
from .score import Check, checks, operations
from .text import text_of


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
        return [k for k in DIFFERENT if k.everywhere and id(k) not in met and any(k.covers(*one) for one in run)]

    def scores(self) -> dict[str, dict[str, list[int]]]:
        """Return [agreeing, all] by namespace and category."""
        found: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
        for check in self.checks:
            for namespace in (check.namespace, "all"):
                pair = found[namespace][check.category]
                pair[0] += not check.text
                pair[1] += 1
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


def data_of(report: Report, names: list[str]) -> dict[str, Any]:
    """Return the report as data."""

    def shown(check: Check) -> dict[str, str]:
        reason = report.reasons[check]
        if reason is None:
            return {**check._asdict(), "reason": ""}
        return {**check._asdict(), "text": "", "reason": reason.reason if isinstance(reason, Known) else reason}

    return {
        "torch": torch.__version__,
        "operations": len(names),
        "counts": {
            space: len({c.name for c in report.checks if space in (c.namespace, "all")}) for space in report.scores()
        },
        "scores": {
            space: {c: {"agree": p[0], "all": p[1]} for c, p in found.items()}
            for space, found in report.scores().items()
        },
        "differences": [shown(check) for check in report.reasons],
        "gone": [entry._asdict() for entry in report.stale(names)],
    }


def _lines(data: dict[str, Any]) -> str:
    """Return JSON with a line for each difference: what is committed is compared by people."""
    differences = ",\n".join(json.dumps(one) for one in data["differences"])
    return json.dumps({**data, "differences": []}, indent=1).replace(
        '"differences": []', f'"differences": [\n{differences}\n]'
    )


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
    data = data_of(report, names)
    print(_lines(data) if options.json else text_of(data))
    print(f"{len(report.checks)} checks in {seconds:.0f} s", file=sys.stderr)
    return 1 if report.unexplained or report.stale(names) else 0
