"""Making tensors in chunks, each chunk by the factory of tensors of its own shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import dask.array as da
import numpy as np
from dask.array.core import normalize_chunks
from dask.highlevelgraph import HighLevelGraph
from dask.layers import ArrayBlockIdDep, ArrayChunkShapeDep, ArraySliceDep
from dask.tokenize import tokenize

from tensorlike._originals import tl
from tensorlike.dispatch.operation import Form, operation_of
from tensorlike.tensor import Tensor
from tensorlike.tensor.creation import filled as of_tensors
from tensorlike.tensor.device import as_device
from tensorlike.tensor.device import device as Device
from tensorlike.tensor.dims import size_argument
from tensorlike.tensor.dtypes import dtype as Dtype
from tensorlike.tensor.dtypes import dtype_of

from .chunked import ChunksLike, Method, called, chunked, is_chunked, numpy_meta, rule
from .recording import arguments
from .tasks import ChunkCall, ChunkFunction, Place


def chunks_for(name: str, shape: int | Sequence[int], chunks: ChunksLike, dtype: np.dtype[Any]) -> Any:
    """Return the chunks of a shape as dask has them. Raises RuntimeError or ValueError for sizes that are none."""
    sizes = size_argument(shape, name)
    for n in sizes:
        if n < 0:
            raise RuntimeError(f"{name}(): Trying to create tensor with negative dimension {n}: {list(sizes)}")
    if 0 in sizes and chunks == "auto":  # dask divides by the number of elements.
        return tuple((n,) for n in sizes)
    try:
        return normalize_chunks(chunks, sizes, dtype=np.dtype(dtype))
    except (ValueError, TypeError, NotImplementedError) as error:
        raise ValueError(
            f"{name}(): argument 'chunks' ({chunks!r}) does not fit the shape {list(sizes)}: {error}"
        ) from None


def in_chunks(
    name: str, call: Callable[..., Any], chunks: tuple[tuple[int, ...], ...], sample: Tensor, *,
    of: type = ArrayChunkShapeDep,
) -> Any:  # fmt: skip
    """Return the chunked tensor whose chunks `call(shape)` makes, each of its own shape, or of its slices."""
    numbers = tuple(range(len(chunks)))
    array = da.blockwise(
        ChunkCall(call, ((Place(0),), {}), name),
        numbers,
        ArrayBlockIdDep(chunks),
        numbers,
        of(chunks),
        numbers,
        align_arrays=False,
        dtype=sample._tl_data.dtype,
        meta=numpy_meta(len(chunks), sample._tl_data.dtype),
        token=name,
    )
    return chunked(array, sample)


class Filled(ChunkFunction):
    """Makes a chunk of one value, of the type of chunk that `like` has."""

    def __init__(self, like: Tensor, value: complex, dtype: Dtype) -> None:
        self.like, self.value, self.dtype = like, value, dtype

    def __call__(self, shape: tuple[int, ...]) -> Any:
        return self.like.new_full(shape, self.value, dtype=self.dtype)


def filled(like: Tensor, shape: Sequence[int], dtype: np.dtype[Any], value: complex) -> Any:
    """Return a chunked tensor of one value, in the chunks of `like` where it has its shape."""
    data = like._tl_data
    wanted = dtype_of(dtype)
    sizes = tuple(shape)
    chunks = data.array.chunks if sizes == data.array.shape else chunks_for("full", sizes, "auto", data.dtype)
    sample = data.sample.new_full((1,) * len(sizes), value, dtype=wanted)
    return in_chunks("full", Filled(sample.new_zeros(()), value, wanted), chunks, sample)


class _Made(ChunkFunction):
    """Makes a chunk by a factory of tensors."""

    def __init__(self, factory: Callable[..., Any], rest: tuple[Any, ...], options: dict[str, Any]) -> None:
        self.factory, self.rest, self.options = factory, rest, options

    def __call__(self, shape: tuple[int, ...]) -> Any:
        return self.factory(shape, *self.rest, **self.options)


def _made(
    name: str, factory: Callable[..., Any], size: Any, rest: Any, chunks: ChunksLike, dtype: Dtype | None,
    device: Device | str | None, requires_grad: bool,
) -> Any:  # fmt: skip
    where = as_device(device, name) if device is not None else None
    shape = size_argument(size, name)
    sample = factory((1,) * len(shape), *rest, dtype=dtype, device=where)
    # The dtype that is the default now, wherever and whenever the chunk is made.
    made = _Made(factory, tuple(rest), {"dtype": sample.dtype, "device": where})
    result = in_chunks(name, made, chunks_for(name, shape, chunks, sample._tl_data.dtype), sample)
    return result.requires_grad_() if requires_grad else result


def zeros(
    *size: int | Sequence[int], chunks: ChunksLike = "auto", dtype: Dtype | None = None,
    device: Device | str | None = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Return a chunked tensor of zeros; `chunks` is as dask takes it: a size, sizes for each dimension, or "auto"."""
    return _made("zeros", tl.zeros, size, (), chunks, dtype, device, requires_grad)


