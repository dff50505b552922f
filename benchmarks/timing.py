"""Timing works that take turns, so that a slow moment of the machine meets all of them.

A machine changes its pace between rounds more than within one. So the time shown is that of the best round, and a ratio
is the median of the rounds' own ratios.
"""

from __future__ import annotations

import gc
import statistics
import timeit
from collections.abc import Callable, Mapping
from typing import NamedTuple

__all__ = ["Measured", "Ratio", "measure", "ratio"]


class Measured(NamedTuple):
    """What one library took in each round, in seconds or in bytes."""

    rounds: tuple[float, ...]

    @property
    def best(self) -> float:
        """The least of the rounds."""
        return min(self.rounds)


class Ratio(NamedTuple):
    """The median of the ratios of two libraries' rounds, and how far half of them lie from it, relatively."""

    value: float
    noise: float


def ratio(one: Measured, other: Measured) -> Ratio:
    """Return how much more `one` took than `other`."""
    found = [a / b for a, b in zip(one.rounds, other.rounds, strict=True)]
    median = statistics.median(found)
    return Ratio(median, statistics.median(abs(r - median) for r in found) / median)


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
    return {name: Measured(tuple(found)) for name, found in times.items()}
