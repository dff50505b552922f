"""Measurements, and the texts that show them."""

from __future__ import annotations

import contextlib
import dataclasses
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from tensorlike._above import explain_absent_names
from tensorlike.tensor.declarations.threads import get_num_threads, set_num_threads

explain_absent_names(__name__)

__all__ = [
    "Measurement",
    "TaskSpec",
    "ordered_unique",
    "select_unit",
    "set_torch_threads",
    "trim_sigfig",
    "unit_to_english",
]

_UNITS = {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}
#: A spread above these shares of the median says that something else ran.
_SUSPECT, _NOISY = 0.1, 0.25


@dataclasses.dataclass(init=True, repr=False, eq=True, frozen=True)
class TaskSpec:
    """A description of the measurement: the statement and its surroundings, and the texts by which tables sort it."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement."""
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        if "\n" not in self.stmt:
            return self.stmt + (f": {self.sub_label}" if self.sub_label else "")
        return f"stmt:{f' ({self.sub_label})' if self.sub_label else ''}\n{textwrap.indent(self.stmt, '  ')}"

    def setup_str(self) -> str:
        """Return the text about the setup."""
        if self.setup == "pass" or not self.setup:
            return ""
        return f"setup:\n{textwrap.indent(self.setup, '  ')}" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self) -> str:
        """Return the title, the description and the setup, in lines."""
        parts = [self.title, self.description or "", self.setup_str()]
        return "\n".join(f"{part}\n" if "\n" in part else part for part in parts if part)


@dataclasses.dataclass(init=True, repr=False)
class Measurement:
    """The times of several runs of a statement, each of `number_per_run` repetitions.

    >>> from tensorlike.utils.benchmark import Measurement, TaskSpec
    >>> found = Measurement(10, [1e-5, 2e-5, 3e-5], TaskSpec("x + y", "pass"))
    >>> round(found.median * 1e6, 3), found.number_per_run
    (2.0, 10)
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        # What the task says: `label`, `stmt`, ...
        if name.startswith("__") or name == "task_spec" or not hasattr(TaskSpec, "__dataclass_fields__"):
            raise AttributeError(name)
        return getattr(self.task_spec, name)

    @property
    def times(self) -> list[float]:
        """The seconds of one repetition, of each run."""
        return [time / self.number_per_run for time in self.raw_times]

    def _checked(self) -> Any:
        if not self.raw_times:
            raise ValueError("No data to summarize.")
        return np.asarray(self.times)

    @property
    def mean(self) -> float:
        """The mean of the times."""
        return float(self._checked().mean())

    @property
    def median(self) -> float:
        """The median of the times."""
        return float(np.median(self._checked()))

    @property
    def _quartiles(self) -> tuple[float, float]:
        lower, upper = np.percentile(self._checked(), (25, 75))
        return float(lower), float(upper)

    @property
    def iqr(self) -> float:
        """The distance between the quartiles of the times."""
        lower, upper = self._quartiles
        return upper - lower

    @property
    def significant_figures(self) -> int:
        """The number of digits that the spread of the times, of which noise is only a part, lets one trust."""
        ordered = np.sort(self._checked())
        middle = ordered[len(ordered) // 4 : -(-3 * len(ordered) // 4)]
        # 1.645 standard errors to each side hold nine tenths of the means; a clock reads no less than 25 ns.
        interval = max(1.645 * float(middle.std()) / len(middle) ** 0.5, 25e-9)
        return int(np.clip(np.floor(np.log10(self.median / interval)), 1, 4))

    @property
    def has_warnings(self) -> bool:
        """Whether the spread of the times is too large for a good measurement."""
        return bool(self.iqr / self.median > _SUSPECT)

    @property
    def title(self) -> str:
        """The label of the task, or its statement."""
        return self.task_spec.title

    @property
    def env(self) -> str | None:
        """The environment of the task."""
        return self.task_spec.env

    @property
    def as_row_name(self) -> str:
        """The name of the row in a table."""
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    def meets_confidence(self, threshold: float = _SUSPECT) -> bool:
        """Return whether the spread of the times is below this share of the median."""
        return self.iqr / self.median < threshold

    def __repr__(self) -> str:
        lines = [super().__repr__(), self.task_spec.summarize()]
        unit, scale = select_unit(self.median)
        count, threads = len(self.raw_times), self.task_spec.num_threads
        if count == 1:
            lines.append(f"  {self.median / scale:.2f} {unit}")
        else:
            lower, upper = self._quartiles
            lines.append(f"  Median: {self.median / scale:.2f} {unit}")
            if count >= 4:
                lines.append(
                    f"  IQR:    {self.iqr / scale:.2f} {unit} ({lower / scale:.2f} to "
                    f"{upper / scale:.2f})"
                )
        runs = f"{count} measurement{'s' if count > 1 else ''}, {self.number_per_run} runs "
        lines.append(
            f"  {runs}{'per measurement' if count > 1 else ''}, {threads} thread{'s' if threads > 1 else ''}"
        )
        if count > 1 and self.has_warnings:
            share = 100 * self.iqr / self.median
            cause = (
                "This suggests significant environmental influence." if share > 100 * _NOISY
                else "This could indicate system fluctuation."
            )  # fmt: skip
            lines.append(f"  WARNING: Interquartile range is {share:.1f}% of the median measurement.")
            lines.append(f"           {cause}")
        return "\n".join(lines)

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Return one measurement for each task, with the times of all its measurements."""
        groups: dict[TaskSpec, list[Measurement]] = {}
        for item in measurements:
            groups.setdefault(item.task_spec, []).append(item)
        return [
            Measurement(1, [time for item in group for time in item.times], task) for task, group in groups.items()
        ]


def select_unit(t: float) -> tuple[str, float]:
    """Return the unit for a time in seconds, and its length.

    >>> from tensorlike.utils.benchmark import select_unit
    >>> select_unit(3e-5)
    ('us', 1e-06)
    """
    exponent = int(np.clip(np.floor(np.log10(t) / 3), -3, 0))
    return list(_UNITS)[3 + exponent], {-3: 1e-9, -2: 1e-6, -1: 1e-3, 0: 1}[exponent]


def unit_to_english(u: str) -> str:
    """Return the name of a unit, such as "microsecond" for "us"."""
    return _UNITS[u]


def trim_sigfig(x: float, n: int) -> float:
    """Return a number rounded to `n` significant digits."""
    magnitude = int(np.ceil(np.log10(np.abs(x))))
    scale = 10 ** (magnitude - n)
    return float(np.round(x / scale) * scale)


def ordered_unique(elements: Iterable[Any]) -> list[Any]:
    """Return the elements, each once, in the order in which they come first."""
    return list(dict.fromkeys(elements))


@contextlib.contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """Set the number of threads for a block: see `set_num_threads`."""
    before = get_num_threads()
    try:
        set_num_threads(n)
        yield
    finally:
        set_num_threads(before)
