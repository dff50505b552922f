"""Time tensorlike beside the libraries that are installed: `python -m benchmarks [--only GLOB] [--save FILE]`.

The libraries take turns within one run, so that a slow moment of the machine meets them all; the ratios are what to
look at. What each computes is compared before anything is timed.
"""

from __future__ import annotations

import os

# One thread for the BLAS of each library, which read this when they are imported: two of them waiting for work on the
# same cores slow each other down by a factor of ten. Rows with `threads` ask for more by `set_num_threads`.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import fnmatch
import importlib
import platform
import sys
import warnings
from typing import Any

import numpy as np

from . import report
from .processes import PROCESS_ROWS, run_program
from .rows import ROWS, Row
from .timing import measure

LIBRARIES = ("tensorlike", "numpy", "torch", "autograd", "mygrad")


def as_numpy(value: Any) -> Any:
    """Return a result as a NumPy array, to compare it."""
    if hasattr(value, "detach"):
        value = value.detach().numpy()
    return np.asarray(getattr(value, "data", value))


def installed() -> dict[str, Any]:
    """Return the libraries that can be imported."""
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = importlib.import_module(name)
        except ImportError:
            print(f"{name} is not installed and left out", file=sys.stderr)
    if "autograd" in found:
        importlib.import_module("autograd.numpy")
    return found


def set_threads(libraries: dict[str, Any], one: bool) -> None:
    """Have each library use one thread, or as many as there are cores."""
    for library in libraries.values():
        set_number = getattr(library, "set_num_threads", None)
        if set_number is not None:
            set_number(1 if one else os.cpu_count() or 1)


def run_row(row: Row, libraries: dict[str, Any], rounds: int) -> dict[str, Any] | None:
    """Return what a row takes in each library; None, and a line that says so, where results differ."""
    works = {n: w for n, m in libraries.items() if (w := row.make(m, n)) is not None}
    values = {n: as_numpy(w()) for n, w in works.items()}
    for name, value in values.items():
        if not np.allclose(value, values["tensorlike"], rtol=row.tolerance, atol=row.tolerance):
            print(f"{row.name}: {name} computes something else", file=sys.stderr)
            return None
    aims = {n: a for n, a in (("torch", row.torch), ("numpy", row.numpy)) if a is not None}
    return {"measured": measure(works, rounds, 0.02), "unit": "s", "aims": aims, "group": row.group}


def main() -> int:
    """Run the rows and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", metavar="GLOB", default="*", help="the rows to run")
    parser.add_argument("--save", metavar="FILE", help="write the results here as JSON")
    parser.add_argument("--plot", metavar="FILE", help="write a picture of the ratios here, as SVG")
    parser.add_argument("--compare", metavar="FILE", help="say what changed since this earlier --save")
    parser.add_argument("--rounds", type=int, default=15, help="how often the libraries take turns")
    options = parser.parse_args()
    earlier = None
    if options.compare:
        try:
            with open(options.compare) as file:
                earlier = file.read()
        except OSError as error:
            parser.error(f"--compare: {error}")
    warnings.simplefilter("ignore")
    libraries = installed()
    versions = ", ".join(f"{n} {getattr(m, '__version__', '')}".strip() for n, m in libraries.items())
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {versions}"
    print(machine)
    names = list(libraries)
    print(report.heading(names))
    results: report.Results = {}
    failed = False
    for row in ROWS:
        if not fnmatch.fnmatch(row.name, options.only):
            continue
        set_threads(libraries, one=not row.threads)
        result = run_row(row, libraries, options.rounds)
        if result is None:
            failed = True
            continue
        results[row.name] = result
        print(report.line(row.name, result, names), flush=True)
    for name, unit, program, torch, numpy, among in PROCESS_ROWS:
        if not fnmatch.fnmatch(name, options.only):
            continue
        aims = {n: a for n, a in (("torch", torch), ("numpy", numpy)) if a is not None}
        measured = run_program(program, [n for n in among if n in libraries], 5)
        results[name] = {"measured": measured, "unit": unit, "aims": aims, "group": ""}
        print(report.line(name, results[name], names), flush=True)
    if not results and not failed:
        parser.error(f"--only: no row is called {options.only!r}")
    for text in report.means(results):
        print(text)
    if earlier is not None:
        changes = report.compared(results, earlier)
        print("\n".join(changes) if changes else "nothing moved more than the noise")
    for path, content in ((options.save, report.written), (options.plot, report.picture)):
        if path:
            with open(path, "w") as file:
                file.write(content(results, machine))
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
