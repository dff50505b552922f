"""Steps of optimizers on raw memory, in place and a block at a time.

A step written with whole tensors reads and writes every array once per operation, and makes a temporary for most. Done
block by block, each pass reads data that is still in the cache: half the time for parameters larger than it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tensorlike.dispatch.core import TENSORS
from tensorlike.tensor.declarations.runtime import run_quietly
from tensorlike.tensor.declarations.threads import in_parts
from tensorlike.tensor.memory.views import bump

__all__ = ["in_blocks"]

#: Elements updated at a time: 256 KB of float32 of each array.
_BLOCK = 1 << 16


def in_blocks(step: Callable[..., Any], written: Sequence[Any], read: Sequence[Any], *options: Any) -> bool:
    """Call `step(arrays, work, *options)` for each block of the tensors `written` and `read`; return whether it did.

    `arrays` are blocks of their memory in this order, `work` is a block to compute in. Nothing is done unless all are
    plain tensors of one shape and one real dtype without gaps, and no mode is active that would have to see the step.
    """
    if type(written[0]) not in TENSORS:
        return False
    dtype = written[0]._tl_data.dtype
    vectors = []
    for tensor in (*written, *read):
        if type(tensor) not in TENSORS:
            return False  # A tensor-like object has no array.
        array = tensor._tl_data
        if (
            tensor._tl_inference
            or type(array) is not np.ndarray
            or array.dtype is not dtype
            or array.shape != written[0]._tl_data.shape
            or not (array.flags.c_contiguous and array.flags.writeable)
        ):
            return False
        vectors.append(array.reshape(-1))
    if dtype.char not in "fd":
        return False
    run_quietly(_run, step, vectors, options)
    for tensor in written:
        bump(tensor)
    return True


def _blocks(vectors: Sequence[Any]) -> Iterator[Any]:
    size = vectors[0].size
    for start in range(0, size, _BLOCK):
        yield [v[start : start + _BLOCK] for v in vectors]


def _run(step: Callable[..., Any], vectors: Sequence[Any], options: Any) -> None:
    if vectors[0].size <= _BLOCK:
        step(vectors, np.empty(vectors[0].size, vectors[0].dtype), *options)
        return

    def part(start: int, stop: int) -> None:
        scratch = np.empty(min(_BLOCK, stop - start), vectors[0].dtype)
        for arrays in _blocks([v[start:stop] for v in vectors]):
            step(arrays, scratch[: arrays[0].size], *options)

    in_parts(part, vectors[0].size, vectors[0].size)
