"""`Timer`: the time of a statement."""

from __future__ import annotations

import enum
import textwrap
import timeit
from collections.abc import Callable
from typing import Any

import tensorlike
from tensorlike._above import above, explain_absent_names

from .common import Measurement, TaskSpec, set_torch_threads

explain_absent_names(__name__)

__all__ = ["Language", "Timer", "timer"]


def timer() -> float:
    """Return the seconds on the clock, after what runs on a GPU is done."""
    cuda = above("cuda")
    if cuda.is_available():
        cuda.synchronize()
    return timeit.default_timer()


class Language(enum.Enum):
    """The language of a statement: Python, the only one that is measured here."""

    PYTHON = 0
    CPP = 1


class Timer:
    """Measure a statement of Python, with `num_threads` threads, after it has run once.

    The statement finds the names of `globals`, and `torch`. The other options are texts for the measurement.

    >>> from tensorlike.utils.benchmark import Timer
    >>> measured = Timer("x + y", globals={"x": tl.ones(2), "y": tl.ones(2)}).timeit(10)
    >>> measured.number_per_run, 0 < measured.mean < 1
    (10, True)
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ) -> None:
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if language not in (Language.PYTHON, "py", "python"):
            if language in (Language.CPP, "cpp", "c++"):
                raise NotImplementedError("Timer(): statements of C++ are not measured here, only those of Python")
            raise ValueError(f"Invalid language `{language}`.")
        if global_setup:
            raise ValueError(
                f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply be moved to `setup`."
            )
        stmt, setup = (textwrap.dedent(text).strip("\n").rstrip() for text in (stmt, setup))
        self._globals = {"torch": tensorlike, **(globals or {})}
        self._timer = timeit.Timer(stmt, setup, timer=timer, globals=self._globals)
        self._task_spec = TaskSpec(stmt, setup, "", label, sub_label, description, env, num_threads)

    def _seconds(self, number: int) -> float:
        # The resolution of a clock is no zero.
        return max(self._timer.timeit(number), 1e-9)

    def timeit(self, number: int = 1000000) -> Measurement:
        """Return the measurement of one run of `number` repetitions."""
        with set_torch_threads(self._task_spec.num_threads):
            self._seconds(max(number // 100, 2))
            return Measurement(number, [self._seconds(number)], self._task_spec)

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        """Raise NotImplementedError, as PyTorch does: use `blocked_autorange`."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Callable[[int, float], Any] | None = None) -> None:
        """Raise NotImplementedError, as PyTorch does: use `blocked_autorange`."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def _block(self, min_run_time: float) -> int:
        """Return a number of repetitions whose time is a thousandth of the run, so that the clock is no part of it."""
        overhead = sorted(self._empty() for _ in range(5))[2]
        number = 1
        while True:
            spent = self._seconds(number)
            # Reading the clock takes less than a ten-thousandth.
            if (spent > min_run_time / 1000 and overhead / spent < 1e-4) or spent > min_run_time or number > 10**9:
                return number
            number *= 10

    def _empty(self) -> float:
        return self._timer.timeit(0)

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Return the measurement of as many runs as take `min_run_time` seconds together.

        Each run has as many repetitions as make reading the clock a negligible part of it. `callback(number, seconds)`
        is called after each.
        """
        with set_torch_threads(self._task_spec.num_threads):
            number = self._block(min_run_time)
            times: list[float] = []
            total = 0.0
            while total < min_run_time:
                times.append(self._seconds(number))
                total += times[-1]
                if callback is not None:
                    callback(number, times[-1])
            return Measurement(number, times, self._task_spec)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """Return the measurement of as many runs as make its spread less than `threshold` of the median.

        It takes between `min_run_time` and `max_run_time` seconds.
        """
        with set_torch_threads(self._task_spec.num_threads):
            number = self._block(min_run_time)
            times: list[float] = []
            total = 0.0
            while total < max_run_time:
                start = len(times)
                while total < max_run_time and (len(times) < start + 3 or sum(times[start:]) < min_run_time):
                    times.append(self._seconds(number))
                    total += times[-1]
                    if callback is not None:
                        callback(number, times[-1])
                found = Measurement(number, times, self._task_spec)
                if len(times) > 3 and found.meets_confidence(threshold):
                    break
            return Measurement(number, times, self._task_spec)
