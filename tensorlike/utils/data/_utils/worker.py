"""A worker process of a DataLoader: it fetches batches for the main process."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import parent_process
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorlike._originals import tl
from tensorlike.utils.exceptions import ExceptionWrapper

from .channel import Sender
from .fetch import Fetcher

if TYPE_CHECKING:
    from .channel import Arena

__all__ = ["WorkerInfo", "get_worker_info"]


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """The facts that a worker process of a DataLoader has about itself.

    `id` counts from 0 to `num_workers - 1`; `seed` is the seed of this worker; `dataset` is its copy of the dataset.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str | None = "multiprocessing"


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Return what is known about this worker process of a DataLoader; None in the main process.

    >>> tl.utils.data.get_worker_info() is None
    True
    """
    return _worker_info


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """Return the seed of NumPy's generator for a worker."""
    entropy = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return [int(word) for word in np.random.SeedSequence(entropy).generate_state(4)]


class EndOfDataset:
    """The answer of a worker whose IterableDataset has no more samples."""


class Resume:
    """The message that another epoch begins, and its answer."""


@dataclass
class Job:
    """The arguments that a worker process is started with."""

    make_fetcher: Callable[[], Fetcher]
    dataset: Any
    iterable: bool
    base_seed: int
    init_fn: Callable[[int], Any] | None
    worker_id: int
    num_workers: int
    prefetch_factor: int

    def seed(self) -> None:
        """Seed the generators of this process, and tell what `get_worker_info` answers."""
        global _worker_info
        seed = self.base_seed + self.worker_id
        random.seed(seed)
        tl.manual_seed(seed)
        np.random.seed(_generate_state(self.base_seed, self.worker_id))
        _worker_info = WorkerInfo(self.worker_id, self.num_workers, seed, self.dataset)

    def failure(self) -> ExceptionWrapper:
        """Return the error that is being handled, for the main process to raise."""
        return ExceptionWrapper(where=f"in DataLoader worker process {self.worker_id}")


def run(job: Job, tasks: Any, results: Any, arena: Arena | None) -> None:
    """Fetch the batches of a worker process until it is told to end, or its parent has ended."""
    # The main process is interrupted too, and raises.
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError, EOFError):
        tl.set_num_threads(1)
        _serve(job, tasks, Sender(results, arena, job.prefetch_factor))


def _serve(job: Job, tasks: Any, sender: Sender) -> None:
    job.seed()
    fetcher = failed = None
    try:
        if job.init_fn is not None:
            job.init_fn(job.worker_id)
        fetcher = job.make_fetcher()
    except Exception:
        failed = job.failure()
    # A loader without workers imports this file too.
    from multiprocessing.connection import wait  # noqa: PLC0415 - not in every Python

    parent = parent_process()
    ends = [] if parent is None else [parent.sentinel]
    while True:
        # Siblings that were forked hold the other end of the pipe too, so it may never be closed.
        if tasks not in wait([tasks, *ends]):
            return
        message = tasks.recv()
        if message is None:
            return
        if isinstance(message, Resume):
            try:
                fetcher, failed = job.make_fetcher(), None
            except Exception:
                failed = job.failure()
            sender.send(-1, message)
            continue
        task, index, freed = message
        sender.free(freed)
        result: Any
        if failed is not None:
            result, failed = failed, None
        else:
            try:
                result = fetcher.fetch(index)  # type: ignore[union-attr]
            except Exception as error:
                ended = job.iterable and isinstance(error, StopIteration)
                result = EndOfDataset() if ended else job.failure()
        try:
            sender.send(task, result)
        except (BrokenPipeError, EOFError):
            return
        except Exception:
            sender.send(task, job.failure())
        del result, message
