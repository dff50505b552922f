"""Where the interpreter's floor lies: what the steps of a call cost when nothing else is done.

`python -m benchmarks.floor` prints the time of functions that do more and more of what a plain call of `add` does, of
`add` itself, recording and not, and of PyTorch's where it is installed. The last step is what pure Python cannot go
below; what a compiled accelerator would gain is what lies above NumPy's own call.
"""

from __future__ import annotations

import contextvars
import importlib
import timeit
from typing import Any

import numpy as np

import tensorlike as tl

__all__: list[str] = []


class _Holder:
    _data: Any
    _tracked = False


class _Node:
    __slots__ = ("dtype", "edges", "number", "saved", "shape")


_HOLDERS = {_Holder}
_new = object.__new__
_quiet = contextvars.copy_context().run
_MISSING = object()


def _called(input: Any = _MISSING, other: Any = _MISSING, /, **keywords: Any) -> Any:
    return None


def _tested(input: Any = _MISSING, other: Any = _MISSING, /, **keywords: Any) -> Any:
    if type(input) in _HOLDERS and not keywords and type(other) in _HOLDERS:
        return input._tl_data, other._tl_data
    return None


def _computed(input: Any = _MISSING, other: Any = _MISSING, /, **keywords: Any) -> Any:
    if type(input) in _HOLDERS and not keywords and type(other) in _HOLDERS:
        return np.add(input._tl_data, other._tl_data)
    return None


def _silenced(input: Any = _MISSING, other: Any = _MISSING, /, **keywords: Any) -> Any:
    if type(input) in _HOLDERS and not keywords and type(other) in _HOLDERS:
        return _quiet(np.add, input._tl_data, other._tl_data)
    return None


def _wrapped(input: Any = _MISSING, other: Any = _MISSING, /, **keywords: Any) -> Any:
    if type(input) in _HOLDERS and not keywords and type(other) in _HOLDERS:
        result = _new(_Holder)
        result._tl_data = _quiet(np.add, input._tl_data, other._tl_data)
        return result
    return None


def _recorded(input: Any = _MISSING, other: Any = _MISSING, /, **keywords: Any) -> Any:
    if type(input) in _HOLDERS and not keywords and type(other) in _HOLDERS:
        result = _new(_Holder)
        array = result._tl_data = _quiet(np.add, input._tl_data, other._tl_data)
        node = _new(_Node)
        node.edges = (None, None)
        node.number = 1
        node.shape = array.shape
        node.dtype = array.dtype
        node.saved = (input._tl_data, None, 0)
        result._tl_edge = (node, 0)  # type: ignore[attr-defined]
        result._tl_tracked = True
        return result
    return None


def main() -> None:
    """Print the table."""
    one, two = _Holder(), _Holder()
    one._tl_data = two._tl_data = np.arange(4, dtype=np.float32)
    array = one._tl_data
    a, b, leaf = tl.arange(4.0), tl.arange(4.0), tl.arange(4.0).requires_grad_()
    works: dict[str, Any] = {
        "numpy.add": lambda: np.add(array, array),
        "a Python function that takes two operands and keywords": lambda: _called(one, two),
        "+ tests of their types, reads of their arrays": lambda: _tested(one, two),
        "+ numpy.add": lambda: _computed(one, two),
        "+ without floating-point warnings": lambda: _silenced(one, two),
        "+ a new object that holds the result: the floor of add": lambda: _wrapped(one, two),
        "tensorlike.add": lambda: tl.add(a, b),
        "the floor, and a node with five fields: the floor of recording": lambda: _recorded(one, two),
        "tensorlike.mul, recorded": lambda: tl.mul(leaf, b),
    }
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        pass
    else:
        torch.set_num_threads(1)
        x, y, parameter = torch.arange(4.0), torch.arange(4.0), torch.arange(4.0).requires_grad_()
        works["torch.add"] = lambda: torch.add(x, y)
        works["torch.mul, recorded"] = lambda: torch.mul(parameter, y)
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(15):
        for name, work in works.items():
            times[name].append(timeit.timeit(work, number=20_000) / 20_000)
    for name, found in times.items():
        print(f"{name:64} {min(found) * 1e9:8.0f} ns")


if __name__ == "__main__":
    main()
