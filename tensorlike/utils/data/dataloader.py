"""`DataLoader`: the batches of a dataset, loaded in this process or in others."""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from multiprocessing.context import BaseContext
from typing import Any, Generic, Self, TypeVar

from tensorlike._originals import tl
from tensorlike.dispatch.core import outside_stacklevel
from tensorlike.dispatch.tracebacks import short_tracebacks

from . import _utils
from ._utils.collate import default_collate, default_convert
from ._utils.fetch import Fetcher, IterableFetcher, MapFetcher
from ._utils.worker import get_worker_info
from .dataset import IterableDataset, Samples
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, random_seed

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

T_co = TypeVar("T_co", covariant=True)

#: Attributes that cannot be set once a loader is made.
_FIXED = frozenset(("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"))


class _DatasetKind:
    """The two kinds of datasets, by PyTorch's numbers."""

    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(
        kind: int, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool
    ) -> Fetcher:
        """Return the fetcher for a dataset."""
        made = MapFetcher if kind == _DatasetKind.Map else IterableFetcher
        return made(dataset, auto_collation, collate_fn, drop_last)


class _InfiniteConstantSampler(Sampler[Any]):
    """The sampler of an IterableDataset: None for each sample, without end."""

    def __iter__(self) -> Iterator[Any]:
        while True:
            yield None


