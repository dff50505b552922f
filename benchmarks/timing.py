"""Timing works that take turns, so that a slow moment of the machine meets all of them."""

from __future__ import annotations

import gc
import statistics
import timeit
from collections.abc import Callable, Mapping
from typing import NamedTuple

__all__ = ["Measured", "measure"]


class Measured(NamedTuple):
    """The best time of a call in seconds, and how far the median of the rounds lies above it, relatively."""

    seconds: float
    spread: float


def _calls(work: Callable[[], object], budget: float) -> int:
    """Return how many calls fill `budget` seconds."""
    once = timeit.timeit(work, number=1)
    number = 1
    while once < budget / 10 and number < 1_000_000:
        number *= 10
        once = timeit.timeit(work, number=number)
    return max(1, int(number * budget / max(once, 1e-9)))


def measure(works: Mapping[str, Callable[[], object]], rounds: int, budget: float) -> dict[str, Measured]:
    """Return what each work takes. They take turns, `budget` seconds each and round."""
    counts = {name: _calls(work, budget) for name, work in works.items()}
    times: dict[str, list[float]] = {name: [] for name in works}
    gc.collect()
    for _ in range(rounds):
        for name, work in works.items():
            times[name].append(timeit.timeit(work, number=counts[name]) / counts[name])
    return {n: Measured(min(t), statistics.median(t) / min(t) - 1) for n, t in times.items()}
