"""Datasets: collections of samples, by index or one after the other."""

from __future__ import annotations

import itertools
import math
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, Protocol, TypeVar

from typing_extensions import TypeVar as TypeVarWithDefault
from typing_extensions import deprecated

from tensorlike._originals import tl
from tensorlike.tensor.generator import default_generator

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")
Rows = TypeVarWithDefault("Rows", bound=Any, default="tl.Tensor")


class Samples(Protocol[T_co]):
    """Samples by index: a dataset, a list, or any other object with `__getitem__`."""

    def __getitem__(self, index: Any, /) -> T_co: ...


class SizedSamples(Samples[T_co], Sized, Protocol[T_co]):
    """Samples by index whose number is known."""


class Dataset(Generic[T_co]):
    """A collection of samples by index: the base class of map-style datasets.

    A subclass defines `__getitem__`, and `__len__` where samplers need it. `__getitems__`, which takes a list of
    indices and returns a list of samples, is used for whole batches where a subclass has it.

    >>> class Squares(tl.utils.data.Dataset):
    ...     def __getitem__(self, index):
    ...         return index**2
    ...     def __len__(self):
    ...         return 10
    >>> next(iter(tl.utils.data.DataLoader(Squares(), batch_size=4)))
    tensor([0, 1, 4, 9])
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[T_co]) -> ConcatDataset[T_co]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """A stream of samples: the base class of datasets that can only be iterated.

    Each worker process of a DataLoader has a copy of it and iterates the whole of it, unless `__iter__` chooses a part
    by `get_worker_info`.
    """

    def __add__(self, other: Dataset[T_co]) -> Any:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Rows, ...]]):
    """A dataset whose samples are the tuples of the rows of some tensors.

    Raises AssertionError for tensors of different first sizes.

    >>> tl.utils.data.TensorDataset(tl.arange(3), tl.ones(3, 2))[1]
    (tensor(1), tensor([1., 1.]))
    """

    tensors: tuple[Rows, ...]

    def __init__(self, *tensors: Rows) -> None:
        if any(tensors[0].size(0) != tensor.size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Rows, ...]:
        return tuple([tensor[index] for tensor in self.tensors])

    def __len__(self) -> int:
        return int(self.tensors[0].size(0))


def _samples(dataset: Any, indices: list[Any]) -> list[Any]:
    """Return the samples of a dataset at some indices, all at once where it can."""
    if callable(getattr(dataset, "__getitems__", None)):
        return dataset.__getitems__(indices)  # type: ignore[no-any-return]
    return [dataset[index] for index in indices]


class StackDataset(Dataset[Any]):
    """Datasets of the same length side by side: samples are tuples, or dicts for datasets given by name.

    Raises ValueError for both kinds at once, for none, and for different lengths.

    >>> tl.utils.data.StackDataset(a=[1, 2], b="xy")[1]
    {'a': 2, 'b': 'y'}
    """

    datasets: tuple[Any, ...] | dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like input/output, but both "
                "types are given."
            )
        self.datasets = args or kwargs
        parts = self._parts()
        if not parts:
            raise ValueError("At least one dataset should be passed")
        self._length = len(parts[0])
        if any(len(part) != self._length for part in parts):
            raise ValueError("Size mismatch between datasets")

    def _parts(self) -> list[Any]:
        return list(self.datasets.values() if isinstance(self.datasets, dict) else self.datasets)

    def _joined(self, values: Sequence[Any]) -> Any:
        return dict(zip(self.datasets, values)) if isinstance(self.datasets, dict) else tuple(values)

    def __getitem__(self, index: Any) -> Any:
        return self._joined([part[index] for part in self._parts()])

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        columns = []
        for part in self._parts():
            column = _samples(part, indices)
            if len(column) != len(indices):
                raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(column)}")
            columns.append(column)
        return [self._joined(row) for row in zip(*columns)]

    def __len__(self) -> int:
        return int(self._length)


class ConcatDataset(Dataset[T_co]):
    """Datasets one behind the other.

    Raises AssertionError for no dataset, and for an IterableDataset.

    >>> tl.utils.data.ConcatDataset([[1, 2], [3]])[-1]
    3
    """

    datasets: list[Any]
    cumulative_sizes: list[int]

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """Return the running sums of the lengths of some datasets."""
        return list(itertools.accumulate(len(dataset) for dataset in sequence))

    def __init__(self, datasets: Iterable[Samples[T_co]]) -> None:
        super().__init__()
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: Any) -> T_co:
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        which = bisect_right(self.cumulative_sizes, idx)
        before = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][idx - before]  # type: ignore[no-any-return]

    @property
    @deprecated("`cummulative_sizes` attribute is renamed to `cumulative_sizes`", category=FutureWarning)
    def cummulative_sizes(self) -> list[int]:
        """The former name of `cumulative_sizes`."""
        return self.cumulative_sizes


class ChainDataset(IterableDataset[Any]):
    """Iterable datasets one after the other; raises AssertionError when it comes to another kind."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        super().__init__()
        self.datasets = datasets

    def _checked(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield dataset

    def __iter__(self) -> Iterator[Any]:
        for dataset in self._checked():
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self._checked())


