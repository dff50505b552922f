"""The sampler that gives each of several processes its share of a dataset."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sized
from itertools import cycle, islice
from typing import Any, TypeVar

from tensorlike._originals import tl

from .sampler import Sampler

__all__ = ["DistributedSampler"]

T_co = TypeVar("T_co", covariant=True)


class DistributedSampler(Sampler[T_co]):
    """The indices of a dataset for one of several processes: every `num_replicas`-th of them, from `rank`.

    All processes get as many: the first indices are used again, or with `drop_last` the last ones by none. Call
    `set_epoch` before each epoch, or the order is always the same. Raises RuntimeError without `num_replicas` and
    `rank`: there is no package `distributed` to ask.

    >>> list(tl.utils.data.DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
    [1, 3, 0]

    Args:
        dataset: The dataset.
        num_replicas: The number of processes.
        rank: The number of this process.
        shuffle: Whether the order is random, the same one in all processes.
        seed: The seed of the order.
        drop_last: Whether samples are left out rather than used twice.
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            raise RuntimeError("Requires distributed package to be available")
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        size = len(dataset)
        self.num_samples = size // num_replicas if drop_last else math.ceil(size / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[T_co]:
        size = len(self.dataset)
        order: Any = range(size)
        if self.shuffle:
            generator = tl.Generator().manual_seed(self.seed + self.epoch)
            order = tl.randperm(size, generator=generator).tolist()
        # Longer than the dataset, the order starts again.
        return islice(cycle(order), self.rank, self.total_size, self.num_replicas)

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Set the number of the epoch, which chooses the random order."""
        self.epoch = epoch
