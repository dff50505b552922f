"""Auditing in worker processes: the same rows in the same order, on several processors, whatever a type does to one.

# Note [Workers are forked]
A worker is a fork of the command, which has imported the libraries and the type by then, so that nothing is imported or
pickled but results. It is handed functions a few at a time and announces each operand before it calls with it. When it
ends early (`os._exit`, a segmentation fault in C), the operand it was at gets a row that says so, and a new worker goes
on after it. Forking is left to Linux: on macOS system libraries do not survive it, and Windows has none. There the
audit runs in the command's own process.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import mmap
import os
import signal
import sys
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from .answering_code import Location
from .errors import AuditError
from .foreign import described, interrupted
from .model import AuditRow

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_CHUNK = 6
#: The time that the calls with one operand of one function may take.
SECONDS = 60.0


class Audited(NamedTuple):
    """The rows of one function, the warnings that its calls gave, and where the code is written that ran, if noted."""

    rows: list[AuditRow]
    warnings: Counter[str]
    ran: frozenset[Location] = frozenset()


class End(NamedTuple):
    """The end of a process during the calls with an operand."""

    how: str
    #: Whether a call with plain tensors alone was running, for which the type is not to blame.
    by_plain: bool = False


class Work(Protocol):
    """The work of a worker: an `Auditor`, as this module sees it."""

    #: Its first byte is 1 while a call with plain tensors alone is running; shared with the processes that fork.
    in_plain_call: Any

    def audited(self, index: int, ended: Mapping[str, End], announce: Callable[[str], None] | None = None) -> Audited:
        """Return the rows of the function numbered `index`; `ended` says for an operand how it ended a process."""


def available_jobs() -> int:
    """Return the number of processors that this process may use, or 0 where workers cannot be forked."""
    if sys.platform != "linux" or not hasattr(os, "fork") or importlib.util.find_spec("_multiprocessing") is None:
        return 0
    return len(os.sched_getaffinity(0))


class _Task(NamedTuple):
    number: int
    ended: dict[str, End]


class Child:
    """A forked process that runs `body` with its end of a pipe; `others` are children whose pipes it must not hold.

    A `leader` ends with all processes that it has started.
    """

    def __init__(
        self, body: Callable[[Connection[Any, Any]], int], others: Sequence[Child] = (), *, leader: bool = False
    ) -> None:
        self.leader = leader
        self.since = time.monotonic()
        from multiprocessing.connection import Pipe  # noqa: PLC0415 - not in every Python: see available_jobs()

        self.connection, theirs = Pipe()
        for stream in (sys.stdout, sys.stderr):
            # What is still in their buffers would be written by both processes.
            with contextlib.suppress(AttributeError, OSError, ValueError):
                stream.flush()
        with warnings.catch_warnings():
            # Python warns of threads of other libraries, such as BLAS, which are prepared for a fork.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.pid = os.fork()
        if not self.pid:
            status = 1
            try:
                if leader:
                    os.setpgid(0, 0)
                for other in (self, *others):
                    # A child ends when its pipe does, so no other process may hold an end of it.
                    other.connection.close()
                status = _run(body, theirs)
            finally:
                os._exit(status)
        theirs.close()
        self.ended: int = os.pidfd_open(self.pid)

    def stop(self) -> None:
        """End the process if it still runs."""
        self.connection.close()
        self.kill()
        self.reaped()

    def kill(self) -> None:
        """Send the process, and those that a leader has started, the signal that ends them."""
        if self.leader:
            # Before it has become one, it has started none.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def reaped(self) -> str:
        """Wait for the end of the process and return how it ended, in words."""
        os.close(self.ended)
        _, status = os.waitpid(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        if code >= 0:
            return f"the process ended, with exit status {code}"
        with contextlib.suppress(ValueError):
            return f"the process was killed by {signal.Signals(-code).name}"
        return f"the process was killed by signal {-code}"


def _run(body: Callable[[Connection[Any, Any]], int], connection: Connection[Any, Any]) -> int:
    """Run the body of a child and return its exit status; errors are sent."""
    # Objects from before the fork stay where they are, so that their memory remains shared.
    gc.freeze()
    try:
        return body(connection)
    except (EOFError, BrokenPipeError):
        return 0
    except KeyboardInterrupt:
        connection.send(("interrupted", True))
    except BaseException as error:
        connection.send(("failed", described(error)))
    return 0


class _Worker(Child):
    """A child and its tasks, which it works off in their order."""

    def __init__(self, work: Work, others: Sequence[_Worker]) -> None:
        self.tasks: deque[_Task] = deque()
        self.operand: str | None = None
        self.in_plain_call = work.in_plain_call = mmap.mmap(-1, 1)
        super().__init__(lambda connection: _serve(work, connection), others)

    def give(self, tasks: Sequence[_Task]) -> None:
        """Send tasks to the process."""
        self.tasks.extend(tasks)
        self.since = time.monotonic()
        # A worker that has ended is noticed by `in_workers`.
        with contextlib.suppress(OSError):
            self.connection.send(list(tasks))


def _serve(work: Work, connection: Connection[Any, Any]) -> int:
    """Do the tasks that arrive until the pipe ends: the body of a worker."""
    pid = os.getpid()

    def send(kind: str, value: object) -> None:
        if os.getpid() != pid:
            os._exit(0)  # The type has forked, and its child came back here.
        connection.send((kind, value))

    while True:
        for task in connection.recv():
            send("done", work.audited(task.number, task.ended, lambda operand: send("operand", operand)))


def in_workers(
    work: Work,
    order: Sequence[int],
    jobs: int,
    progress: Callable[[int, int], None] | None = None,
    seconds: float = SECONDS,
) -> dict[int, Audited]:
    """Return the results for the functions numbered in `order`, from at most `jobs` forked processes.

    A process that spends more than `seconds` on one operand is stopped, as if it had ended there.
    """
    left = deque(_Task(index, {}) for index in order)
    results: dict[int, Audited] = {}
    workers: list[_Worker] = []

    def chunk() -> list[_Task]:
        return [left.popleft() for _ in range(min(_CHUNK, len(left)))]

    def start(tasks: Sequence[_Task]) -> None:
        worker = _Worker(work, workers)
        workers.append(worker)
        worker.give(tasks)

    try:
        while left and len(workers) < jobs:
            start(chunk())
        while workers:
            ready = _wait(workers, seconds)
            for worker in list(workers):
                if worker.connection not in ready and worker.ended not in ready:
                    if _is_late(worker, seconds):
                        worker.kill()
                        workers.remove(worker)
                        start(_after_end(worker, f"the calls took longer than {seconds:g} s and were stopped"))
                    continue
                alive = _heard(worker, results, progress)
                if alive and worker.tasks:
                    continue
                if alive and left:
                    worker.give(chunk())
                    continue
                workers.remove(worker)
                if alive:
                    worker.stop()
                    continue
                rest = _after_end(worker)
                if rest or left:
                    start(rest or chunk())
    finally:
        for worker in workers:
            worker.stop()
    return results


def _wait(children: Sequence[Child], seconds: float) -> list[Any]:
    """Wait until a child has sent something, or has ended, or is late; return what is ready of them."""
    from multiprocessing.connection import wait  # noqa: PLC0415 - not in every Python

    left = min(child.since for child in children) + seconds - time.monotonic()
    return wait([child.connection for child in children] + [child.ended for child in children], max(left, 0.0))


def _is_late(child: Child, seconds: float) -> bool:
    return time.monotonic() - child.since >= seconds


def _heard(worker: _Worker, results: dict[int, Audited], progress: Callable[[int, int], None] | None) -> bool:
    """Take in what a worker has sent; return whether it is still there."""
    try:
        while worker.connection.poll():
            kind, value = worker.connection.recv()
            worker.since = time.monotonic()
            if kind == "operand":
                worker.operand = value
                if progress is not None:
                    progress(len(results), worker.tasks[0].number)
            elif kind == "done":
                task = worker.tasks.popleft()
                worker.operand = None
                results[task.number] = value
            elif kind == "interrupted":
                interrupted()
            else:
                raise AuditError(f"the audit failed: {value}")
    except (EOFError, OSError):
        return False
    from multiprocessing.connection import wait  # noqa: PLC0415 - not in every Python

    return not wait([worker.ended], 0)


def _after_end(worker: _Worker, how: str = "") -> list[_Task]:
    """Return the tasks of a worker that has ended, the first one with a note of the operand that ended it."""
    worker.connection.close()
    ended = worker.reaped()
    how = how or ended
    if not worker.tasks:
        return []
    task = worker.tasks[0]
    if worker.operand is None or worker.operand in task.ended:
        # It ended before any call: this function can say nothing more.
        raise AuditError(f"a worker of the audit cannot go on: {how}; --jobs 0 audits in one process")
    end = End(how, bool(worker.in_plain_call[0]))
    return [_Task(task.number, {**task.ended, worker.operand: end}), *list(worker.tasks)[1:]]


# ---------------------------------------------------------------------------------------------- a process for each type


class Ended(NamedTuple):
    """The end of one piece of work: its result, or why there is none."""

    number: int
    result: Any
    reason: str


class _Single(Child):
    """A child with one piece of work, whose result it sends; what it prints is not heard."""

    def __init__(self, number: int, work: Callable[[], Any], others: Sequence[Child]) -> None:
        self.number = number

        def body(connection: Connection[Any, Any]) -> int:
            # Nothing that the type's code prints, in C either, gets into the report.
            nowhere = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(nowhere, descriptor)
            connection.send(("done", work()))
            return 0

        super().__init__(body, others, leader=True)

    def end(self) -> Ended:
        """Return what the process sent, once it sends or ends."""
        try:
            # One that it has started may hold the pipe's other end still.
            kind, value = self.connection.recv() if self.connection.poll() else ("", None)
        except (EOFError, OSError):
            kind = ""
        if not kind:
            self.kill()
            self.connection.close()
            return Ended(self.number, None, self.reaped())
        self.stop()
        if kind == "interrupted":
            interrupted()
        return Ended(self.number, value, "") if kind == "done" else Ended(self.number, None, str(value))


def in_children(work: Sequence[Callable[[], Any]], *, jobs: int, seconds: float) -> Iterator[Ended]:
    """Run functions in processes of their own, and yield what each returns as they end.

    A type that crashes, never returns or changes its package then harms no other. Where processes cannot be forked,
    the functions run one after the other in this one.

    Args:
        work: Functions whose results can be pickled.
        jobs: The number of processes at a time.
        seconds: The time after which a process is stopped, with those that it has started.
    """
    if not available_jobs():
        for number, function in enumerate(work):
            yield Ended(number, function(), "")
        return
    waiting = deque(enumerate(work))
    running: list[_Single] = []
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                running.append(_Single(*waiting.popleft(), running))
            ready = _wait(running, seconds)
            for child in list(running):
                if child.connection in ready or child.ended in ready:
                    running.remove(child)
                    yield child.end()
                elif _is_late(child, seconds):
                    running.remove(child)
                    child.stop()
                    yield Ended(child.number, None, f"the audit took longer than {seconds:g} s and was stopped")
    finally:
        for child in running:
            child.stop()
