"""Time the compiler on the reference's listings, with each library's headers: `python -m benchmarks.builds [ROUNDS]`.

Processor time, since other programs change how long it takes; nothing is linked or loaded.
"""

from __future__ import annotations

import importlib
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "tests" / "cpp" / "sources" / "reference.cpp"


def command(library: str, output: str) -> list[str]:
    """Return the command that compiles the listings for a library."""
    extension = importlib.import_module(f"{library}.utils.cpp_extension")
    compiler = importlib.import_module("tensorlike.utils.cpp_extension").get_cxx_compiler()
    folders = [*extension.include_paths(), sysconfig.get_paths()["include"]]
    return [
        compiler, "-O0", "-fPIC", "-std=c++20", "-DTORCH_EXTENSION_NAME=listings",
        "-DTORCH_API_INCLUDE_EXTENSION_H", *[f"-isystem{f}" for f in folders], "-c", str(SOURCE), "-o", output,
    ]  # fmt: skip


def main() -> int:
    """Print the processor time of each library, and their ratio."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    times: dict[str, list[float]] = {"tensorlike": [], "torch": []}
    with tempfile.TemporaryDirectory() as folder:
        commands = {name: command(name, os.path.join(folder, "listings.o")) for name in times}
        for _ in range(rounds):
            for name, one in commands.items():
                before = os.times()
                subprocess.run(one, check=True)
                after = os.times()
                times[name].append(
                    after.children_user + after.children_system - before.children_user - before.children_system
                )
    for name, found in times.items():
        print(f"{name:12}{min(found):6.1f} s")
    ratio = statistics.median(a / b for a, b in zip(times["tensorlike"], times["torch"], strict=True))
    print(f"{'ratio':12}{ratio:6.2f} {'<=' if round(ratio, 2) <= 0.35 else '> '}0.35")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
