"""Functions along dimensions in chunks: scans, softmax, and those that need a dimension whole."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import dask.array as da
from dask.highlevelgraph import HighLevelGraph
from dask.tokenize import tokenize

from tensorlike._originals import tl
from tensorlike.autograd.grad_mode import recording_block
from tensorlike.dispatch.operation import Form, operation_of
from tensorlike.operations.indexing import sorting
from tensorlike.operations.reductions import scans, softmax, statistics
from tensorlike.tensor import Tensor

from .chunked import called, chunked, dims_of, is_chunked, name_of, numpy_meta, refused, rule, sample_of
from .mapping import on_chunks
from .pullback import differentiated
from .recording import arguments, computed
from .tasks import ChunkCall, ChunkFunction, Place


def check_whole(form: Form, tensor: Tensor, dims: Sequence[int]) -> None:
    """Raise for dimensions that a function needs in one chunk and that are in several."""
    cut = [d for d in dims if tensor._tl_data.array.numblocks[d] > 1]
    if cut:
        spelled = ", ".join(f"{d}: -1" for d in cut)
        raise refused(form, f"it needs the dimension {cut[0]} in one chunk: rechunk({{{spelled}}}) first")


def whole_dims(
    form: Form, given: dict[str, Any], dims: Sequence[int], sizes: dict[int, Any] | None = None, sample: Any = None
) -> Any:
    """Return the result of a function that works along `dims`, each in one chunk, and separately for all others.

    `sizes` are those of dimensions whose size the function changes; None stands for a dimension that goes.
    """
    tensor = given["input"]
    check_whole(form, tensor, dims)
    rest = {k: v for k, v in given.items() if k != "input"}
    sample = called(form.operation.function, (tensor,), rest) if sample is None else sample
    several = isinstance(sample, (tuple, list))
    numbers = tuple(range(tensor._tl_data.ndim))
    changed = sizes or {}
    # A dimension of another size has another number.
    result = tuple(len(numbers) + d if d in changed else d for d in numbers if changed.get(d, 0) is not None)
    found = [
        differentiated(
            name_of(form), form.operation.function, (tensor,), rest, one, [numbers], result,
            new={len(numbers) + d: n for d, n in changed.items() if n is not None},
            number=number if several else None,
        )
        for number, one in enumerate(sample if several else (sample,))
    ]  # fmt: skip
    return type(sample)(found) if several else found[0]


# --------------------------------------------------------------------------------------------------------------- scans


class _Last(ChunkFunction):
    """Takes the last slice of a chunk along a dimension; None of an empty one."""

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def __call__(self, tensor: Tensor) -> Any:
        return tensor.narrow(self.dim, tensor.shape[self.dim] - 1, 1) if tensor.shape[self.dim] else None


class _Carried(ChunkFunction):
    """Combines what the chunks before leave with a chunk, or with its last slice."""

    def __init__(self, combine: Callable[..., Any]) -> None:
        self.combine = combine

    def __call__(self, before: Any, tensor: Tensor) -> Any:
        if before is None or tensor is None:
            return tensor if before is None else before
        return self.combine(before, tensor)


_COMBINED: dict[Any, Any] = {
    operation_of(scans.cumsum): tl.add,
    operation_of(scans.cumprod): tl.mul,
    operation_of(scans.logcumsumexp): tl.logaddexp,
}


@computed(scans.cumsum, scans.cumprod, scans.logcumsumexp)
def _scan(form: Form, given: dict[str, Any]) -> Any:
    """Scan each chunk by itself, carry the last slices from chunk to chunk, and combine."""
    tensor = given["input"]
    rest = {k: v for k, v in given.items() if k != "input"}
    sample = called(form.operation.function, (tensor,), rest)
    name, array = name_of(form), tensor._tl_data.array
    call = ChunkCall(form.operation.function, ((Place(0),), rest), name)
    if not array.ndim:
        return chunked(on_chunks(call, [array], sample._tl_data.dtype), sample)
    (dim,) = dims_of(tensor, given["dim"])
    numbers = tuple(range(array.ndim))
    local = on_chunks(call, [array], sample._tl_data.dtype, indices=[numbers], result=numbers)
    if array.numblocks[dim] == 1:
        return chunked(local, sample)
    last = on_chunks(
        ChunkCall(_Last(dim), ((Place(0),), {}), name), [local], local.dtype, indices=[numbers], result=numbers,
        adjust={dim: 1},
    )  # fmt: skip
    carry = ChunkCall(_Carried(_COMBINED[form.operation]), ((Place(0), Place(1)), {}), name)
    out = f"{name}-{tokenize(local, dim, carry)}"
    graph: dict[Any, Any] = {}
    for index in itertools.product(*map(range, array.numblocks)):
        key, before = (out, *index), (*index[:dim], index[dim] - 1, *index[dim + 1 :])
        if index[dim] == 0:
            graph[key] = (local.name, *index)
            graph[(f"carry-{out}", *index)] = (last.name, *index)
            continue
        graph[key] = (carry, index, (f"carry-{out}", *before), (local.name, *index))
        graph[(f"carry-{out}", *index)] = (carry, index, (f"carry-{out}", *before), (last.name, *index))
    layer = HighLevelGraph.from_collections(out, graph, dependencies=[local, last])
    return chunked(
        da.Array(layer, out, local.chunks, dtype=local.dtype, meta=numpy_meta(array.ndim, local.dtype)), sample
    )


@rule(scans.cumsum_backwards)
def _scan_backwards(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor, dim = (*args, *kwargs.values())
    return tensor.flip(dim).cumsum(dim).flip(dim) if tensor.dim() else tensor


def along(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of a function that works along dimensions, which are whole: see Note [How dimensions move]."""
    given = arguments(form, args, kwargs)
    tensor = given["input"]
    if not is_chunked(tensor) or any(is_chunked(v) for k, v in given.items() if k != "input"):
        raise refused(form)
    function, k, dim = form.operation.function, given.get("k"), given[form.operation.dims.names[0]]
    # A sample has one element along the dimension.
    sample = called(function, (), given if k is None or not tensor.dim() else {**given, "k": 1 if k < 0 else min(k, 1)})
    dims = dims_of(tensor, dim)
    sizes = dict.fromkeys(dims, 1 if given["keepdim"] and dim is not None else None) if "keepdim" in given else {}
    if k is not None and dims:
        if not 0 <= k <= tensor._tl_data.shape[dims[0]]:
            raise RuntimeError(f"{name_of(form)}(): selected index k out of range: {k}")
        sizes = sizes or {dims[0]: int(k)}
    return whole_dims(form, given, dims, sizes, sample)


