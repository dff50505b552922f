"""The order in which `einsum` multiplies more than two operands, and the switches of it: `tl.backends.opt_einsum`.

The package opt_einsum chooses the order where it is installed and not switched off, as in PyTorch; else NumPy does.
It takes as long to import as NumPy does, and so is imported by the first product that asks it, or by who reads the
switches.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

# What was set; a switch that was not has the value that PyTorch gives it when it is imported.
_set: dict[str, Any] = {}


@functools.cache
def opt_einsum_package() -> Any:
    """Return the package opt_einsum, or None where it cannot be imported."""
    try:
        return importlib.import_module("opt_einsum")
    except ImportError:
        return None


def read_switch(name: str) -> Any:
    """Return the switch `enabled` or `strategy`."""
    if name in _set:
        return _set[name]
    available = opt_einsum_package() is not None
    return available if name == "enabled" else "auto" if available else None


def write_switch(name: str, value: Any) -> None:
    _set[name] = value


def in_force() -> str | None:
    """Return the strategy by which opt_einsum chooses the order; None when NumPy chooses it."""
    if not read_switch("enabled") or opt_einsum_package() is None:
        return None
    strategy: str | None = read_switch("strategy")
    return strategy


def contraction_path(
    shapes: Sequence[tuple[int, ...]], inputs: Sequence[tuple[int, ...]], output: Sequence[int], strategy: str | None
) -> list[tuple[int, ...]]:
    """Return the positions of the operands of each step, of those that are left then; a result is put at the end."""
    names = sorted({x for labels in inputs for x in labels})
    if len(shapes) <= 2:
        return [(0, 1)] * (len(shapes) - 1)
    path: Any
    if strategy is not None:
        package = opt_einsum_package()
        letters = {x: package.get_symbol(i) for i, x in enumerate(names)}
        terms = ["".join([letters[x] for x in labels]) for labels in (*inputs, output)]
        equation = ",".join(terms[:-1]) + "->" + terms[-1]
        path = package.contract_path(equation, *shapes, shapes=True, optimize=strategy)[0]
    elif len(names) > 52:  # NumPy has no more letters
        return [(0, 1)] * (len(shapes) - 1)
    else:
        arguments: list[Any] = []
        for shape, labels in zip(shapes, inputs):
            arguments += [np.broadcast_to(np.empty(()), shape), [names.index(x) for x in labels]]
        path = np.einsum_path(*arguments, [names.index(x) for x in output], optimize="greedy")[0][1:]
    return [tuple(sorted(step)) for step in path]
