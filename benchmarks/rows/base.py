"""How a row is written: the same work in every library that has it, and its result, compared before anything is timed.

A row is a function `make(library, kind)` that returns a callable to time, or None where the library has no such thing.
`kind` is "tensorlike", "torch", "numpy", "autograd" or "mygrad".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

__all__ = ["FOUR", "ROWS", "Row", "data", "is_tensors", "random", "row"]

Make = Callable[[Any, str], Callable[[], Any] | None]


class Row(NamedTuple):
    """One line of the table: what it is called, how it is made, and the ratios it is held to."""

    name: str
    make: Make
    #: The aim as a ratio to torch, and as a ratio to NumPy.
    torch: float | None = None
    numpy: float | None = None
    #: Rows of one group are judged by the geometric mean of their ratios.
    group: str = ""
    #: How far results may be apart, relatively.
    tolerance: float = 1e-4
    #: Whether the libraries may use the threads they use by default; one each otherwise.
    threads: bool = False


ROWS: list[Row] = []

FOUR = np.array([1.0, 2.0, 3.0, 4.0], dtype=np.float32)


def row(name: str, *, torch: float | None = None, numpy: float | None = None, group: str = "", **options: Any) -> Any:
    """Add a row."""

    def add(make: Make) -> Make:
        ROWS.append(Row(name, make, torch, numpy, group, **options))
        return make

    return add


def is_tensors(kind: str) -> bool:
    """Return whether a library has PyTorch's names."""
    return kind in ("tensorlike", "torch")


def data(library: Any, kind: str, values: Any, requires_grad: bool = False) -> Any:
    """Return values as the library's arrays of float32."""
    array = np.asarray(values, dtype=np.float32)
    if not is_tensors(kind):
        return array.copy()
    tensor = library.from_numpy(array.copy())
    return tensor.requires_grad_() if requires_grad else tensor


def random(*shape: int, seed: int = 0, scale: float = 1.0) -> Any:
    """Return normally distributed numbers."""
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float32)
