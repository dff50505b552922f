"""Samplers: the order in which the samples of a dataset are loaded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import islice
from typing import Any, Generic, TypeVar

from tensorlike._originals import tl

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

T_co = TypeVar("T_co", covariant=True)

#: As many indices are drawn at once with replacement.
_DRAWN_AT_ONCE = 32


class Sampler(Generic[T_co]):
    """The base class of samplers: `__iter__` yields indices, or lists of indices, of samples."""

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__} does not define __iter__()")


class SequentialSampler(Sampler[int]):
    """The indices of a dataset in order.

    >>> list(tl.utils.data.SequentialSampler("abc"))
    [0, 1, 2]
    """

    data_source: Sized

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


def random_seed(generator: tl.Generator | None = None) -> int:
    """Draw a seed from a generator, the default one if it is None."""
    return int(tl.empty((), dtype=tl.int64).random_(generator=generator).item())


class RandomSampler(Sampler[int]):
    """The indices of a dataset in random order, another one each time.

    >>> sorted(tl.utils.data.RandomSampler("abc"))
    [0, 1, 2]

    Args:
        data_source: The dataset.
        replacement: Whether each index is drawn from all of them.
        num_samples: The number of indices; that of samples by default. More than that are drawn in several rounds.
        generator: The source of the order; a new one, seeded by the default one, if it is None.
    """

    data_source: Sized
    replacement: bool

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: tl.Generator | None = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={self.num_samples}")

    @property
    def num_samples(self) -> int:
        """The number of indices."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        size, left = len(self.data_source), self.num_samples
        generator = self.generator
        if generator is None:
            generator = tl.Generator().manual_seed(random_seed())
        while left > 0:
            if self.replacement:
                drawn = tl.randint(size, (min(left, _DRAWN_AT_ONCE),), dtype=tl.int64, generator=generator)
            else:
                drawn = tl.randperm(size, generator=generator)[:left]
            yield from drawn.tolist()
            left -= len(drawn)

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Some indices in random order.

    >>> sorted(tl.utils.data.SubsetRandomSampler([5, 3, 9]))
    [3, 5, 9]
    """

    indices: Sequence[int]

    def __init__(self, indices: Sequence[int], generator: tl.Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for place in tl.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[place]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn with probabilities that are proportional to weights.

    >>> list(tl.utils.data.WeightedRandomSampler([0.0, 1.0, 0.0], 2))
    [1, 1]

    Args:
        weights: The weight of each index.
        num_samples: The number of indices to draw.
        replacement: Whether an index can be drawn more than once.
        generator: The source of random numbers.
    """

    weights: tl.Tensor
    num_samples: int
    replacement: bool

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: tl.Generator | None = None,
    ) -> None:
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = tl.as_tensor(weights, dtype=tl.float64)
        if self.weights.dim() != 1:
            raise ValueError(
                f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = tl.multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """The indices of another sampler in lists of `batch_size`; with `drop_last`, without a shorter last one.

    >>> list(tl.utils.data.BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(islice(indices, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield batch

    def __len__(self) -> int:
        total = len(self.sampler)  # type: ignore[arg-type]
        return total // self.batch_size if self.drop_last else -(-total // self.batch_size)
