"""Ten million elements: how close to NumPy's own pace."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import data, is_tensors, random, row

__all__: list[str] = []

_COUNT = 10_000_000


def _large(name: str, aim: float = 1.0) -> Any:
    return row(f"10^7 elements: {name}", numpy=1.03, torch=aim, tolerance=1e-3, threads=True)


def _libraries(kind: str) -> bool:
    return is_tensors(kind) or kind == "numpy"


@_large("add", 0.2)
def _(library: Any, kind: str) -> Any:
    if not _libraries(kind):
        return None
    a, b = data(library, kind, random(_COUNT)), data(library, kind, random(_COUNT, seed=1))
    return lambda: a + b


@_large("exp", 0.2)
def _(library: Any, kind: str) -> Any:
    if not _libraries(kind):
        return None
    a = data(library, kind, random(_COUNT))
    return lambda: library.exp(a)


@_large("sum")
def _(library: Any, kind: str) -> Any:
    if not _libraries(kind):
        return None
    a = data(library, kind, np.abs(random(_COUNT)))
    return lambda: a.sum()


@_large("softmax of rows", 0.4)
def _(library: Any, kind: str) -> Any:
    if not _libraries(kind):
        return None
    a = data(library, kind, random(_COUNT // 1000, 1000))
    if kind == "numpy":

        def softmax() -> Any:
            e = a - a.max(1, keepdims=True)
            np.exp(e, out=e)
            e /= e.sum(1, keepdims=True)
            return e

        return softmax
    return lambda: library.softmax(a, 1)


@_large("add with broadcasting", 0.2)
def _(library: Any, kind: str) -> Any:
    if not _libraries(kind):
        return None
    a, b = data(library, kind, random(_COUNT // 1000, 1000)), data(library, kind, random(1000, seed=1))
    return lambda: a + b


@_large("fancy index")
def _(library: Any, kind: str) -> Any:
    if not _libraries(kind):
        return None
    a = data(library, kind, random(_COUNT))
    index = np.random.default_rng(1).integers(0, _COUNT, 1_000_000)
    places = library.from_numpy(index) if is_tensors(kind) else index
    return lambda: a[places]