class Subset(Dataset[T_co]):
    """The samples of a dataset at some indices.

    Raises NotImplementedError for a subclass with a `__getitem__` but no `__getitems__` of its own, which a DataLoader
    would call instead.

    >>> list(tl.utils.data.Subset("abc", [2, 0]))
    ['c', 'a']
    """

    dataset: Any
    indices: Sequence[int]

    def __init__(self, dataset: Samples[T_co], indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices
        kind = type(self)
        if kind.__getitem__ is not Subset.__getitem__ and kind.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{kind.__name__} overrides __getitem__ but not __getitems__. When subclassing Subset and overriding "
                "__getitem__, you must also override __getitems__ to ensure DataLoader works correctly with your "
                "custom logic. A simple implementation:\n\ndef __getitems__(self, indices):\n    return "
                "[self.__getitem__(idx) for idx in indices]"
            )

    def __getitem__(self, idx: Any) -> T_co:
        wanted = [self.indices[i] for i in idx] if isinstance(idx, list) else self.indices[idx]
        return self.dataset[wanted]  # type: ignore[no-any-return]

    def __getitems__(self, indices: list[int]) -> list[T_co]:
        return _samples(self.dataset, [self.indices[index] for index in indices])

    def __len__(self) -> int:
        return len(self.indices)


def _sizes_of_fractions(total: int, fractions: Sequence[float]) -> list[int]:
    sizes = []
    for i, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            raise ValueError(f"Fraction at index {i} is not between 0 and 1")
        sizes.append(math.floor(total * fraction))
    for i in range(total - sum(sizes)):
        sizes[i % len(sizes)] += 1
    for i, size in enumerate(sizes):
        if size == 0:
            warnings.warn(f"Length of split at index {i} is 0. This might result in an empty dataset.", stacklevel=3)
    return sizes


def random_split(
    dataset: SizedSamples[T], lengths: Sequence[float], generator: tl.Generator | None = default_generator
) -> list[Subset[T]]:
    """Split a dataset at random into subsets of the given lengths, or fractions of its length that add up to 1.

    Samples that are left over by rounding fractions down go to the first subsets, one each. Raises ValueError when the
    lengths do not add up to that of the dataset.

    >>> [len(part) for part in tl.utils.data.random_split(range(10), [0.75, 0.25])]
    [8, 2]
    """
    total = sum(lengths)
    if math.isclose(total, 1) and total <= 1:
        lengths = _sizes_of_fractions(len(dataset), lengths)
    if sum(lengths) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = iter(tl.randperm(len(dataset), generator=generator).tolist())
    return [Subset(dataset, list(itertools.islice(order, int(length)))) for length in lengths]
