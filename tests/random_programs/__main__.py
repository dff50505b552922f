"""Entry of `python -m tests.random_programs`: runs random programs in tensorlike and PyTorch and prints differences."""

import argparse
import importlib.util
import sys
from collections import Counter


def main() -> int:
    if importlib.util.find_spec("torch") is None:
        print("random programs need PyTorch, which is not installed: pip install torch==2.13.0", file=sys.stderr)
        return 2
    parser = argparse.ArgumentParser(prog="python -m tests.random_programs", description=__doc__)
    parser.add_argument("--count", type=int, default=20_000, help="programs to run (20000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first program; the others follow it (0)")
    parser.add_argument("--show", type=int, default=20, help="differences to print, each of another kind (20)")
    options = parser.parse_args()
    import torch

    from tests.random_programs.running import Report, program_text, run_programs, shrink

    torch.set_num_threads(1)
    report = Report()
    shown: set[tuple[str, str]] = set()
    for first in range(options.seed, options.seed + options.count, 1000):
        run_programs(range(first, min(first + 1000, options.seed + options.count)), report)
        for seed, program, difference in report.different:
            key = (program[-1].function if program[-1].function != "backward" else program[-1].source, difference.kind)
            if key not in shown and len(shown) < options.show:
                shown.add(key)
                print(program_text(seed, *shrink(program, difference)), end="\n\n", flush=True)
    print(report.text())
    found = Counter((program[-1].function, difference.kind) for _, program, difference in report.different)
    for (function, kind), count in found.most_common():
        print(f"  {count:,} {function}: {kind}")
    return 1 if report.different or not report.compared else 0


if __name__ == "__main__":
    sys.exit(main())
