"""Running one function in several processes: `spawn` and `start_processes`."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import pickle
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tensorlike.dispatch.forks import finalize_here

__all__ = [
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "spawn",
    "start_processes",
]

#: With "1" in this environment variable, `start_processes` starts the processes of a fork server at the same time.
ENV_VAR_PARALLEL_START = "TORCH_MP_PARALLEL_START"
_DEATH_SIGNAL_OPTION = 1


class ProcessException(Exception):
    """A process that `start_processes` started has failed; the base class of the two reasons."""

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.error_pid = error_pid

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """The function raised an error in a process; the message has its traceback."""


class ProcessExitedException(ProcessException):
    """A process ended by a signal, or with an exit code that says so, without an error of its function."""

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)


def _end_with_parent() -> None:
    """Have the system interrupt this process when its parent ends, where it can."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_DEATH_SIGNAL_OPTION, signal.SIGINT)


def _wrap(fn: Callable[..., Any], i: int, args: Sequence[Any], error_file: str) -> None:
    """Run the function in its process, and leave the traceback of its error in a file."""
    _end_with_parent()
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass  # The parent is interrupted too, or has ended.
    except Exception:
        with open(error_file, "wb") as file:
            pickle.dump(traceback.format_exc(), file)
        sys.exit(1)


class ProcessContext:
    """The processes that `start_processes` started, to be joined."""

    def __init__(self, processes: Sequence[Any], error_files: Sequence[str]) -> None:
        self.error_files = error_files
        self.processes = processes
        self.sentinels = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """Return the numbers of the processes."""
        return [int(process.pid) for process in self.processes]

    def _join_all(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        for process in self.processes:
            process.join(max(0.0, end - time.monotonic()))

    def _end_others(self, grace_period: float | None) -> None:
        if grace_period is not None:
            self._join_all(grace_period)
        for end in ("terminate", "kill"):
            running = [process for process in self.processes if process.is_alive()]
            for process in running:
                getattr(process, end)()
            if running:
                self._join_all(30 if grace_period is None else grace_period)
        for process in self.processes:
            process.join()

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until a process ends, and return whether all of them have.

        When one has failed, the others are ended, and ProcessRaisedException or ProcessExitedException says why.

        Args:
            timeout: The longest time to wait, in seconds.
            grace_period: How long the other processes have to end by themselves before they are terminated, and then
                again before they are killed.
        """
        if not self.sentinels:
            return True
        from multiprocessing.connection import wait  # noqa: PLC0415 - not in every Python

        failed = None
        for sentinel in wait(list(self.sentinels), timeout):
            index = self.sentinels.pop(sentinel)
            self.processes[index].join()
            if self.processes[index].exitcode != 0:
                failed = index
                break
        if failed is None:
            return not self.sentinels
        self._end_others(grace_period)
        self._raise(failed)
        return False

    def _raise(self, index: int) -> None:
        process = self.processes[index]
        try:
            with open(self.error_files[index], "rb") as file:
                trace = pickle.load(file)
        except OSError:
            code = process.exitcode
            if code >= 0:
                text = f"process {index} terminated with exit code {code}"
                raise ProcessExitedException(text, index, process.pid, code) from None
            try:
                name = signal.Signals(-code).name
            except ValueError:
                name = f"<Unknown signal {-code}>"
            text = f"process {index} terminated with signal {name}"
            raise ProcessExitedException(text, index, process.pid, code, name) from None
        text = f"\n\n-- Process {index} terminated with the following error:\n{trace}"
        raise ProcessRaisedException(text, index, process.pid)


class SpawnContext(ProcessContext):
    """The former name of `ProcessContext`."""

    def __init__(self, processes: Sequence[Any], error_files: Sequence[str]) -> None:
        warnings.warn("SpawnContext is renamed to ProcessContext since 1.4 release.", stacklevel=2)
        super().__init__(processes, error_files)


def start_processes(
    fn: Callable[..., Any],
    args: Sequence[Any] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run `fn(i, *args)` in `nprocs` processes, where `i` is the number of the process.

    Returns None after all have ended, or with `join=False` a `ProcessContext` at once. When a process fails the others
    are ended, and an exception tells why: see `ProcessContext.join`.

    Args:
        fn: A function that pickle can send, unless the processes are forked.
        args: Further arguments; tensors arrive in shared memory.
        nprocs: The number of processes.
        join: Whether to wait for the processes.
        daemon: Whether they end with this process, and may start none themselves.
        start_method: "spawn", "fork" or "forkserver".
    """
    context = multiprocessing.get_context(start_method)
    folder = tempfile.mkdtemp(prefix="tensorlike-errors-")
    files = [os.path.join(folder, f"{index}.pickle") for index in range(nprocs)]
    started: list[Any] = []

    def start(index: int) -> Any:
        process = context.Process(target=_wrap, args=(fn, index, args, files[index]), daemon=daemon)  # type: ignore[attr-defined]
        process.start()
        started.append(process)
        return process

    try:
        if start_method == "forkserver" and os.environ.get(ENV_VAR_PARALLEL_START, "0") == "1" and nprocs:
            with ThreadPoolExecutor(max_workers=nprocs) as pool:
                processes = list(pool.map(start, range(nprocs)))
        else:
            processes = [start(index) for index in range(nprocs)]
    except BaseException:
        for process in started:
            process.terminate()
            process.join()
        shutil.rmtree(folder, ignore_errors=True)
        raise
    found = ProcessContext(processes, files)
    finalize_here(found, shutil.rmtree, folder, ignore_errors=True)
    if not join:
        return found
    while not found.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: Sequence[Any] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run `fn(i, *args)` in `nprocs` new interpreters: `start_processes` with the start method "spawn".

    Warns with a FutureWarning for another start method.
    """
    if start_method != "spawn":
        warnings.warn(
            f"This method only supports start_method=spawn (got: {start_method}).\nTo use a different start_method use:"
            "\n\t\t torch.multiprocessing.start_processes(...)",
            FutureWarning,
            stacklevel=2,
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
