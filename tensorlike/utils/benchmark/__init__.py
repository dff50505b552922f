"""Measure how long statements take, and compare the measurements in a table.

Source: PyTorch's `torch.utils.benchmark`. Statements are Python's, measured by its `timeit`.
"""

from __future__ import annotations

from tensorlike._above import explain_absent_names

from .utils.common import (
    Measurement,
    TaskSpec,
    ordered_unique,
    select_unit,
    set_torch_threads,
    trim_sigfig,
    unit_to_english,
)
from .utils.compare import Colorize, Compare
from .utils.timer import Language, Timer, timer

explain_absent_names(__name__)

__all__ = [
    "Colorize",
    "Compare",
    "Language",
    "Measurement",
    "TaskSpec",
    "Timer",
    "ordered_unique",
    "select_unit",
    "set_torch_threads",
    "timer",
    "trim_sigfig",
    "unit_to_english",
]
