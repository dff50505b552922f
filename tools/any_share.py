"""Compare the share of expressions typed Any with the recorded one: `python tools/any_share.py`; `--write` records it.

mypy checks nothing about an expression of type Any, so the share says how much of the package goes unchecked. It may
fall and must not grow; a change that has to make it grow records the new figure, which a reviewer then sees.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "tools" / "any_share.txt"
#: In percent: what the counts of one source differ by between Python's minor versions.
SLACK = 0.05


def has_stub(module: str) -> bool:
    """Return whether mypy reads a module's generated stub, whose Any for the results of other types is meant."""
    path = ROOT.joinpath(*module.split("."))
    return path.with_suffix(".pyi").exists() or (path / "__init__.pyi").exists()


def share(report: str) -> float:
    """Return the percentage of expressions that are Any, of the text of mypy's `any-exprs.txt`, stubs left out."""
    lines = re.findall(r"^ *(tensorlike[\w.]*) +(\d+) +(\d+) ", report, re.MULTILINE)
    counts = [(int(found), int(all_of_them)) for module, found, all_of_them in lines if not has_stub(module)]
    total = sum(count for _, count in counts)
    if not total:
        raise ValueError("mypy's report of Any names no module of tensorlike")
    return 100 * sum(count for count, _ in counts) / total


def verdict(now: float, recorded: float) -> str | None:
    """Return what is wrong with the share, or None."""
    if now > recorded + SLACK:
        return (
            f"{now:.2f} % of the expressions are Any, {recorded:.2f} % are recorded: annotate what was added, or "
            "record the new share with python tools/any_share.py --write"
        )
    return None


def measured() -> float:
    """Return the share as mypy counts it, which takes a minute: a report is made without the cache."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "mypy", "--strict", "--any-exprs-report", folder, "--cache-dir", f"{folder}/c"]
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        report = Path(folder, "any-exprs.txt")
        if not report.exists():
            raise SystemExit(f"mypy made no report:\n{run.stdout}{run.stderr}")
        return share(report.read_text())


def main() -> int:
    """Compare the share, or record it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="record the share as it is now")
    options = parser.parse_args()
    now = measured()
    if options.write:
        RECORD.write_text(f"{now:.2f}\n")
    recorded = float(RECORD.read_text())
    print(f"Any: {now:.2f} % of all expressions, recorded: {recorded:.2f} %")
    problem = verdict(now, recorded)
    if problem is not None:
        print(problem)
    return 0 if problem is None else 1


if __name__ == "__main__":
    raise SystemExit(main())
