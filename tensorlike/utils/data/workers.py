"""The iterator of a DataLoader with worker processes.

# Note [Tasks of workers]
A task is a number and the index, or indices, of one batch. Each worker has a pipe for tasks and a pipe for results of
its own, which no lock guards, so that a worker that is killed cannot leave one locked. The main process waits for the
pipes and for the ends of the processes at once, and so learns immediately that a worker is gone.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import pickle
import signal
import time
import warnings
from itertools import cycle
from multiprocessing.connection import wait
from typing import Any

from tensorlike.dispatch.forks import finalize_here
from tensorlike.utils.exceptions import ExceptionWrapper

from . import _utils
from ._utils import worker
from ._utils.channel import Receiver, new_arena
from .dataloader import DataLoader, _BaseDataLoaderIter, _DatasetKind

__all__: list[str] = []


class _Worker:
    """A worker process as the main process sees it."""

    def __init__(self, context: Any, job: worker.Job) -> None:
        arena = new_arena()
        tasks, self._tasks = context.Pipe(duplex=False)
        results, theirs = context.Pipe(duplex=False)
        self.receiver = Receiver(results, arena)
        #: Whether it has work left in this epoch.
        self.active = True
        self.outstanding = 0
        self.process = context.Process(target=worker.run, args=(job, tasks, theirs, arena), daemon=True)
        try:
            self.process.start()
        except BaseException as error:
            for connection in (self._tasks, results):
                connection.close()
            if isinstance(error, (TypeError, AttributeError, pickle.PicklingError)):
                warnings.warn(
                    "Got pickle error when attempting to start a worker Process. This might be because the worker "
                    "Process arguments are not picklable. Python 3.14+ changed the multiprocessing start method in "
                    "non-Mac POSIX platforms to 'forkserver', which requires the worker Process arguments to be "
                    "picklable. You can also try multiprocessing.set_start_method('fork').",
                    stacklevel=6,
                )
            raise
        finally:
            tasks.close()
            theirs.close()

    def send(self, message: object) -> None:
        # A worker that is gone is noticed where its result is awaited.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._tasks.send(message)

    def ask(self, task: int, index: object) -> None:
        self.send((task, index, self.receiver.freed()))
        self.outstanding += 1

    def why_it_ended(self) -> RuntimeError:
        process = self.process
        process.join(timeout=1)
        code = process.exitcode
        if code is not None and code < 0:
            return RuntimeError(
                f"DataLoader worker (pid {process.pid}) is killed by signal: {signal.strsignal(-code)}. "
            )
        return RuntimeError(
            f"DataLoader worker (pid {process.pid}) exited unexpectedly with exit code {code}. Details are lost due to "
            "multiprocessing. Rerunning with num_workers=0 may give better error trace."
        )

    def close(self) -> None:
        self._tasks.close()
        self.receiver.connection.close()


def _shut_down(workers: list[_Worker]) -> None:
    """End worker processes. Called once for each iterator: at its end, or when it is gone, or at exit."""
    try:
        for each in workers:
            each.send(None)
        end = time.monotonic() + _utils.MP_STATUS_CHECK_INTERVAL
        for each in workers:
            each.process.join(timeout=max(0.0, end - time.monotonic()))
    finally:
        for each in workers:
            if each.process.is_alive():
                each.process.terminate()
                each.process.join(timeout=_utils.MP_STATUS_CHECK_INTERVAL)
            each.close()
        workers.clear()


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """An iterator that loads in worker processes."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        prefetch = loader.prefetch_factor
        if prefetch is None or prefetch <= 0:
            raise AssertionError("prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter")
        self._prefetch_factor = prefetch
        self._in_order = loader.in_order
        context = loader.multiprocessing_context or multiprocessing
        # Processes of this iterator, also for the function that ends them, which must not refer to the iterator.
        self._started: list[_Worker] = []
        self._shutdown_workers = finalize_here(self, _shut_down, self._started)
        for worker_id in range(loader.num_workers):
            job = worker.Job(
                self._make_fetcher, loader.dataset, self._dataset_kind == _DatasetKind.Iterable, self._base_seed,
                loader.worker_init_fn, worker_id, loader.num_workers, prefetch,
            )  # fmt: skip
            try:
                self._started.append(_Worker(context, job))
            except BaseException:
                self._shutdown_workers()
                raise
        self._workers = [each.process for each in self._started]
        self._reset(loader, first_iter=True)

    def _reset(self, loader: DataLoader[Any], first_iter: bool = False) -> None:
        super()._reset(loader, first_iter)
        self._send_idx = 0
        self._rcvd_idx = 0
        #: The worker of each task that was not returned yet.
        self._tasks: dict[int, _Worker] = {}
        #: Results that came before their turn.
        self._arrived: dict[int, Any] = {}
        if not first_iter:
            self._resume()
        for each in self._started:
            each.active, each.outstanding = True, 0
        self._cycle = cycle(self._started)
        for _ in range(self._prefetch_factor * self._num_workers):
            self._put_task()

    def _resume(self) -> None:
        """Have the workers begin another epoch, and drop the results of the former one."""
        waiting = set(self._started)
        for each in waiting:
            each.active = True
            each.send(worker.Resume())
        while waiting:
            each, _, result = self._receive()
            if isinstance(result, worker.Resume):
                waiting.discard(each)

    def _put_task(self) -> None:
        """Send the next task to the next worker that takes one."""
        try:
            index = next(self._sampler_iter)
        except StopIteration:
            return
        limit = self._prefetch_factor * self._num_workers
        active = sum(each.active for each in self._started)
        for _ in self._started:
            each = next(self._cycle)
            if each.active and (self._in_order or each.outstanding < limit // active):
                break
        else:
            return
        self._tasks[self._send_idx] = each
        each.ask(self._send_idx, index)
        self._send_idx += 1

    def _receive(self) -> tuple[_Worker, int, Any]:
        """Wait for a result. Raises RuntimeError when a worker has ended, or none answers within the timeout."""
        active = [each for each in self._started if each.active]
        by_connection = {each.receiver.connection: each for each in active}
        ready = wait([*by_connection, *(each.process.sentinel for each in active)], self._timeout or None)
        if not ready:
            raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
        # Results before ends: a worker may have answered before it died.
        for connection in by_connection.keys() & ready:
            each = by_connection[connection]
            with contextlib.suppress(EOFError, ConnectionResetError):
                return each, *each.receiver.receive()
        failed = [each for each in active if each.process.sentinel in ready or each.receiver.connection in ready]
        for each in failed:
            each.active = False
        numbers = ", ".join(str(each.process.pid) for each in failed)
        raise RuntimeError(f"DataLoader worker (pid(s) {numbers}) exited unexpectedly") from failed[0].why_it_ended()

    def _next_data(self) -> Any:
        while True:
            # Tasks of a worker whose dataset has ended are never answered.
            while self._rcvd_idx < self._send_idx:
                owner = self._tasks.get(self._rcvd_idx)
                if owner is not None and (owner.active or self._rcvd_idx in self._arrived):
                    break
                self._tasks.pop(self._rcvd_idx, None)
                self._rcvd_idx += 1
            else:
                if not self._persistent_workers:
                    self._shutdown_workers()
                raise StopIteration
            if self._rcvd_idx in self._arrived:
                return self._answer(self._rcvd_idx, self._arrived.pop(self._rcvd_idx))
            each, task, result = self._receive()
            if isinstance(result, worker.EndOfDataset):
                each.active = False
                if not self._persistent_workers:
                    each.send(None)
                self._put_task()
            elif task == self._rcvd_idx or not self._in_order:
                return self._answer(task, result)
            else:
                self._arrived[task] = result

    def _answer(self, task: int, result: object) -> Any:
        self._tasks.pop(task).outstanding -= 1
        if task == self._rcvd_idx:
            self._rcvd_idx += 1
        self._put_task()
        if isinstance(result, ExceptionWrapper):
            result.reraise()
        return result
