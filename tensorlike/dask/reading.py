"""Tensors in chunks from and to dask arrays, ordinary tensors and files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np

from tensorlike.autograd.grad_mode import recording_block
from tensorlike.tensor.creation.from_data import as_tensor
from tensorlike.tensor.dtypes import as_numpy_dtype, dtype_of
from tensorlike.tensor.dtypes import dtype as Dtype
from tensorlike.tensor.tensor import Tensor

from .chunked import AsType, ChunkedTensor, chunked, is_chunked, numpy_meta
from .creation import chunks_for, in_parts
from .mapping import map_chunks, on_chunks, stored
from .tasks import ChunkCall, ChunkFunction, Place, array_in, chunk_from


def from_dask(
    array: np.ndarray[Any, Any] | da.Array, *, chunk_type: Callable[[Any], Any] | type | None = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Return a dask array as a tensor in its chunks; nothing is computed.

    `chunk_type` is a subclass of Tensor for the chunks, or a function that makes one of an ordinary tensor; it is
    called once on a tensor of one element, to learn the type. The arrays are not copied.

    Raises TypeError for anything but a dask array, and for dtypes that tensors have not.
    """
    if isinstance(array, ChunkedTensor):
        return array
    if not isinstance(array, da.Array):
        raise TypeError(
            f"from_dask(): expected a dask array, got {type(array).__name__}; use from_tensor() for a tensor or "
            "an array"
        )
    try:
        dtype_of(array.dtype)
    except (TypeError, KeyError, ValueError):
        raise TypeError(
            f"from_dask(): tensors have no dtype for {array.dtype}: convert the array with astype() first"
        ) from None
    sample = _sample_for(array)
    made = on_chunks(ChunkCall(chunk_from, ((Place(0),), {}), "from_dask"), [array], array.dtype)
    result = chunked(made, sample)
    if chunk_type is not None:
        result = map_chunks(_typed(chunk_type), result)
    return result.requires_grad_() if requires_grad else result


def _sample_for(array: da.Array) -> Any:
    meta = array._meta
    if isinstance(meta, np.ndarray) or not hasattr(meta, "dtype"):
        return chunk_from(np.ones((1,) * array.ndim, array.dtype))
    return chunk_from(meta).new_ones((1,) * array.ndim)  # Of another array library.


def _typed(chunk_type: Callable[..., Any]) -> Any:
    if isinstance(chunk_type, type) and issubclass(chunk_type, Tensor):
        return AsType(chunk_type)
    if not callable(chunk_type):
        raise TypeError(f"from_dask(): argument 'chunk_type' must be a type or a function, not {chunk_type!r}")
    return chunk_type


def from_tensor(tensor: Any, chunks: Any = "auto", *, requires_grad: bool | None = None) -> Any:
    """Return a tensor, or anything that `as_tensor` takes, in chunks. Its history stays with the tensor.

    The tasks read the tensor's own memory: do not write to it before the result was computed.

    Args:
        chunks: as dask takes them: a size, sizes for each dimension, "auto", or -1 for a single chunk.
        requires_grad: of the result, a leaf; that of the tensor unless given.
    """
    if is_chunked(tensor):
        return tensor.rechunk(chunks)
    whole = as_tensor(tensor)
    wanted = bool(whole.requires_grad) if requires_grad is None else requires_grad
    with recording_block(False):
        whole = whole.detach()
        array = stored(whole, tuple((n,) for n in whole.shape))
    array = array.rechunk(chunks_for("from_tensor", tuple(whole.shape), chunks, array.dtype)) if whole.dim() else array
    result = chunked(array, whole[(slice(0, 1),) * whole.dim()])
    return result.requires_grad_() if wanted else result


def to_dask(tensor: Any) -> Any:
    """Return the chunks of a tensor as a dask array of NumPy (or CuPy) arrays, without history."""
    data = tensor._tl_data
    numbers = tuple(range(data.ndim))
    return da.blockwise(
        array_in,
        numbers,
        data.array,
        numbers,
        dtype=data.dtype,
        meta=numpy_meta(data.ndim, data.dtype),
        token="to_dask",
    )


def from_zarr(*args: Any, requires_grad: bool = False, **options: Any) -> Any:
    """Return a Zarr array as a tensor in its chunks; the arguments are those of `dask.array.from_zarr`."""
    return from_dask(da.from_zarr(*args, **options), requires_grad=requires_grad)


def from_parquet(
    path: str | Path, columns: Sequence[str] | None = None, *, dtype: Dtype | None = None, requires_grad: bool = False,
    **options: Any,
) -> Any:  # fmt: skip
    """Return columns of a Parquet file, or of several, as a matrix with a row for each of theirs, in chunks of rows.

    The row groups are the chunks; their sizes are read from the files' metadata. It needs pyarrow.

    Args:
        columns: the names of the columns, all of them by default.
        dtype: that of the result; by default the one that the columns are promoted to.
        options: those of `pyarrow.dataset.dataset`.

    Raises TypeError for columns that are no numbers, and ValueError for columns that are not there.
    """
    import pyarrow.dataset as pads  # noqa: PLC0415 - optional

    dataset = pads.dataset(path, format="parquet", **options)
    known = dataset.schema.names
    wanted = list(known if columns is None else columns)
    missing = [c for c in wanted if c not in known]
    if missing:
        raise ValueError(f"from_parquet(): there is no column {missing[0]!r}; there are {', '.join(known)}")
    if not wanted:
        raise ValueError("from_parquet(): argument 'columns' names no column")
    kinds = [dataset.schema.field(c).type.to_pandas_dtype() for c in wanted]
    for name, kind in zip(wanted, kinds, strict=True):
        if np.dtype(kind).kind not in "biuf":
            raise TypeError(
                f"from_parquet(): the column {name!r} is of the type {dataset.schema.field(name).type}, which has no "
                "dtype: leave it out of columns="
            )
    found = np.result_type(*kinds) if dtype is None else as_numpy_dtype(dtype, "from_parquet")
    groups = [
        (fragment.path, number, fragment.metadata.row_group(group).num_rows)
        for fragment in dataset.get_fragments()
        for number, group in enumerate(range(fragment.metadata.num_row_groups))
    ]
    groups = [g for g in groups if g[2]] or [(None, 0, 0)]
    chunks = (tuple(g[2] for g in groups), (len(wanted),))
    read = _RowGroup(wanted, found, dataset.filesystem)
    result = in_parts("from_parquet", read, [g[:2] for g in groups], chunks, chunk_from(np.ones((1, 1), found)))
    return result.requires_grad_() if requires_grad else result


class _RowGroup(ChunkFunction):
    """Reads columns of one row group of a Parquet file as a matrix."""

    def __init__(self, columns: list[str], dtype: Any, filesystem: Any) -> None:
        self.columns, self.dtype, self.filesystem = columns, dtype, filesystem

    def __call__(self, part: tuple[Any, int]) -> Any:
        import pyarrow.parquet as pq  # noqa: PLC0415 - optional

        path, group = part
        if path is None:
            return chunk_from(np.empty((0, len(self.columns)), self.dtype))
        table = pq.ParquetFile(path, filesystem=self.filesystem).read_row_group(group, columns=self.columns)
        values = [table.column(c).to_numpy().astype(self.dtype, copy=False) for c in self.columns]
        return chunk_from(np.stack(values, axis=1))
