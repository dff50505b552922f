"""Large elementwise work cut over a few threads.

# Note [Threads]
NumPy computes an elementwise operation in one thread, and releases the interpreter's lock meanwhile. From `LARGE`
elements on, the work is cut into one part for each thread; below it, waking a thread (40 us) costs more than it gains.
On two cores a sum of two arrays of 10^6 elements takes 0.53 ms for 0.94, one of 10^7 elements 14.5 for 22. Products of
matrices are left to BLAS, which has threads of its own. Only one operation is cut at a time: where several Python
threads compute, they are the parts.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorlike.dispatch.forks import after_fork
from tensorlike.dispatch.registry import ignore

from .runtime import quiet

__all__ = ["LARGE", "get_num_threads", "in_parts", "set_num_threads", "spread"]

#: Elements from which on two threads are faster than one, measured with `add`.
LARGE = 1 << 19

_threads = 0
_pool: Any = None
#: Held while an operation is cut.
_busy = threading.Lock()


def _most() -> int:
    """Return the largest number of threads that is no mistake."""
    return max(1024, os.cpu_count() or 1)


def _available() -> int:
    wish = os.environ.get("OMP_NUM_THREADS", "")
    # Of a number with more digits than any count of threads has, Python may not even make an integer.
    if wish.isdecimal() and len(wish) < 10 and int(wish):
        return min(int(wish), _most())
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def get_num_threads() -> int:
    """Return how many threads large elementwise operations are cut over.

    At first as many as there are cores for this process, or as the environment variable OMP_NUM_THREADS says.

    >>> import tensorlike as tl
    >>> tl.get_num_threads() >= 1
    True

    Same as PyTorch's function of that name.
    """
    global _threads
    if not _threads:
        _threads = _available()
    return _threads


def set_num_threads(num: int) -> None:
    """Set how many threads large elementwise operations are cut over; 1 keeps to the thread of the caller.

    Products of matrices are BLAS's, which reads OMP_NUM_THREADS when NumPy is imported. Raises RuntimeError for what is
    no integer, for numbers below 1, and for more than 1024 threads or as many as there are cores, if these are more:
    every thread takes memory, and PyTorch, which has no such limit, may end in a segmentation fault. Raises ValueError
    for what is no 32-bit integer.

    >>> import tensorlike as tl
    >>> before = tl.get_num_threads()
    >>> tl.set_num_threads(1)
    >>> tl.get_num_threads()
    1
    >>> tl.set_num_threads(before)

    Same as PyTorch's function of that name.
    """
    global _threads, _pool
    if isinstance(num, bool) or not isinstance(num, int):
        raise RuntimeError(f"set_num_threads expects an int, but got {type(num).__name__} ({num!r})")
    if not -(2**31) <= num < 2**31:
        raise ValueError(f"set_num_threads: Overflow when unpacking long: {num} is no 32-bit integer")
    if num < 1:
        raise RuntimeError(f"set_num_threads expects a positive integer, but got {num}")
    if num > _most():
        raise RuntimeError(f"set_num_threads expects at most {_most()} threads, but got {num}")
    with _busy:
        if num != _threads and _pool is not None:
            _pool.shutdown(wait=False)
            _pool = None
        _threads = num


for _function in (get_num_threads, set_num_threads):
    ignore(_function, f"tensorlike.{_function.__name__}", "concerns the process; no tensor's type has a say")


def _forget() -> None:
    # A child process has none of its parent's threads, and perhaps a lock that one of them held.
    global _pool, _busy
    _pool, _busy = None, threading.Lock()


after_fork(_forget)


def _silently(work: Callable[[int, int], object], start: int, stop: int, claim: Any) -> None:
    # Where starting a thread failed, the part is in the queue all the same, and the caller has taken it back.
    if claim.acquire(blocking=False):
        with np.errstate(all="ignore"):
            work(start, stop)


def in_parts(work: Callable[[int, int], object], count: int, size: int) -> None:
    """Call `work(start, stop)` for parts of range(count), in several threads where the arrays have `size` elements.

    The parts must not touch each other's memory. Floating-point warnings are off. What one of them raises is raised
    when all have ended.
    """
    global _pool
    threads = min(get_num_threads(), count)
    if threads < 2 or size < LARGE or not _busy.acquire(blocking=False):
        work(0, count)
        return
    try:
        bounds = [count * i // threads for i in range(threads + 1)]
        parts: list[Any] = []
        claim: Any = None
        try:
            try:
                if _pool is None:
                    from concurrent.futures import ThreadPoolExecutor  # 8 ms

                    _pool = ThreadPoolExecutor(threads - 1, "tensorlike")
                for i in range(1, threads):
                    claim = threading.Lock()
                    parts.append(_pool.submit(_silently, work, *bounds[i : i + 2], claim))
            except (RuntimeError, ImportError):
                # No thread is started any more: the system has no more of them, or the main thread has ended and the
                # interpreter is about to. This thread does the rest, unless one that runs already has taken the part.
                if claim is not None and not claim.acquire(blocking=False):
                    raise
                work(bounds[len(parts) + 1], count)
            work(bounds[0], bounds[1])
        finally:
            passed = [part.exception() is None for part in parts]
        if not all(passed):
            parts.pop(passed.index(False)).result()  # Raises, held by no variable: Note [Errors in no cycle].
    finally:
        _busy.release()


def spread(kernel: Any, a: Any, b: Any = None, out: Any = None) -> Any:
    """Return the result of a ufunc for a large `a`, computed in parts; `b` may be a number, None for unary ones."""
    if type(a) is np.ndarray and a.flags.c_contiguous and get_num_threads() > 1:
        if type(b) is not np.ndarray:
            return _flat(kernel, a, () if b is None else (b,), out)
        if b.shape == a.shape and b.flags.c_contiguous:
            return _flat(kernel, a, (b,), out)
        if b.ndim < a.ndim and np.broadcast_shapes(a.shape, b.shape) == a.shape:
            return _by_rows(kernel, a, b, out)
    return quiet(kernel, *((a,) if b is None else (a, b)), *(() if out is None else (out,)))


def _result(kernel: Any, a: Any, others: Any) -> Any:
    """Return an array for the result: of the shape of `a`, of the dtype that the kernel gives."""
    few = [x.reshape(-1)[:1] if isinstance(x, np.ndarray) else x for x in (a, *others)]
    return np.empty(a.shape, kernel(*few).dtype)


def _flat(kernel: Any, a: Any, others: Any, out: Any) -> Any:
    result = quiet(_result, kernel, a, others) if out is None else out
    first, target = a.reshape(-1), result.reshape(-1)
    flat = [x.reshape(-1) if isinstance(x, np.ndarray) else x for x in others]

    def work(start: int, stop: int) -> None:
        part = [x[start:stop] if isinstance(x, np.ndarray) else x for x in flat]
        kernel(first[start:stop], *part, target[start:stop])

    quiet(in_parts, work, first.size, first.size)
    return result


def _by_rows(kernel: Any, a: Any, b: Any, out: Any) -> Any:
    """Do the same for a `b` that is broadcast over the first dimension of `a`."""
    result = quiet(_result, kernel, a, (b,)) if out is None else out

    def work(start: int, stop: int) -> None:
        kernel(a[start:stop], b, result[start:stop])

    quiet(in_parts, work, a.shape[0], a.size)
    return result
