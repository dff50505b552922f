"""Fetchers: from indices to a batch, for both kinds of datasets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import numpy as np

from tensorlike._originals import tl
from tensorlike.dispatch.core import STATE

from ..dataset import Subset, TensorDataset
from . import collate

__all__ = ["Fetcher", "IterableFetcher", "MapFetcher"]


class Fetcher:
    """The part that both kinds have: the dataset, and what is done to its samples."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> None:
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last

    def fetch(self, possibly_batched_index: Any) -> Any:
        """Return the collated samples at an index or, with `auto_collation`, at a list of indices."""
        raise NotImplementedError(f"{type(self).__name__} does not define fetch(possibly_batched_index)")


class IterableFetcher(Fetcher):
    """The fetcher of an IterableDataset, which takes the next samples; the indices say how many."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> None:
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        self.dataset_iter = iter(dataset)
        self.ended = False

    def fetch(self, possibly_batched_index: Any) -> Any:
        """Return the next batch or sample, collated. Raises StopIteration at the end of the dataset."""
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.dataset_iter))
        wanted = len(possibly_batched_index)
        samples = list(islice(self.dataset_iter, wanted))
        if len(samples) < wanted:
            self.ended = True
            if not samples or self.drop_last:
                raise StopIteration
        return self.collate_fn(samples)


class MapFetcher(Fetcher):
    """The fetcher of a dataset that has samples by index."""

    def fetch(self, possibly_batched_index: Any) -> Any:
        """Return the collated samples at an index or at a list of indices."""
        dataset = self.dataset
        if not self.auto_collation:
            return self.collate_fn(dataset[possibly_batched_index])
        if self.collate_fn is collate.default_collate:
            rows = _rows(dataset, possibly_batched_index)
            if rows is not None:
                return rows
        if getattr(dataset, "__getitems__", None):
            return self.collate_fn(dataset.__getitems__(possibly_batched_index))
        return self.collate_fn([dataset[index] for index in possibly_batched_index])


_dataset_item, _subset_items = TensorDataset.__getitem__, Subset.__getitems__


def _rows(dataset: Any, indices: Sequence[int]) -> list[Any] | None:
    """Return the batch of a TensorDataset, or a Subset of one, by one indexing of each of its plain tensors.

    It is what stacking the samples gives, at a tenth of its price. Returns None where a program could tell the
    difference.
    """
    try:
        while type(dataset) is Subset and Subset.__getitems__ is _subset_items:
            indices = [dataset.indices[index] for index in indices]
            dataset = dataset.dataset
        if (
            type(dataset) is not TensorDataset
            or TensorDataset.__getitem__ is not _dataset_item
            or collate.default_collate_fn_map.get(tl.Tensor) is not collate.collate_tensor_fn
            or not STATE.get().clear
            or not indices
            or not all(type(index) is int for index in indices)
            or any(type(tensor) is not tl.Tensor or tensor.requires_grad for tensor in dataset.tensors)
        ):
            return None
        places = tl.from_numpy(np.array(indices, np.int64))
        return [tensor[places] for tensor in dataset.tensors]
    except (IndexError, TypeError):
        return None  # The error of a single sample says which one it is.
