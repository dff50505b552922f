"""Data that outgrows one process, with Dask: tensors in chunks, and training on chunks.

A `ChunkedTensor` holds a dask array of tensors. Functions of tensors, and `backward`, add tasks to its graph; nothing
is computed before `compute()` or `persist()`. `data_parallel` and `value_and_grad` run forward and backward of each
chunk on the worker where the chunk lies, and send sums of gradients. It needs the extra `tensorlike[dask]`.
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

from . import late_names as late_names
from . import rules
from .chunked import ChunkedTensor
from .collection import compute, persist
from .creation import arange, empty, eye, from_function, full, linspace, ones, zeros
from .data_parallel import DataParallel, data_parallel, value_and_grad
from .mapping import map_chunks
from .random import normal, rand, randint, randn
from .reading import from_dask, from_parquet, from_tensor, from_zarr, to_dask
from .tasks import ChunkError

del dask

__all__ = [
    "ChunkError", "ChunkedTensor", "DataParallel", "arange", "compute", "data_parallel", "empty", "eye", "from_dask",
    "from_function", "from_parquet", "from_tensor", "from_zarr", "full", "linspace", "map_chunks", "normal", "ones",
    "persist", "rand", "randint", "randn", "rules", "to_dask", "value_and_grad", "zeros",
]  # fmt: skip