def _cpu_count() -> tuple[int | None, bool]:
    """Return the number of CPUs that this process may use, and whether the system says which ones those are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)), True
    return os.cpu_count(), False


class DataLoader(Generic[T_co]):
    """An iterable of the batches of a dataset, or of its samples with `batch_size=None`.

    With `num_workers`, that many processes load batches in advance. Their batches arrive on memory that the processes
    share, without a copy. An error in a worker is raised here, with its traceback; RuntimeError tells of a worker that
    was killed. The workers end with the iterator.

    >>> data = tl.utils.data.TensorDataset(tl.arange(5))
    >>> [batch.tolist() for (batch,) in tl.utils.data.DataLoader(data, batch_size=2)]
    [[0, 1], [2, 3], [4]]

    Args:
        dataset: A dataset, or whatever has samples by index and a length.
        batch_size: The number of samples in a batch; None for single samples.
        shuffle: Whether to load the samples in random order.
        sampler: The indices of the samples in order, instead of `shuffle`.
        batch_sampler: The lists of indices of the batches, instead of all four arguments before and `drop_last`.
        num_workers: The number of worker processes; 0 to load in this one.
        collate_fn: The function that makes a batch of a list of samples.
        pin_memory: Accepted; batches are copied to pinned memory where an accelerator has it.
        drop_last: Whether to leave out a last batch that is smaller.
        timeout: The longest time to wait for a batch of a worker, in seconds; 0 for no limit.
        worker_init_fn: A function that each worker calls first, with its number.
        multiprocessing_context: How worker processes are started: the name of a start method, or a context.
        generator: The source of random orders and of the seeds of workers.
        prefetch_factor: The number of batches that each worker loads in advance; 2 by default.
        persistent_workers: Whether the workers stay for the next epoch.
        pin_memory_device: Accepted, and ignored with a warning.
        in_order: Whether the batches come in the order of their indices, rather than as workers finish them.
    """

    dataset: Any
    batch_size: int | None
    num_workers: int
    pin_memory: bool
    drop_last: bool
    timeout: float
    sampler: Any
    pin_memory_device: str
    prefetch_factor: int | None
    _iterator: Any
    _initialized = False

    def __init__(
        self,
        dataset: Samples[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: tl.Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
                "multiprocessing, otherwise set prefetch_factor to None."
            )
        if num_workers > 0 and prefetch_factor is None:
            prefetch_factor = 2
        elif prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError("prefetch_factor option should be non-negative")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        iterable = isinstance(dataset, IterableDataset)
        self._dataset_kind = _DatasetKind.Iterable if iterable else _DatasetKind.Map
        if iterable:
            _refuse_for_iterable(shuffle, sampler, batch_sampler)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            if iterable:
                sampler = _InfiniteConstantSampler()
            else:
                source: Any = dataset
                sampler = RandomSampler(source, generator=generator) if shuffle else SequentialSampler(source)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        if collate_fn is None:
            collate_fn = default_convert if batch_sampler is None else default_collate
        self.collate_fn = collate_fn
        self.persistent_workers = persistent_workers
        self._initialized = True
        self._IterableDataset_len_called: int | None = None
        self._iterator = None
        self.check_worker_number_rationality()

    def _get_iterator(self) -> _BaseDataLoaderIter:
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        if importlib.util.find_spec("_multiprocessing") is None:
            raise RuntimeError(
                f"DataLoader(): num_workers={self.num_workers} needs processes, which this Python cannot start; pass "
                "num_workers=0"
            )
        from .workers import _MultiProcessingDataLoaderIter  # noqa: PLC0415 - processes: not in every Python

        self.check_worker_number_rationality()
        return _MultiProcessingDataLoaderIter(self)

    @property
    def multiprocessing_context(self) -> BaseContext | None:
        """How worker processes are started: None, or a context of `multiprocessing`."""
        return self._multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None:
            if self.num_workers == 0:
                raise ValueError(
                    "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
                    f"num_workers={self.num_workers}"
                )
            if isinstance(context, str):
                known = multiprocessing.get_all_start_methods()
                if context not in known:
                    raise ValueError(
                        f"multiprocessing_context option should specify a valid start method in {known!r}, but got "
                        f"multiprocessing_context={context!r}"
                    )
                context = multiprocessing.get_context(context)
            if not isinstance(context, BaseContext):
                raise TypeError(
                    "multiprocessing_context option should be a valid context object or a string specifying the start "
                    f"method, but got multiprocessing_context={context}"
                )
        self._multiprocessing_context: BaseContext | None = context

    def __setattr__(self, name: str, value: object) -> None:
        if self._initialized and name in _FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @short_tracebacks
    def __iter__(self) -> Iterator[Any]:
        if not (self.persistent_workers and self.num_workers > 0):
            return self._get_iterator()
        if self._iterator is None:
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator  # type: ignore[no-any-return]

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        """The sampler whose items the fetcher gets: that of batches, if there are batches."""
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def __len__(self) -> int:
        if self._dataset_kind == _DatasetKind.Map:
            return len(self._index_sampler)
        length = self._IterableDataset_len_called = len(self.dataset)
        if self.batch_size is not None:
            length = length // self.batch_size if self.drop_last else -(-length // self.batch_size)
        return length

    def check_worker_number_rationality(self) -> None:
        """Warn when there are to be more workers than CPUs that this process may use."""
        if not self.num_workers:
            return
        count, exact = _cpu_count()
        if count is not None and self.num_workers <= count:
            return
        if count is None:
            advice = "DataLoader is not able to compute a suggested max number of worker in current system."
        else:
            doubt = "" if exact else " (`cpuset` is not taken into account)"
            advice = (
                f"Our suggested max number of worker in current system is {count}{doubt}, which is smaller than what "
                "this DataLoader is going to create."
            )
        warnings.warn(
            f"This DataLoader will create {self.num_workers} worker processes in total. {advice} Please be aware that "
            "excessive worker creation might get DataLoader running slow or even freeze, lower the worker number to "
            "avoid potential slowness/freeze if necessary.",
            stacklevel=3,
        )


def _refuse_for_iterable(shuffle: object, sampler: object, batch_sampler: object) -> None:
    """Raise ValueError for what makes no sense with an IterableDataset, which chooses the order itself."""
    given = {
        "shuffle": shuffle if shuffle not in (False, None) else None, "sampler": sampler, "batch_sampler": batch_sampler
    }  # fmt: skip
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
            )


class _BaseDataLoaderIter:
    """The part that the iterators of a loader have in common."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._dataset = loader.dataset
        self._dataset_kind = loader._dataset_kind
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._index_sampler = loader._index_sampler
        self._num_workers = loader.num_workers
        if loader.pin_memory and loader.pin_memory_device:
            warnings.warn(
                "pin_memory_device is deprecated, the current accelerator will be used as the device,ignore "
                f"pin_memory_device='{loader.pin_memory_device}'.",
                stacklevel=outside_stacklevel(),
            )
        self._pin_memory = loader.pin_memory and tl.cuda.is_available()
        if loader.pin_memory and not self._pin_memory:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be "
                "used.",
                stacklevel=outside_stacklevel(),
            )
        self._timeout = loader.timeout
        # No reference to the loader: one that holds its iterator, for persistent workers, would make a cycle.
        self._make_fetcher = partial(
            _DatasetKind.create_fetcher,
            loader._dataset_kind, loader.dataset, loader._auto_collation, loader.collate_fn, loader.drop_last,
        )  # fmt: skip
        self._sampler_iter = iter(self._index_sampler)
        self._base_seed = random_seed(loader.generator)
        self._persistent_workers = loader.persistent_workers
        self._num_yielded = 0

    def __iter__(self) -> Self:
        return self

    def _reset(self, loader: DataLoader[Any], first_iter: bool = False) -> None:
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = loader._IterableDataset_len_called

    def _next_data(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define _next_data()")

    @short_tracebacks
    def __next__(self) -> Any:
        data = self._next_data()
        if self._pin_memory:
            data = _utils.pin_memory.pin_memory(data)
        self._num_yielded += 1
        expected = self._IterableDataset_len_called
        if expected is not None and self._num_yielded > expected and self._dataset_kind == _DatasetKind.Iterable:
            text = (
                f"Length of IterableDataset {self._dataset} was reported to be {expected}(when accessing "
                f"len(dataloader)), but {self._num_yielded} samples have been fetched. "
            )
            if self._num_workers > 0:
                text += (
                    "For multiprocessing data-loading, this could be caused by not properly configuring the "
                    "IterableDataset replica at each worker. Please see "
                    "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples."
                )
            warnings.warn(text, stacklevel=outside_stacklevel())
        return data

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> Any:
        raise NotImplementedError("{} cannot be pickled", type(self).__name__)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """An iterator that loads in this process."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        if self._timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        self._dataset_fetcher = self._make_fetcher()

    def _next_data(self) -> Any:
        return self._dataset_fetcher.fetch(next(self._sampler_iter))


def __getattr__(name: str) -> Any:
    if name == "_MultiProcessingDataLoaderIter":
        from .workers import _MultiProcessingDataLoaderIter  # noqa: PLC0415 - processes: not in every Python

        return _MultiProcessingDataLoaderIter
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
