"""Time tensorlike beside NumPy and PyTorch: `python -m benchmarks [--only GLOB] [--json FILE]`.

The libraries take turns within one run, so that a slow moment of the machine meets them all; the best time of each
counts, and the ratios are what to look at.
"""

from __future__ import annotations

import argparse
import fnmatch
import importlib
import json
import os
import platform
import subprocess
import sys
import timeit
from typing import Any

import numpy as np

from .rows import ROWS

LIBRARIES = {"tensorlike": "tensorlike", "numpy": "numpy", "torch": "torch"}


def as_numpy(value: Any) -> Any:
    """Return a result as a NumPy array, to compare it."""
    if hasattr(value, "detach"):
        value = value.detach().numpy()
    return np.asarray(value)


def seconds_per_call(work: Any, budget: float) -> tuple[Any, int]:
    """Return a timer of `work` and how many calls fill `budget` seconds."""
    timer = timeit.Timer(work)
    number, taken = timer.autorange() if budget >= 0.2 else (1, timer.timeit(1))
    return timer, max(1, int(number * budget / max(taken, 1e-9)))


def measure(works: dict[str, Any], rounds: int, budget: float) -> dict[str, float]:
    """Return the best time of each work in seconds; they take turns."""
    timers = {name: seconds_per_call(work, budget) for name, work in works.items()}
    best = dict.fromkeys(works, float("inf"))
    for _ in range(rounds):
        for name, (timer, number) in timers.items():
            best[name] = min(best[name], timer.timeit(number) / number)
    return best


def import_times(libraries: dict[str, Any], rounds: int) -> dict[str, float]:
    """Return the time that a fresh interpreter needs to import each library, its own start taken off."""
    code = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
    best = dict.fromkeys(libraries, float("inf"))
    # An installed package has its bytecode compiled; so has this checkout then, from the first round on.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for _ in range(rounds):
        for name in libraries:
            found = subprocess.run(
                [sys.executable, "-c", code.format(name)], capture_output=True, text=True, check=True, env=environment
            )
            best[name] = min(best[name], float(found.stdout))
    return best


def shown(seconds: float | None) -> str:
    """Return a time in the unit that suits it."""
    if seconds is None:
        return "-"
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1 or unit == "us":
            return f"{seconds * factor:.2f} {unit}"
    return "-"


def main() -> int:
    """Run the rows and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", metavar="GLOB", default="*", help="the rows to run")
    parser.add_argument("--json", metavar="FILE", help="write the times here as well")
    parser.add_argument("--rounds", type=int, default=15, help="how often the libraries take turns")
    options = parser.parse_args()
    libraries: dict[str, Any] = {}
    for name, module in LIBRARIES.items():
        try:
            libraries[name] = importlib.import_module(module)
        except ImportError:
            print(f"{name} is not installed and left out", file=sys.stderr)
    if "torch" in libraries:
        libraries["torch"].set_num_threads(1)
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
          + ", ".join(f"{n} {m.__version__}" for n, m in libraries.items()))  # fmt: skip
    print(f"{'':38}" + "".join(f"{n:>12}" for n in libraries) + f"{'/ numpy':>10}{'/ torch':>10}{'aim':>8}")
    results: dict[str, dict[str, float]] = {}
    for row in ROWS:
        if not fnmatch.fnmatch(row.name, options.only):
            continue
        works = {n: w for n, m in libraries.items() if (w := row.make(m, n)) is not None}
        values = {n: as_numpy(w()) for n, w in works.items()}
        for name, value in values.items():
            if not np.allclose(value, values["tensorlike"], rtol=1e-4, atol=1e-5):
                print(f"{row.name}: {name} computes something else", file=sys.stderr)
                return 1
        results[row.name] = measure(works, options.rounds, 0.02)
        print_row(row.name, results[row.name], libraries, row.aim)
    if fnmatch.fnmatch("import", options.only):
        results["import"] = import_times(libraries, 5)
        print_row("import", results["import"], libraries, 0.25)
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"python": platform.python_version(), "seconds": results}, file, indent=1)
    return 0


def print_row(name: str, times: dict[str, float], libraries: dict[str, Any], aim: float | None) -> None:
    """Print one line of the table."""
    ours = times["tensorlike"]
    ratios = [f"{ours / times[other]:.2f}" if other in times else "-" for other in ("numpy", "torch")]
    line = f"{name:38}" + "".join(f"{shown(times.get(n)):>12}" for n in libraries)
    print(line + f"{ratios[0]:>10}{ratios[1]:>10}{'' if aim is None else f'{aim:.2f}':>8}", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
