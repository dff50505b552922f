"""Looks for what calls of an extension leave behind: objects of Python, references to common ones, memory of C++.

`python -m tests.cpp.leaks NAME...` looks at extensions of `sources/`, and prints what it finds.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import sys
from typing import Any

from . import features

#: How often calls are made, all of them at first, and those of an extension that leaves something behind one by one. A
#: leak of one thing per call shows as this many; what the interpreter keeps of its own accord is some twenty blocks.
ROUNDS_OF_ALL, ROUNDS = 30, 100


class _Allocated(ctypes.Structure):
    """What glibc's `mallinfo2` returns."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks",
                     "keepcost")
    ]  # fmt: skip


def _blocks_of_cpp() -> int:
    """Return how many bytes the allocator of C has handed out; 0 where it does not tell."""
    try:
        ask = ctypes.CDLL(None).mallinfo2
    except (OSError, AttributeError):
        return 0
    ask.restype = _Allocated
    found = ask()
    return int(found.uordblks + found.hblkhd)


def _counts(common: list[Any]) -> dict[str, int]:
    gc.collect()
    counts = {
        "objects": len(gc.get_objects()),
        "blocks of Python": sys.getallocatedblocks(),
        "bytes of C++": _blocks_of_cpp(),
    }
    return counts | {f"references to {one!r}": sys.getrefcount(one) for one in common}


def _growth(calls: Any, lib: Any, rounds: int = ROUNDS) -> dict[str, int]:
    """Return what there is more of for each time that all the calls were made."""
    common = [None, True, False, lib.float32, lib.float64, lib.Tensor, lib.strided, ()]
    before = _counts(common)
    for _ in range(rounds):
        for call in calls:
            features.outcome(call, lib)
    after = _counts(common)
    return {k: after[k] - before[k] for k in before if after[k] - before[k] >= rounds - 1}


def left_behind(name: str, module: Any, lib: Any) -> list[str]:
    """Return a line for each call that leaves something behind each time it is called."""
    calls = features.CALLS[name](module, lib)
    found = []
    _growth(calls.values(), lib, 2)
    # What fills up once does not grow again.
    if _growth(calls.values(), lib, ROUNDS_OF_ALL).keys() & _growth(calls.values(), lib, ROUNDS_OF_ALL).keys():
        for key, call in calls.items():
            growth = _growth([call], lib)
            for _ in range(8):  # A table that grows now and then is no leak.
                growth = growth and {k: min(n, growth[k]) for k, n in _growth([call], lib).items() if k in growth}
            if growth:
                found.append(f"{key}: {growth}")
    return found


if __name__ == "__main__":
    from .building import extension

    library = importlib.import_module("tensorlike")
    for one in sys.argv[1:]:
        for line in left_behind(one, extension(one), library):
            print(f"{one}: {line}")