@rule(sorting.msort)
def _sorted_rows(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    return whole_dims(form, given, (0,) if given["input"].dim() else ())


# ------------------------------------------------------------------------------------------------------------- softmax


@rule(softmax.softmax, softmax.log_softmax)
def _softmax(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compute with the largest element and the sum of a dimension in several chunks, or chunk by chunk."""
    given = arguments(form, args, kwargs)
    tensor = given["input"]
    sample = called(form.operation.function, (), given)
    dims = dims_of(tensor, given["dim"])
    if all(tensor._tl_data.array.numblocks[d] == 1 for d in dims):
        return whole_dims(form, given, (), None, sample)
    value = tensor
    if given.get("dtype") is not None:
        value = value.to(given["dtype"])
    shift = value.logsumexp(dims, True)
    result = value - shift
    result = result if form.operation is operation_of(softmax.log_softmax) else result.exp()
    return result.to(sample.dtype)


@rule(statistics.quantile, statistics.nanquantile)
def _quantile(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    tensor, dim, keepdim = given["input"], given.get("dim"), bool(given.get("keepdim"))
    q = given["q"]
    if not is_chunked(tensor) or is_chunked(q):
        return NotImplemented
    called(form.function, (tensor,), {k: v for k, v in given.items() if k != "input"})
    several = isinstance(q, tl.Tensor) and q.dim() == 1
    if several or tensor.requires_grad or not tensor._tl_data.ndim:
        raise refused(form, "several quantiles at once, or with a gradient, have no rule")
    dims = dims_of(tensor, dim)
    return whole_dims(form, given, dims, dict.fromkeys(dims, 1 if keepdim else None))


# ----------------------------------------------------------------------------------- one slice tells the sizes of all


def whole_slices(form: Form, given: dict[str, Any], dims: Sequence[int]) -> Any:
    """Return the result of a function that works along `dims`, each in one chunk, and may change their sizes.

    It is called once on a single slice along these dimensions, which says the new sizes.
    """
    tensor = given["input"]
    check_whole(form, tensor, dims)
    shape = tensor._tl_data.shape
    rest = {k: v for k, v in given.items() if k != "input"}
    with recording_block(False):
        one = tensor._tl_data.sample.new_zeros(tuple(n if d in dims else min(n, 1) for d, n in enumerate(shape)))
        sample = form.operation.function(one, **rest)
    return whole_dims(form, given, dims, {d: int(sample.shape[d]) for d in dims}, sample)


def _dims_of(given: dict[str, Any], ndim: int, default: Sequence[int] | None) -> list[int]:
    dims = given.get("dim")
    if dims is None:
        sizes = given.get("s")
        dims = default if default is not None else range(ndim - len(sizes), ndim) if sizes is not None else range(ndim)
    return sorted({int(d) % max(ndim, 1) for d in (dims if not isinstance(dims, int) else (dims,))})


@rule(
    tl.fft.fft, tl.fft.ifft, tl.fft.rfft, tl.fft.irfft, tl.fft.hfft, tl.fft.ihfft, tl.fft.fft2, tl.fft.ifft2,
    tl.fft.rfft2, tl.fft.irfft2, tl.fft.hfft2, tl.fft.ihfft2, tl.fft.fftn, tl.fft.ifftn, tl.fft.rfftn, tl.fft.irfftn,
    tl.fft.hfftn, tl.fft.ihfftn,
)  # fmt: skip
def _fourier(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    default = (-1,) if "n" in given else (-2, -1) if form.name.endswith("2") else None
    ndim = given["input"].dim()
    if not ndim:
        called(form.function, (given["input"],), {k: v for k, v in given.items() if k != "input"})
    return whole_slices(form, given, _dims_of(given, ndim, default))


@rule(tl.fft.fftshift, tl.fft.ifftshift)
def _shifted(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    tensor, dims = given["input"], _dims_of(given, given["input"].dim(), None)
    sign = 1 if form.operation is operation_of(tl.fft.fftshift) else -1
    halves = [tensor.shape[d] // 2 if sign > 0 else (tensor.shape[d] + 1) // 2 for d in dims]
    return tensor.roll(tuple(halves), tuple(dims)) if dims else tensor.clone()


@rule(tl.gather)
def _gather(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Pick elements along a dimension that is in one chunk; the others line up with those of the index."""
    given = arguments(form, args, kwargs)
    tensor, index, dim = given["input"], given["index"], int(given["dim"]) % max(given["input"].dim(), 1)
    ndim = tensor.dim()
    if not ndim or index.dim() != ndim or any(tensor.shape[d] != index.shape[d] for d in range(ndim) if d != dim):
        raise refused(form, "the index has the sizes of the tensor along all dimensions but one")
    if given.get("sparse_grad"):
        raise refused(form, "sparse_grad has no rule")
    for one in (tensor, index):
        if is_chunked(one):
            check_whole(form, one, (dim,))
    with recording_block(False):
        sample = tl.gather(sample_of(tensor), dim, sample_of(index) * 0) if 0 not in index.shape else sample_of(tensor)
    own = tuple(range(ndim))
    picked = tuple(ndim if d == dim else d for d in own)
    return differentiated("gather", _Gather(dim), (tensor, index), {}, sample, [own, picked], picked)


class _Gather(ChunkFunction):
    """Picks along one dimension."""

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def __call__(self, tensor: Tensor, index: Any) -> Any:
        return tl.gather(tensor, self.dim, index)


@rule(tl.cdist)
def _cdist(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the distances between rows, which are whole."""
    given = arguments(form, args, kwargs)
    one, two = given.pop("x1"), given.pop("x2")
    sample = called(form.function, (one, two), given)
    if one.dim() != 2 or two.dim() != 2:
        raise refused(form, "it takes two matrices")
    if one.shape[1] != two.shape[1]:
        raise RuntimeError(
            f"cdist(): X1 and X2 must have the same number of columns. X1: {one.shape[1]} X2: {two.shape[1]}"
        )
    for tensor in (one, two):
        if is_chunked(tensor):
            check_whole(form, tensor, (1,))
    return differentiated("cdist", form.function, (one, two), given, sample, [(0, 2), (1, 2)], (0, 1))