def ones(
    *size: int | Sequence[int], chunks: ChunksLike = "auto", dtype: Dtype | None = None,
    device: Device | str | None = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Return a chunked tensor of ones, as `zeros` does of zeros."""
    return _made("ones", tl.ones, size, (), chunks, dtype, device, requires_grad)


def empty(
    *size: int | Sequence[int], chunks: ChunksLike = "auto", dtype: Dtype | None = None,
    device: Device | str | None = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Return a chunked tensor whose elements are not initialised."""
    return _made("empty", tl.empty, size, (), chunks, dtype, device, requires_grad)


def full(
    size: Sequence[int], fill_value: complex, *, chunks: ChunksLike = "auto", dtype: Dtype | None = None,
    device: Device | str | None = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Return a chunked tensor of one number."""
    return _made("full", tl.full, (tuple(size),), (fill_value,), chunks, dtype, device, requires_grad)


class _Range(ChunkFunction):
    """Makes a chunk of evenly spaced numbers."""

    def __init__(self, start: float, step: float, end: float | None, count: int, dtype: Dtype, device: Any) -> None:
        self.start, self.step, self.end, self.count, self.dtype, self.device = start, step, end, count, dtype, device

    def __call__(self, slices: tuple[slice, ...]) -> Any:
        first, last = slices[0].start, slices[0].stop
        options: dict[str, Any] = {"device": self.device}
        if self.dtype.is_floating_point:
            places = tl.arange(first, last, dtype=tl.float64, **options)
            values = places * self.step + self.start
            if self.end is not None:  # Both ends are exact.
                values = tl.where(places * 2 < self.count, values, self.end - (self.count - 1 - places) * self.step)
            return values.to(self.dtype)
        return (tl.arange(first, last, dtype=tl.int64, **options) * self.step + self.start).to(self.dtype)


def arange(
    start: Any, end: float | None = None, step: Any = 1, *, chunks: ChunksLike = "auto", dtype: Dtype | None = None,
    device: Device | str | None = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Return the numbers from `start` to `end`, the latter left out, in steps; `arange(end)` begins at 0."""
    if end is None:
        start, end = 0, start
    if step == 0:
        raise RuntimeError("arange(): step must be nonzero")
    count = -int((start - end) // step) if any(isinstance(v, float) for v in (start, end, step)) else (
        max(0, -((start - end) // step))
    )  # fmt: skip
    if count < 0 or (end - start) / step < 0:
        raise RuntimeError(
            f"arange(): upper bound and lower bound inconsistent with step sign: from {start} to {end} in steps of "
            f"{step}"
        )
    sample = tl.arange(start, start + step, step, dtype=dtype, device=device)
    call = _Range(start, step, None, count, sample.dtype, device)
    found = in_chunks(
        "arange", call, chunks_for("arange", count, chunks, sample._tl_data.dtype), sample, of=ArraySliceDep
    )
    return found.requires_grad_() if requires_grad else found


def linspace(
    start: float, end: float, steps: int, *, chunks: ChunksLike = "auto", dtype: Dtype | None = None,
    device: Device | str | None = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Return `steps` evenly spaced numbers from `start` to `end`, both included."""
    sample = tl.linspace(start, end, 1, dtype=dtype, device=device)
    step = (end - start) / (steps - 1) if steps > 1 else 0
    call = _Range(start, step, end if steps > 1 else None, steps, sample.dtype, device)
    found = in_chunks(
        "linspace", call, chunks_for("linspace", steps, chunks, sample._tl_data.dtype), sample, of=ArraySliceDep
    )
    return found.requires_grad_() if requires_grad else found


class _Eye(ChunkFunction):
    """Makes a chunk of a matrix with ones on its diagonal."""

    def __init__(self, dtype: Dtype, device: Device | str | None) -> None:
        self.dtype, self.device = dtype, device

    def __call__(self, slices: tuple[slice, ...]) -> Any:
        rows, columns = (tl.arange(s.start, s.stop, device=self.device) for s in slices)
        return (rows.unsqueeze(1) == columns).to(self.dtype)


def eye(
    n: int, m: int | None = None, *, chunks: ChunksLike = "auto", dtype: Dtype | None = None,
    device: Device | str | None = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Return a matrix of `n` rows and `m` columns with ones on its diagonal and zeros elsewhere."""
    sample = tl.eye(1, dtype=dtype, device=device)
    shape = (n, n if m is None else m)
    found = in_chunks(
        "eye", _Eye(sample.dtype, device), chunks_for("eye", shape, chunks, sample._tl_data.dtype), sample,
        of=ArraySliceDep,
    )  # fmt: skip
    return found.requires_grad_() if requires_grad else found


def from_function(
    function: Callable[..., Any], shape: Sequence[int], *, chunks: ChunksLike = "auto", dtype: Dtype | None = None
) -> Any:
    """Return the tensor whose chunk in `slices` is `function(slices)`, a tensor of any tensor-like type.

    The function is called once for slices of one element each, to learn the type of the chunks.

    Raises TypeError when that returns no tensor.
    """
    sizes = size_argument(tuple(shape), "from_function")
    sample = function(tuple(slice(0, min(n, 1)) for n in sizes))
    if not isinstance(sample, tl.Tensor):
        raise TypeError(f"from_function(): the function must return a Tensor, not {type(sample).__name__}")
    made: Any = function if dtype is None else _Converted(function, dtype)
    sample = sample if dtype is None else sample.to(dtype)
    return in_chunks(
        "from_function",
        made,
        chunks_for("from_function", sizes, chunks, sample._tl_data.dtype),
        sample,
        of=ArraySliceDep,
    )


class _Converted(ChunkFunction):
    """Calls a function and converts its result to a dtype."""

    def __init__(self, function: Callable[..., Any], dtype: Dtype) -> None:
        self.function, self.dtype = function, dtype

    def __call__(self, slices: tuple[slice, ...]) -> Any:
        return self.function(slices).to(self.dtype)


# -------------------------------------------------------------------------------------------------- like another tensor


@rule(
    of_tensors.zeros_like, of_tensors.ones_like, of_tensors.full_like, of_tensors.empty_like,
)  # fmt: skip
def _like(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    tensor = given["input"]
    given.pop("memory_format", None)
    requires_grad = bool(given.pop("requires_grad", False))
    sample = called(form.function, (tensor,), {k: v for k, v in given.items() if k != "input" and v is not None})
    value = given.get("fill_value", 1 if form.operation is operation_of(of_tensors.ones_like) else 0)
    if isinstance(value, tl.Tensor):
        if is_chunked(value):
            return NotImplemented
        value = value.item()
    call = Filled(sample.new_zeros(()) if sample.dim() else sample, value, sample.dtype)
    result = in_chunks(form.name, call, tensor._tl_data.array.chunks, sample)
    return result.requires_grad_() if requires_grad else result


@rule(Method.new_zeros, Method.new_ones, Method.new_empty, Method.new_full)
def _new(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return a new tensor in chunks: in those of this one where it has its shape, else in dask's own choice."""
    given = arguments(form, args, kwargs)
    tensor = args[0]
    size = size_argument(given["size"], form.name)
    value = given.get("fill_value", 1 if "ones" in form.name else 0)
    if isinstance(value, tl.Tensor):
        if is_chunked(value):
            return NotImplemented
        value = value.item()
    options = {k: given[k] for k in ("dtype", "device") if given.get(k) is not None}
    sample = tensor._tl_data.sample.new_full((1,) * len(size), value, **options)
    if "dtype" not in options:
        sample = sample.to(tensor.dtype)
    array = tensor._tl_data.array
    chunks = array.chunks if size == array.shape else chunks_for(form.name, size, "auto", sample._tl_data.dtype)
    found = in_chunks(form.name, Filled(sample.new_zeros(()), value, sample.dtype), chunks, sample)
    return found.requires_grad_() if given.get("requires_grad") else found


def in_parts(name: str, call: Callable[..., Any], parts: Sequence[Any], chunks: Any, sample: Tensor) -> Any:
    """Return the chunked tensor whose chunk k of the first dimension is `call(parts[k])`; the others are whole."""
    layer = f"{name}-{tokenize(call, parts, chunks)}"
    ndim = len(chunks)
    graph = {
        (layer, k, *(0,) * (ndim - 1)): (ChunkCall(call, ((part,), {}), name), (k, *(0,) * (ndim - 1)))
        for k, part in enumerate(parts)
    }
    array = da.Array(
        HighLevelGraph.from_collections(layer, graph), layer, chunks, dtype=sample._tl_data.dtype,
        meta=numpy_meta(ndim, sample._tl_data.dtype),
    )  # fmt: skip
    return chunked(array, sample)
