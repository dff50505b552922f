"""Tensors in chunks, computed by Dask: data larger than memory, with code written for tensors.

A `ChunkedTensor` holds a dask array of tensors. Functions of tensors, and `backward`, add tasks to its graph; nothing
is computed before `compute()` or `persist()`. It needs the extra `tensorlike[dask]`.
"""

from __future__ import annotations

try:
    import dask.array
except ImportError as error:
    raise ImportError("tensorlike.dask needs Dask: python3 -m pip install 'tensorlike[dask]'") from error

if getattr(dask.array, "array_expr_enabled", bool)():
    raise ImportError(
        "tensorlike.dask works on the graphs of arrays, not on their expressions: set Dask's array.query-planning to "
        "False before dask.array is imported"
    )

from . import rules
from .chunked import ChunkedTensor
from .collection import compute, persist
from .creation import arange, empty, eye, from_function, full, linspace, ones, zeros
from .mapping import map_chunks
from .random import normal, rand, randint, randn
from .reading import from_dask, from_parquet, from_tensor, from_zarr, to_dask
from .tasks import ChunkError

del dask

__all__ = [
    "ChunkError", "ChunkedTensor", "arange", "compute", "empty", "eye", "from_dask", "from_function", "from_parquet",
    "from_tensor", "from_zarr", "full", "linspace", "map_chunks", "normal", "ones", "persist", "rand", "randint",
    "randn", "rules", "to_dask", "zeros",
]  # fmt: skip
