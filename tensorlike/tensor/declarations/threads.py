"""Splitting large elementwise operations over threads.

# Note [Threads]
NumPy computes an elementwise operation in one thread, and releases the interpreter's lock meanwhile. From `LARGE`
elements on, the work is split into one part for each thread; below it, waking a thread (40 us) costs more than it
gains. On two cores a sum of two arrays of 10^6 elements takes 0.53 ms for 0.94, one of 10^7 elements 14.5 for 22.
Products of matrices are left to BLAS, which has threads of its own. Only one operation is split at a time: several
Python threads are parallel by themselves.

# Note [Helpers]
The helping threads wait at a queue of parts. The first thread to claim a part runs it, a helper or the caller, which
takes the remaining parts after its own: if no thread can be started, the caller does everything. Queue, claims and
threads are Python's primitives in C, for an interrupt in the middle of concurrent.futures leaves its locks held.
"""

from __future__ import annotations

import _thread
import itertools
import os
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import numpy as np

from tensorlike.dispatch.forks import after_fork
from tensorlike.dispatch.registry import ignore

from ..types import Array
from .runtime import quiet

#: Elements from which on two threads are faster than one, measured with `add`.
LARGE = 1 << 19

_threads = 0
#: The parts that helpers are to run; None ends one of them.
_parts: SimpleQueue[_Part | None] = SimpleQueue()
_helpers = 0
#: Holds under "cut" the claim of the operation that is split at present.
_claims: dict[str, object] = {}


def _most() -> int:
    """Return the largest number of threads that is accepted."""
    return max(1024, os.cpu_count() or 1)


def _available() -> int:
    wish = os.environ.get("OMP_NUM_THREADS", "")
    # Python may refuse to convert a string of very many digits to an integer.
    if wish.isdecimal() and len(wish) < 10 and int(wish):
        return min(int(wish), _most())
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def get_num_threads() -> int:
    """Return the number of threads for large elementwise operations.

    Initially the number of cores for this process, or the environment variable OMP_NUM_THREADS.

    >>> tl.get_num_threads() >= 1
    True
    """
    global _threads
    if not _threads:
        _threads = _available()
    return _threads


def set_num_threads(num: int) -> None:
    """Set the number of threads for large elementwise operations; 1 uses only the caller's thread.

    Products of matrices are BLAS's, which reads OMP_NUM_THREADS when NumPy is imported. Raises RuntimeError for values
    other than integers, for numbers below 1, and for more than 1024 threads or as many as there are cores, if these are
    more: every thread takes memory, and PyTorch, which has no such limit, may end in a segmentation fault. Raises
    ValueError for integers of more than 32 bits.

    >>> before = tl.get_num_threads()
    >>> tl.set_num_threads(1)
    >>> tl.get_num_threads()
    1
    >>> tl.set_num_threads(before)
    """
    global _threads
    if isinstance(num, bool) or not isinstance(num, int):
        raise RuntimeError(f"set_num_threads expects an int, but got {type(num).__name__} ({num!r})")
    if not -(2**31) <= num < 2**31:
        raise ValueError(f"set_num_threads: Overflow when unpacking long: {num} is no 32-bit integer")
    if num < 1:
        raise RuntimeError(f"set_num_threads expects a positive integer, but got {num}")
    if num > _most():
        raise RuntimeError(f"set_num_threads expects at most {_most()} threads, but got {num}")
    _threads = num


for _function in (get_num_threads, set_num_threads):
    ignore(_function, f"tensorlike.{_function.__name__}", "concerns the process; no tensor's type has a say")


def _forget() -> None:
    # A child process has none of its parent's threads.
    global _parts, _helpers
    _parts, _helpers = SimpleQueue(), 0
    _claims.clear()


after_fork(_forget)


def _nothing(start: int, stop: int) -> None:
    """Do nothing: replaces the work of a part that has run."""


class _Part:
    """One part of an operation: run once, by the thread that claims it."""

    __slots__ = ("bounds", "claim", "done", "error", "work")

    def __init__(self, work: Callable[[int, int], object], start: int, stop: int) -> None:
        self.work, self.bounds = work, (start, stop)
        self.error: BaseException | None = None
        self.claim, self.done = _thread.allocate_lock(), _thread.allocate_lock()
        self.done.acquire()

    def run(self) -> None:
        """Run the part unless it is claimed; keep its error for `finish`."""
        if not self.claim.acquire(False):
            return
        try:
            with np.errstate(all="ignore"):
                self.work(*self.bounds)
        except BaseException as error:
            self.error = error
        finally:
            # Before signalling, since the caller continues at once: no helper may keep the arrays of the operation
            # alive.
            self.work = _nothing
            self.done.release()

    def finish(self) -> None:
        """Run the part or wait until it has run, and raise its error."""
        self.run()
        self.done.acquire()
        error, self.error = self.error, None
        if error is not None:
            try:
                raise error
            finally:
                del error  # Note [Errors in no cycle]


