"""The tree of a reduction: a step for each chunk, steps that combine two of these, and a last one.

What a chunk leaves for the combination (a partial sum, or the sum with the count for a mean) is made by public
functions and has the reduced dimensions, of size 1.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import dask.array as da
import numpy as np
from dask.array.reductions import reduction
from dask.core import flatten

from tensorlike._originals import tl
from tensorlike.tensor import Tensor
from tensorlike.tensor.dtypes import dtype as Dtype

from .chunked import numpy_meta
from .mapping import on_chunks
from .tasks import ChunkCall, ChunkFunction, Place


class _Step(ChunkFunction):
    """One step of a reduction, as dask calls it: combines nested lists of partial results, and may finish them."""

    def __init__(self, combine: Any, finish: Any, name: str, dims: tuple[int, ...], keepdim: bool) -> None:
        self.combine, self.finish, self.name, self.dims, self.keepdim = combine, finish, name, dims, keepdim

    def __call__(self, partials: Any, axis: tuple[int, ...] | None = None, keepdims: bool = True, **unused: Any) -> Any:
        return ChunkCall(self._finished, ((partials,), {}), self.name)(())

    def _finished(self, partials: Any) -> Any:
        found = list(flatten(partials)) if isinstance(partials, list) else [partials]
        total = functools.reduce(self.combine, found)
        if self.finish is None:
            return total
        result = self.finish(total)
        return result if self.keepdim else result.squeeze(self.dims)


def _identity(partial: Partials, axis: tuple[int, ...] | None = None, keepdims: bool = True) -> Any:
    return partial


class Partials:
    """Keeps several tensors that a chunk leaves one value."""

    __slots__ = ("values",)

    def __init__(self, *values: Any) -> None:
        self.values = values

    def __reduce__(self) -> tuple[Any, ...]:
        return (Partials, self.values)


def tree(
    name: str,
    tensor: Tensor,
    dims: Sequence[int],
    keepdim: bool,
    first: Callable[..., Any],
    combine: Callable[[Any, Any], Any],
    finish: Callable[[Any], Any],
    dtype: np.dtype[Any],
    *,
    takes_index: bool = False,
) -> Any:
    """Return the dask array of a reduction over `dims`, of which there is at least one.

    `first(chunk)` makes what a chunk leaves, `combine` one of two of these, `finish` the result of the last.
    """
    array = tensor._tl_data.array
    dims = tuple(dims)
    numbers = tuple(range(array.ndim))
    partials = on_chunks(
        ChunkCall(first, ((Place(0),), {}), name, takes_index), [array], array.dtype, indices=[numbers], result=numbers,
        adjust=dict.fromkeys(dims, 1),
    )  # fmt: skip
    # dask makes the tree from the number of chunks alone; it never looks at one.
    found = reduction(
        partials, _identity, _Step(combine, finish, name, dims, keepdim),
        axis=dims, keepdims=keepdim, dtype=dtype, combine=_Step(combine, None, name, dims, True), name=name,
        concatenate=False, meta=numpy_meta(array.ndim - (0 if keepdim else len(dims)), dtype),
    )  # fmt: skip
    return da.Array(found.dask, found.name, found.chunks, dtype=dtype, meta=numpy_meta(found.ndim, dtype))


class Call(ChunkFunction):
    """A public function with options, for the chunks of a reduction."""

    def __init__(self, function: Callable[..., Any], *rest: Any, **options: Any) -> None:
        self.function, self.rest, self.options = function, rest, options

    def __call__(self, *tensors: Tensor) -> Any:
        return self.function(*tensors, *self.rest, **self.options)


class To(ChunkFunction):
    """Converts the last partial result to the dtype of the result."""

    def __init__(self, dtype: Dtype) -> None:
        self.dtype = dtype

    def __call__(self, value: Tensor) -> Any:
        return value.to(self.dtype)


class Sum(ChunkFunction):
    """Adds a chunk up along dimensions, or converts the last sum to the dtype of the result."""

    def __init__(self, dims: tuple[int, ...] | None, dtype: Dtype) -> None:
        self.dims, self.dtype = dims, dtype

    def __call__(self, tensor: Tensor) -> Any:
        if self.dims is None or all(tensor.shape[d] == 1 for d in self.dims):
            return tensor if tensor.dtype == self.dtype else tensor.to(self.dtype)
        return tensor.sum(self.dims, True, dtype=self.dtype)


def wide(dtype: Dtype) -> Any:
    """Return the dtype in which half precision is summed."""
    return tl.float32 if dtype in (tl.float16, tl.bfloat16) else dtype
