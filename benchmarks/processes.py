"""What is measured in processes of its own: imports and memory."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from .timing import Measured

__all__ = ["PROCESS_ROWS"]

_IMPORT = "import time; t = time.perf_counter(); import {library}; print(time.perf_counter() - t)"

_RESIDENT = """
import {library}
with open("/proc/self/statm") as file:
    print(int(file.read().split()[1]) * 4096)
"""

_PER_ADD = """
import {library} as library, gc, os
x = library.ones(4, requires_grad=True)
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
y = x
for _ in range(1000):
    y = y + x
gc.collect()
before = resident()
for _ in range(200_000):
    y = y + x
print((resident() - before) / 200_000)
"""

_STEP = """
import numpy as np, {library} as library
nn = library.nn
model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))
optimizer = library.optim.SGD(model.parameters(), lr=0.01)
x = library.from_numpy(np.zeros((4096, 784), np.float32))
y = library.from_numpy(np.zeros(4096, np.int64))
def step(x, y):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
def status(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name)) * 1024
step(x, y)  # so that the libraries of linear algebra have their buffers
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # The peak counts from here.
before = status("VmRSS")
step(x, y)
print(status("VmHWM") - before)
"""

_THOUSAND_STEPS = (
    _STEP.partition("step(x, y)  #")[0].replace("4096", "64")
    + """
for _ in range(1000):
    step(x, y)
print(status("VmRSS"))
"""
)

_ALL = ("tensorlike", "numpy", "torch", "autograd", "mygrad")

#: (name, unit, program, aim against torch, aim against NumPy, libraries)
PROCESS_ROWS: list[tuple[str, str, str, float | None, float | None, Sequence[str]]] = [
    ("import", "s", _IMPORT, None, 1.35, _ALL),
    ("resident memory after import", "B", _RESIDENT, None, 1.35, _ALL),
    ("memory per recorded add", "B", _PER_ADD, 0.3, None, ("tensorlike", "torch")),
    ("resident memory after 1,000 steps of an MLP", "B", _THOUSAND_STEPS, 1.0, None, ("tensorlike", "torch")),
    ("peak growth, MLP step, batch 4096", "B", _STEP, 0.8, None, ("tensorlike", "torch")),
]


def run_program(program: str, libraries: Sequence[str], rounds: int) -> dict[str, Measured]:
    """Return what the program prints for each library, in rounds."""
    # An installed package has its bytecode compiled; so has this checkout then, from the first round on.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    found: dict[str, list[float]] = {name: [] for name in libraries}
    for _ in range(rounds):
        for name in libraries:
            done = subprocess.run(
                [sys.executable, "-c", program.format(library=name)],
                capture_output=True, text=True, check=True, env=environment,
            )  # fmt: skip
            found[name].append(float(done.stdout))
    return {n: Measured(tuple(v)) for n, v in found.items()}