def _help(parts: SimpleQueue[_Part | None]) -> None:
    while True:
        part = parts.get()
        if part is None:
            return
        part.run()


def _hand_out(parts: list[_Part]) -> None:
    """Give parts to helpers, starting or ending threads to have as many."""
    global _helpers
    while _helpers > len(parts):
        _helpers -= 1
        _parts.put(None)
    try:
        while _helpers < len(parts):
            _thread.start_new_thread(_help, (_parts,))
            _helpers += 1
    except RuntimeError:
        # The system has no more threads, or the interpreter is about to end: see Note [Helpers].
        pass
    for part in parts:
        _parts.put(part)


def in_parts(work: Callable[[int, int], object], count: int, size: int) -> None:
    """Call `work(start, stop)` for parts of range(count), in several threads where the arrays have `size` elements.

    The parts must not touch each other's memory. Floating-point warnings are off. An error of one part is raised when
    all have ended.
    """
    threads = min(get_num_threads(), count)
    if threads < 2 or size < LARGE:
        work(0, count)
        return
    mine = object()
    try:
        # Claimed and released without a call in between that an interrupt could split.
        if _claims.setdefault("cut", mine) is mine:
            _run_parts(work, [count * i // threads for i in range(threads + 1)])
        else:
            work(0, count)
    finally:
        if "cut" in _claims and _claims["cut"] is mine:
            del _claims["cut"]


def _run_parts(work: Callable[[int, int], object], bounds: list[int]) -> None:
    parts = [_Part(work, *pair) for pair in itertools.pairwise(bounds[1:])]
    try:
        _hand_out(parts)
        work(bounds[0], bounds[1])
    except BaseException:
        # Parts not yet begun are skipped; those begun write until they are done.
        for part in parts:
            if part.claim.acquire(False):
                part.work = _nothing
            else:
                part.done.acquire()
            part.error = None
        raise
    try:
        while parts:
            parts.pop(0).finish()
    finally:
        for part in parts:
            part.run()
            part.done.acquire()
            part.error = None


def spread(kernel: Callable[..., Any], a: Array, b: Array | None = None, out: Array | None = None) -> Any:
    """Return the result of a ufunc for a large `a`, computed in parts; `b` may be a number, None for unary ones."""
    if type(a) is np.ndarray and a.flags.c_contiguous and get_num_threads() > 1:
        if type(b) is not np.ndarray:
            return _flat(kernel, a, () if b is None else (b,), out)
        if b.shape == a.shape and b.flags.c_contiguous:
            return _flat(kernel, a, (b,), out)
        if b.ndim < a.ndim and np.broadcast_shapes(a.shape, b.shape) == a.shape:
            return _by_rows(kernel, a, b, out)
    return quiet(kernel, *((a,) if b is None else (a, b)), *(() if out is None else (out,)))


def _result(kernel: Callable[..., Any], a: Array, others: tuple[Array, ...]) -> Array:
    """Return an array for the result: of the shape of `a`, of the dtype that the kernel gives."""
    few = [x.reshape(-1)[:1] if isinstance(x, np.ndarray) else x for x in (a, *others)]
    return np.empty(a.shape, kernel(*few).dtype)


def _flat(kernel: Callable[..., Any], a: Array, others: tuple[Array, ...], out: Array | None) -> Array:
    result = quiet(_result, kernel, a, others) if out is None else out
    first, target = a.reshape(-1), result.reshape(-1)
    flat = [x.reshape(-1) if isinstance(x, np.ndarray) else x for x in others]

    def work(start: int, stop: int) -> None:
        part = [x[start:stop] if isinstance(x, np.ndarray) else x for x in flat]
        kernel(first[start:stop], *part, target[start:stop])

    quiet(in_parts, work, first.size, first.size)
    return result


def _by_rows(kernel: Callable[..., Any], a: Array, b: Array, out: Any) -> Array:
    """Split the work for a `b` that is broadcast over the first dimension of `a`."""
    result = quiet(_result, kernel, a, (b,)) if out is None else out

    def work(start: int, stop: int) -> None:
        kernel(a[start:stop], b, result[start:stop])

    quiet(in_parts, work, a.shape[0], a.size)
    return result
