"""The memory of results, on the CPU.

With the native core, memory that results leave is kept for the next results of their size, up to a limit: see Note
[Memory of results] in `tensorlike/_native/allocator.c` and docs/performance.md. Two environment variables are read when
the library is imported: `TENSORLIKE_ALLOCATOR=system` leaves the memory of results to NumPy, and
`TENSORLIKE_MEMORY_CACHE_LIMIT` sets the limit, as a number of bytes or with one of the letters K, M and G after it.
"""

from __future__ import annotations

import contextvars
import os
import warnings
from collections.abc import Callable

import numpy as np
from numpy._core import multiarray

from tensorlike._native import core
from tensorlike.dispatch.registry import ignore

#: The default limit: this part of the machine's memory, and at most so many bytes.
_PART, _MOST = 16, 1 << 30
#: The machine's memory where the system does not tell.
_USUAL = 4 << 30
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
#: Where Linux writes the memory that a container may use.
_CONTAINER_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")

_COUNTERS = (
    "allocated_bytes", "allocated_blocks", "peak_allocated_bytes", "cached_bytes", "cached_blocks", "cache_limit",
    "hits", "misses", "released_blocks", "retries",
)  # fmt: skip
_on = False


def empty_cache() -> None:
    """Give the memory that is kept for new results back to the system.

    Tensors keep theirs. `cuda.empty_cache` is the same for GPUs.

    >>> tl.empty_cache()
    >>> tl.memory_stats()["cached_bytes"]
    0
    """
    if _on:
        core.empty_cache()


def memory_stats() -> dict[str, int]:
    """Return counters of the memory of results on the CPU, of blocks above 64 KiB: smaller ones are not kept.

    `allocated_bytes` and `allocated_blocks` are in arrays now, `peak_allocated_bytes` were at most. `cached_bytes` and
    `cached_blocks` are kept for new results, up to `cache_limit` bytes. `hits` results were given kept memory, `misses`
    memory from the system; `released_blocks` went back to it, and `retries` times it had none and the kept memory was
    given back. Sizes are those of blocks, which may be an eighth larger than arrays. All are 0 without the native core
    and under `TENSORLIKE_ALLOCATOR=system`, where nothing is kept and NumPy's memory is not counted.

    >>> sorted(tl.memory_stats())[:3]
    ['allocated_blocks', 'allocated_bytes', 'cache_limit']
    """
    if _on:
        stats: dict[str, int] = core.memory_stats()
        return stats
    return dict.fromkeys(_COUNTERS, 0)


def set_memory_cache_limit(limit: int) -> None:
    """Set how many bytes of memory may be kept for new results; 0 keeps none, and what is above is given back.

    By default they are a sixteenth of the machine's memory (or of what a container may use), 1 GiB at most, unless the
    environment variable `TENSORLIKE_MEMORY_CACHE_LIMIT` says otherwise. Nothing is ever kept without the native core
    and under `TENSORLIKE_ALLOCATOR=system`. Raises TypeError for other values than integers, ValueError for negative
    ones.

    >>> before = tl.memory_stats()["cache_limit"]
    >>> tl.set_memory_cache_limit(0)
    >>> tl.memory_stats()["cached_bytes"]
    0
    >>> tl.set_memory_cache_limit(before)
    """
    if isinstance(limit, bool) or not isinstance(limit, int):
        raise TypeError(f"set_memory_cache_limit(): argument 'limit' must be int, not {type(limit).__name__}")
    if limit < 0:
        raise ValueError(f"set_memory_cache_limit(): 'limit' must not be negative, got {limit}; 0 keeps no memory")
    if _on:
        core.set_memory_cache_limit(min(limit, _largest()))


for _function in (empty_cache, memory_stats, set_memory_cache_limit):
    ignore(_function, f"tensorlike.{_function.__name__}", "concerns the process; no tensor's type has a say")


def keep_memory(context: contextvars.Context) -> None:
    """Have arrays that are made in `context` come from kept memory, if there is the core and nothing forbids it."""
    global _on
    wish = os.environ.get("TENSORLIKE_ALLOCATOR", "")
    if wish not in ("", "caching", "system"):
        warnings.warn(
            f"TENSORLIKE_ALLOCATOR={wish!r} is unknown and ignored; it may be 'caching' (the default) or 'system'",
            RuntimeWarning,
            stacklevel=2,
        )
    if core is None or wish == "system":
        return
    core.set_huge_pages(_numpy_wants_huge_pages())
    core.set_memory_cache_limit(min(_wished_limit(), _largest()))
    context.run(core.set_data_allocator)
    _on = True


def _largest() -> int:
    return (1 << 62) if np.dtype(np.intp).itemsize == 8 else (1 << 31) - 1


def _numpy_wants_huge_pages() -> bool:
    # NumPy's own setting, which it has from the version of the kernel and NUMPY_MADVISE_HUGEPAGE.
    getter: Callable[[], bool] | None = getattr(multiarray, "_get_madvise_hugepage", None)
    return getter is None or bool(getter())


def _wished_limit() -> int:
    wish = os.environ.get("TENSORLIKE_MEMORY_CACHE_LIMIT", "").strip().upper()
    unit = wish[-1:] if wish[-1:] in _UNITS else ""
    number = wish.removesuffix(unit)
    # Python may refuse to convert a string of very many digits to an integer.
    if number.isdecimal() and len(number) < 20:
        return int(number) * _UNITS[unit]
    if wish:
        warnings.warn(
            f"TENSORLIKE_MEMORY_CACHE_LIMIT={wish!r} is no number of bytes and ignored; write, for instance, 256M",
            RuntimeWarning,
            stacklevel=3,
        )
    return default_limit()


def default_limit() -> int:
    """Return how many bytes are kept unless something else is set."""
    return min(_machine_memory() // _PART, _MOST)


def _machine_memory() -> int:
    try:
        found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    except (AttributeError, ValueError, OSError):
        found = [_USUAL]
    for name in _CONTAINER_LIMITS:
        try:
            with open(name, encoding="ascii") as file:
                written = file.read().strip()
        except (OSError, ValueError):
            continue
        if written.isdecimal():
            found.append(int(written))
    return min(size for size in found if size > 0)
