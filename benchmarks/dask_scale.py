"""Time training steps over chunks on a cluster: `python -m benchmarks.dask_scale [--only NAME] [--save FILE]`.

The scheduler runs in this process, so that its CPU time and that of the driver is what this process uses during a step:
a figure that other load on the machine does not change much, and that bounds how many chunks a second any number of
workers can take. `docs/scale-training.md` has figures, and what follows from them for more workers.
"""

from __future__ import annotations

import argparse
import json
import logging
import os

# One thread for BLAS in every worker, which inherits this.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import statistics
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import tensorlike as tl

try:
    import dask
    import dask.array as da
    import distributed

    import tensorlike.dask
except ImportError as error:
    sys.exit(f'benchmarks.dask_scale: {error}. It needs Dask: pip install "tensorlike[dask]"')

__all__: list[str] = []

FEATURES = 20


def squares(weight: tl.Tensor, X: tl.Tensor, y: tl.Tensor) -> tl.Tensor:
    return ((X @ weight - y) ** 2).sum()


def by_numpy(weight: Any, X: Any, y: Any) -> Any:
    """Return what one chunk gives in NumPy alone: the least that any program on Dask has to do."""
    rest = X @ weight - y
    return [float(rest @ rest), 2 * (X.T @ rest)]


def added(parts: list[Any]) -> list[Any]:
    return [sum(part[0] for part in parts), sum(part[1] for part in parts)]


def one_function(weight: Any, X: Any, y: Any) -> Any:
    """Return the step with one NumPy function for each chunk and a tree of sums, written by hand."""
    shipped = dask.delayed(weight)
    chunk = dask.delayed(by_numpy, pure=False)
    parts = [chunk(shipped, a, b) for a, b in zip(X.to_delayed()[:, 0], y.to_delayed(), strict=True)]
    while len(parts) > 1:
        parts = [dask.delayed(added)(parts[begin : begin + 8]) for begin in range(0, len(parts), 8)]
    return parts[0]


def expressions(weight: Any, X: Any, y: Any) -> Any:
    """Return the step in array expressions, as one writes it with Dask alone."""
    rest = X @ weight - y
    return dask.delayed(tuple)([(rest * rest).sum(), 2 * (X.T @ rest)])


