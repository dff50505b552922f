"""What reference counting alone does not free, looked for with the cyclic collector off."""

from __future__ import annotations

import contextlib
import gc
import importlib
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from types import FrameType, FunctionType, TracebackType
from typing import Any


class Watched:
    """Weak references to what must be gone."""

    def __init__(self) -> None:
        self._references: list[Any] = []

    def __call__(self, value: Any) -> Any:
        """Watch `value` and return it."""
        self._references.append(weakref.ref(value))
        return value

    def __len__(self) -> int:
        return len(self._references)

    def alive(self) -> list[str]:
        """Return the types of what lives on."""
        found = [reference() for reference in self._references]
        return sorted(type(value).__name__ for value in found if value is not None)


@contextlib.contextmanager
def quick_collections(*modules: str) -> Iterator[None]:
    """Undo, in the end, what `collector_off` does: to keep what exists already out of collections.

    One takes 20 us then, and 100 ms without.

    `modules` are imported before: what Python runs to import some of them leaves cycles behind.
    """
    for module in modules:
        importlib.import_module(module)
    try:
        yield
    finally:
        gc.unfreeze()


@contextlib.contextmanager
def collector_off() -> Iterator[None]:
    """Keep the cyclic collector off, after a last collection."""
    before = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def unreachable() -> int:
    """Return how many objects the reference cycles made since the last call keep, and free them."""
    return gc.collect()


def described(call: Callable[[], Any]) -> str:
    """Return what the reference cycles that `call` leaves consist of: how many of which types, and where frames are."""
    gc.collect()
    garbage: list[Any] = gc.garbage
    garbage.clear()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        call()
        gc.collect()
        counts = Counter(type(value).__name__ for value in garbage)
        places = sorted({_place(value) for value in garbage if isinstance(value, (FrameType, FunctionType))})
        last = [_place(value.tb_frame, value.tb_lineno) for value in garbage if _is_last(value)]
        return f"{dict(counts.most_common(12))}; raised at {last}; frames and functions {places}"
    finally:
        gc.set_debug(0)
        garbage.clear()
        gc.collect()


def _is_last(value: Any) -> bool:
    return isinstance(value, TracebackType) and value.tb_next is None


def _place(value: Any, line: int | None = None) -> str:
    code = value.f_code if isinstance(value, FrameType) else value.__code__
    return f"{code.co_filename.rpartition('/')[2]}:{line or code.co_firstlineno} {code.co_qualname}"
