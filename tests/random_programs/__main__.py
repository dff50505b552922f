"""Entry of `python -m tests.random_programs`: runs random programs in tensorlike and PyTorch and prints differences."""

from __future__ import annotations

import argparse
import importlib.util
import json
import multiprocessing
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

#: Programs that a process runs before it reports.
PART = 500


def main() -> int:
    if importlib.util.find_spec("torch") is None:
        print("random programs need PyTorch, which is not installed: pip install torch==2.13.0", file=sys.stderr)
        return 2
    parser = argparse.ArgumentParser(prog="python -m tests.random_programs", description=__doc__)
    parser.add_argument("--count", type=int, default=20_000, help="programs to run (20000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first program; the others follow it (0)")
    parser.add_argument("--show", type=int, default=20, help="differences to print, each of another kind (20)")
    parser.add_argument("--processes", type=int, default=1, help="processes that share the programs (1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the counts to this file")
    options = parser.parse_args()
    import torch

    from tests.random_programs.running import Report, program_text, run_programs, shrink

    torch.set_num_threads(1)
    # Processes start anew: those of a fork hang where PyTorch had threads.
    pool = ProcessPoolExecutor(
        options.processes, multiprocessing.get_context("spawn"), initializer=torch.set_num_threads, initargs=(1,)
    )

    report = Report()
    found: Counter[str] = Counter()
    end = options.seed + options.count
    parts = [range(first, min(first + PART, end)) for first in range(options.seed, end, PART)]
    for part in (pool.map if options.processes > 1 else map)(run_programs, parts):
        report.add(part)
        for seed, program, difference in part.different:
            last = program[-1]
            kind = f"{last.function}: {difference.kind}"
            found[kind] += 1
            if found[kind] == 1 and len(found) <= options.show:
                print(program_text(seed, *shrink(program, difference)), end="\n\n", flush=True)
    print(report.text())
    for kind, count in found.most_common():
        print(f"  {count:,} {kind}")
    if options.json is not None:
        options.json.write_text(json.dumps({**report.totals(), "differences": dict(found)}, indent=1) + "\n")
    return 1 if report.different or not report.compared else 0


if __name__ == "__main__":
    sys.exit(main())
