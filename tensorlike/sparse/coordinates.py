"""The storage of a sparse tensor: raw arrays of indices and values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorlike.tensor.backends import backend_of, namespace_of, scatter_add
from tensorlike.transforms.description import Described


class _Backend:
    """The backend of a sparse array: it knows the device, and has no namespace to compute in."""

    def __init__(self, none: Any) -> None:
        self._none = none

    @property
    def namespace(self) -> Any:
        return self._none

    @property
    def device_type(self) -> str:
        return "cpu"

    def device_of(self, array: Any) -> Any:
        return backend_of(array.values).device_of(array.values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._none, name)


class Coordinates(Described):
    """The indices and values of a sparse tensor, shared by all tensors on the same memory.

    `indices` is an integer array (sparse_dim, n), `values` an array (n, *dense dimensions). In-place operations replace
    the fields.
    """

    __slots__ = ("coalesced", "indices", "values")

    tensorlike_backend: Any = _Backend(Described.tensorlike_backend)

    def __init__(self, indices: Any, values: Any, shape: tuple[int, ...], coalesced: bool) -> None:
        super().__init__(shape, values.dtype, values.device, "a sparse tensor")
        self.indices, self.values, self.coalesced = indices, values, coalesced

    @property
    def count(self) -> int:
        """The number of stored elements."""
        return int(self.indices.shape[1])

    @property
    def sparse_shape(self) -> tuple[int, ...]:
        return self.shape[: self.indices.shape[0]]

    def replace(self, other: Coordinates) -> None:
        """Store what `other` stores."""
        self.indices, self.values, self.coalesced = other.indices, other.values, other.coalesced
        self.shape, self.dtype, self.device = other.shape, other.dtype, other.device

    def ordered(self) -> Coordinates:
        """Return the same elements in order, each once: those of the same place are added up."""
        if self.coalesced:
            return self
        xp = namespace_of(self.values)
        keys = keys_of(xp, self.indices, self.sparse_shape)
        if not bool((keys[1:] > keys[:-1]).all()):
            order = xp.argsort(keys, kind="stable")
            keys = keys[order]
            first = xp.ones(keys.shape, bool)
            first[1:] = keys[1:] != keys[:-1]
            values = summed(xp, self.values[order], first)
            return Coordinates(self.indices[:, order[first]], values, self.shape, True)
        return Coordinates(self.indices, self.values, self.shape, True)

    def whole(self) -> Any:
        """Return the array with zeros where nothing is stored."""
        xp = namespace_of(self.values)
        found = xp.zeros(self.shape, self.dtype)
        ordered = self.ordered()
        if len(ordered.indices):
            found[tuple(ordered.indices)] = ordered.values
        elif ordered.count:  # All in one place.
            found[...] = ordered.values[0]
        return found

    def in_order(self) -> bool:
        """Return whether the indices are in order and each comes once, which `coalesced` need not say."""
        if self.coalesced:
            return True
        keys = keys_of(namespace_of(self.values), self.indices, self.sparse_shape)
        return bool((keys[1:] > keys[:-1]).all())


def keys_of(xp: Any, indices: Any, shape: tuple[int, ...]) -> Any:
    """Return one number for each column of `indices`, in the order of the places in an array of that shape.

    Raises RuntimeError for a shape with more places than integers.
    """
    if math.prod(shape) >= 2**63:
        raise RuntimeError(f"a sparse tensor of size {list(shape)} has more places than 64-bit integers can count")
    keys = xp.zeros(indices.shape[1], np.int64)
    for row, n in zip(indices, shape, strict=True):
        keys = keys * n + row
    return keys


def summed(xp: Any, values: Any, first: Any) -> Any:
    """Return the sums of runs of `values`, which begin where `first` is true. Booleans are joined by or."""
    if not values.shape[0]:
        return values
    if xp is np and values.dtype.kind in "biufc":
        return np.add.reduceat(values, np.flatnonzero(first), axis=0, dtype=values.dtype)
    places = xp.cumsum(first) - 1
    if values.dtype.kind == "b":
        counts = summed(xp, values.astype(np.int64), first)
        return counts != 0
    found = xp.zeros((int(places[-1]) + 1, *values.shape[1:]), values.dtype)
    scatter_add(found, places, values)
    return found
