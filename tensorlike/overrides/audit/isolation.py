"""Running audits in processes of their own: a type that crashes, never returns or changes its package harms no other.

# Note [A process for each type]
The package is imported once, then each type is audited in a fork of the process, several at once. Where there is no
fork (Windows), types are audited one after the other in the process itself.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

__all__ = ["Ended", "in_processes"]


class Ended(NamedTuple):
    """The end of one piece of work: its result, or why there is none."""

    number: int
    result: str
    reason: str


class _Child:
    __slots__ = ("begin", "chunks", "index", "pid")

    def __init__(self, index: int, pid: int) -> None:
        self.index = index
        self.pid = pid
        self.begin = time.monotonic()
        self.chunks: list[bytes] = []


def in_processes(work: Sequence[Callable[[], str]], *, jobs: int, seconds: float) -> Iterator[Ended]:
    """Run functions in processes of their own, and yield what each returns as they end.

    Args:
        work: Functions that return a text. An exception in one is a process that ended.
        jobs: The number of processes at a time.
        seconds: The time after which a process is stopped.
    """
    if not hasattr(os, "fork"):
        for index, function in enumerate(work):
            yield Ended(index, function(), "")
        return
    waiting = list(enumerate(work))[::-1]
    running: dict[int, _Child] = {}
    with selectors.DefaultSelector() as selector:
        try:
            while waiting or running:
                while waiting and len(running) < jobs:
                    descriptor, child = _started(*waiting.pop())
                    running[descriptor] = child
                    selector.register(descriptor, selectors.EVENT_READ)
                oldest = min(child.begin for child in running.values())
                for key, _ in selector.select(max(0.0, oldest + seconds - time.monotonic())):
                    chunk = os.read(key.fd, 1 << 16)
                    if chunk:
                        running[key.fd].chunks.append(chunk)
                        continue
                    selector.unregister(key.fd)
                    os.close(key.fd)
                    yield _ended(running.pop(key.fd))
                for descriptor, child in list(running.items()):
                    if time.monotonic() - child.begin >= seconds:
                        selector.unregister(descriptor)
                        os.close(descriptor)
                        del running[descriptor]
                        _stop(child.pid)
                        yield Ended(child.index, "", f"the audit took longer than {seconds:g} s and was stopped")
        finally:
            for descriptor, child in running.items():
                os.close(descriptor)
                _stop(child.pid)


def _started(index: int, function: Callable[[], str]) -> tuple[int, _Child]:
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 warns of forks of a process with threads; the child uses none of them.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid:
        os.close(writing)
        return reading, _Child(index, pid)
    status = 1
    try:
        os.close(reading)
        # Nothing that the type's code prints, in C either, gets into the report.
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nowhere, descriptor)
        data = function().encode("utf-8", "backslashreplace")
        while data:
            data = data[os.write(writing, data) :]
        status = 0
    finally:
        # Neither exit handlers nor the callers of this function run in the child.
        os._exit(status)


def _stop(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def _ended(child: _Child) -> Ended:
    _, status = os.waitpid(child.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code == 0:
        return Ended(child.index, b"".join(child.chunks).decode("utf-8"), "")
    how = f"by signal {signal.Signals(-code).name}" if code < 0 else f"with status {code}"
    return Ended(child.index, "", f"the process of its audit ended {how}")