def regression(client: Any, rows: int, chunks: int) -> tuple[Any, Any]:
    """Return a regression's data in the memory of the workers."""
    size = max(1, rows // chunks)
    random = da.random.default_rng(0)
    X = random.normal(size=(size * chunks, FEATURES), chunks=(size, FEATURES))
    y = X @ np.arange(FEATURES) + random.normal(size=size * chunks, chunks=size)
    X, y = client.persist([X, y])
    distributed.wait([X, y])
    return X, y


def turns(works: dict[str, Callable[[], Any]], rounds: int) -> dict[str, dict[str, float]]:
    """Return the seconds and the CPU seconds of this process, best and median, of works that take turns."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
    for name in works:
        works[name]()
    for _ in range(rounds):
        for name, work in works.items():
            wall, cpu = time.perf_counter(), time.process_time()
            work()
            found[name].append((time.perf_counter() - wall, time.process_time() - cpu))
    return {
        name: {
            "seconds": min(wall for wall, _ in times),
            "median": statistics.median(wall for wall, _ in times),
            "here": min(cpu for _, cpu in times),
        }
        for name, times in found.items()
    }


def cluster(workers: int = 2) -> Any:
    """Return a context with a client of a cluster on this machine."""
    stack = ExitStack()
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    made = stack.enter_context(distributed.LocalCluster(n_workers=workers, memory_limit="4GiB", **options))
    stack.client = stack.enter_context(distributed.Client(made))  # type: ignore[attr-defined]
    stack.client.run(lambda: __import__("tensorlike.dask"))  # type: ignore[attr-defined]
    return stack


def step(rows: int, chunks: int, rounds: int) -> Any:
    """A step beside the same on Dask by hand, in two ways."""
    with cluster() as stack:
        X, y = regression(stack.client, rows, chunks)
        weight = tl.zeros(FEATURES, dtype=tl.float64, requires_grad=True)
        plain = np.zeros(FEATURES)
        found = turns(
            {
                "value_and_grad": lambda: tl.dask.value_and_grad(squares, weight, X, y).compute(),
                "array expressions": lambda: expressions(plain, X, y).compute(),
                "one NumPy function": lambda: one_function(plain, X, y).compute(),
            },
            rounds,
        )
        _, ours = tl.dask.value_and_grad(squares, weight, X, y).compute()
        assert np.allclose(ours.numpy(), one_function(plain, X, y).compute()[1], rtol=1e-10)
    return {"rows": rows, "chunks": chunks, **found}


def chunk_overhead(counts: list[int], rounds: int) -> Any:
    """The cost of a chunk that has nearly nothing to compute."""
    rows = []
    for count in counts:
        with cluster() as stack:
            X, y = regression(stack.client, 10 * count, count)
            weight = tl.zeros(FEATURES, dtype=tl.float64, requires_grad=True)
            built: list[float] = []

            def ours(X: Any = X, y: Any = y, weight: Any = weight, built: Any = built) -> None:
                begin = time.perf_counter()
                lazy = tl.dask.value_and_grad(squares, weight, X, y)
                built.append(time.perf_counter() - begin)
                lazy.compute()

            by_hand = partial(lambda X, y: one_function(np.zeros(FEATURES), X, y).compute(), X, y)
            found = turns({"value_and_grad": ours, "one NumPy function": by_hand}, rounds if count < 5000 else 1)
            rows.append({"chunks": count, "graph": min(built), **found})
    return rows


class Large(tl.nn.Module):
    """A module of so many parameters, of which a chunk uses a few: its gradient is as large as it is."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = tl.nn.Parameter(tl.zeros(size))

    def forward(self, X: tl.Tensor) -> tl.Tensor:
        return (X @ self.weight[: X.shape[1]]).sum()


def parameters(megabytes: list[float], rounds: int) -> Any:
    """How parameters travel: once for a worker, or with each chunk, as with functions that refer to them."""
    rows = []
    for size in megabytes:
        with cluster() as stack:
            X = stack.client.persist(da.ones((64, 16), chunks=(2, 16), dtype="float32"))
            distributed.wait(X)
            values = np.zeros(int(size * 1e6 / 4), np.float32)
            works = {"once": partial(_parameters_once, values, X)}
            if size <= 10:
                works["each chunk"] = partial(_parameters_each, values, X)
            module = Large(int(size * 1e6 / 4))
            train = tl.dask.data_parallel(module, reduction="sum")

            def whole(train: Any = train, module: Any = module, X: Any = X, client: Any = stack.client) -> None:
                module.zero_grad()
                train(client, X)

            with dask.config.set({"distributed.admin.large-graph-warning-threshold": "100GB"}):
                rows.append({"megabytes": size, "chunks": 32, **turns({"step": whole, **works}, rounds)})
    return rows


def _parameters_once(values: Any, X: Any) -> Any:
    kept = dask.delayed(values)
    return dask.delayed(sum)([dask.delayed(_touched)(kept, x) for x in X.to_delayed()[:, 0]]).compute()


def _parameters_each(values: Any, X: Any) -> Any:
    return dask.delayed(sum)([dask.delayed(partial(_touched, values))(x) for x in X.to_delayed()[:, 0]]).compute()


def _touched(values: Any, x: Any) -> float:
    return float(values[: x.shape[1]].sum())


def trees(rounds: int) -> Any:
    """What the width of the tree changes, for gradients of a megabyte."""
    with cluster() as stack:
        X = stack.client.persist(da.ones((256, 16), chunks=(1, 16), dtype="float32"))
        distributed.wait(X)
        module = Large(250_000)
        loss = lambda module, X: module(X)
        works: dict[str, Callable[[], Any]] = {
            str(width): partial(
                lambda width: tl.dask.value_and_grad(loss, module, X, split_every=width).compute(), width
            )
            for width in (2, 4, 8, 16, 64, 256)
        }
        return {"chunks": 256, "megabytes": 1, **turns(works, rounds)}


def memory(chunk_megabytes: list[float]) -> Any:
    """The memory that a worker takes above what it has at rest, for chunks that are made as they are needed."""
    rows = []
    for size in chunk_megabytes:
        with cluster(1) as stack:
            per_chunk = int(size * 1e6 / FEATURES / 8)
            X = da.random.default_rng(0).normal(size=(per_chunk * 40, FEATURES), chunks=(per_chunk, FEATURES))
            weight = tl.zeros(FEATURES, dtype=tl.float64, requires_grad=True)
            loss = lambda weight, X: (X @ weight).square().sum()
            before = max(stack.client.run(resident).values())
            tl.dask.value_and_grad(loss, weight, X).compute()
            after = max(stack.client.run(peak).values())
            rows.append({"chunk": size, "data": size * 40, "at rest": before / 1e6, "above": (after - before) / 1e6})
    return rows


def resident() -> int:
    return _status("VmRSS")


def peak() -> int:
    return _status("VmHWM")


def _status(name: str) -> int:
    return int(Path("/proc/self/status").read_text().split(f"{name}:")[1].split()[0]) * 1024


def main() -> None:
    """Run the parts and print what they found."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dask_scale", description=__doc__)
    parser.add_argument("--only", choices=("step", "chunks", "parameters", "trees", "memory"), action="append")
    parser.add_argument("--rows", type=float, default=1e7, help="of the regression of `step`")
    parser.add_argument("--chunks", type=int, default=40, help="of the regression of `step`")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--save", metavar="FILE", help="write the figures here as JSON")
    options = parser.parse_args()
    parts: dict[str, Callable[[], Any]] = {
        "step": partial(step, int(options.rows), options.chunks, options.rounds),
        "chunks": partial(chunk_overhead, [10, 100, 1000, 10_000], options.rounds),
        "parameters": partial(parameters, [0.01, 1, 10, 100], min(options.rounds, 3)),
        "trees": partial(trees, min(options.rounds, 3)),
        "memory": partial(memory, [4, 16, 64]),
    }
    found = {}
    for name in options.only or parts:
        found[name] = parts[name]()
        print(name, json.dumps(found[name], indent=1), flush=True)
    if options.save:
        Path(options.save).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
