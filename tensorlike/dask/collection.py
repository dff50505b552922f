"""A chunked tensor as a collection of Dask: its graph, how its result is put together, what Dask knows of tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, SupportsIndex

import dask
import dask.array as da
from dask.array.dispatch import concatenate_lookup
from dask.base import DaskMethodsMixin
from dask.sizeof import sizeof
from dask.threaded import get as threaded_get
from dask.tokenize import normalize_token, tokenize

from tensorlike.autograd.grad_mode import recording_block
from tensorlike.dispatch.operation import form_of
from tensorlike.dispatch.pytree import leaves, map_leaves
from tensorlike.operations.shape.joining import cat
from tensorlike.tensor.device import device
from tensorlike.tensor.device import device as Device
from tensorlike.tensor.dtypes import dtype
from tensorlike.tensor.dtypes import dtype as Dtype
from tensorlike.tensor.tensor import Tensor

from .tasks import only

if TYPE_CHECKING:  # Given by late_names.py, when these modules are loaded.
    from .chunked import ChunksLike
    from .mapping import compute_chunk_sizes, map_chunks, rebuilt
    from .reading import to_dask
    from .shaping import rechunked


class ChunkedCollection:
    """The part of a `ChunkedTensor` that Dask calls, and the methods that compute."""

    _tl_data: Any

    def __dask_graph__(self) -> Any:
        return self._tl_data.array.__dask_graph__()

    def __dask_keys__(self) -> Any:
        return self._tl_data.array.__dask_keys__()

    def __dask_layers__(self) -> Any:
        return self._tl_data.array.__dask_layers__()

    def __dask_tokenize__(self) -> Any:
        return ("ChunkedTensor", self._tl_data.array.name)

    #: Blockwise tasks are fused, slices taken early, tasks that are not needed left out, as for a dask array.
    __dask_optimize__ = staticmethod(da.Array.__dask_optimize__)
    __dask_scheduler__ = staticmethod(threaded_get)

    def __dask_postcompute__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return joined, (self._tl_data.array.ndim,)

    def __dask_postpersist__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        rebuild, extra = self._tl_data.array.__dask_postpersist__()
        return _persisted, (rebuild, extra, self._tl_data.sample, bool(self._tl_requires_grad))  # type: ignore[attr-defined]

    def compute(self, **options: Any) -> Any:
        """Return the tensor with all its elements, as an ordinary one of the chunks' type and without history.

        The options are Dask's: `scheduler`, `num_workers`, `optimize_graph`, ...
        """
        return dask.compute(self, **options)[0]

    def persist(self, **options: Any) -> Any:
        """Return the same tensor with its chunks computed and kept, in memory or on the cluster; without history."""
        return dask.persist(self, **options)[0]

    visualize = DaskMethodsMixin.visualize

    @property
    def chunks(self) -> tuple[tuple[int, ...], ...]:
        """The sizes of the chunks along each dimension; NaN where they are not known."""
        found: tuple[tuple[int, ...], ...] = self._tl_data.array.chunks
        return found

    @property
    def numblocks(self) -> tuple[int, ...]:
        """The number of chunks along each dimension."""
        found: tuple[int, ...] = self._tl_data.array.numblocks
        return found

    @property
    def npartitions(self) -> int:
        """The number of chunks."""
        return int(self._tl_data.array.npartitions)

    @property
    def chunksize(self) -> tuple[int, ...]:
        """The size of the largest chunk."""
        found: tuple[int, ...] = self._tl_data.array.chunksize
        return found

    def rechunk(self, chunks: ChunksLike = "auto", **options: Any) -> Any:
        """Return the tensor in other chunks, `chunks` as dask takes them: `x.rechunk({0: -1, 1: "auto"})`.

        Gradients come back in the chunks that they have where they come from. Raises ValueError for chunks that do not
        add up to the shape.
        """
        return rechunked(self, chunks, options)

    def map_chunks(self, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Return the tensor with `function` applied to each chunk: see `tensorlike.dask.map_chunks`."""
        return map_chunks(function, self, *args, **options)

    def compute_chunk_sizes(self) -> Any:
        """Compute the sizes of chunks that are not known, as after a mask, set them, and return the tensor.

        The chunks are computed once for their sizes; `persist()` the tensor first so that they are not again.
        """
        return compute_chunk_sizes(self)

    def to_dask(self) -> Any:
        """Return the chunks as a dask array of NumPy (or CuPy) arrays, without history."""
        return to_dask(self)

    def to_zarr(self, *args: Any, **options: Any) -> Any:
        """Write the chunks to a Zarr array: the arguments are those of `dask.array.to_zarr`."""
        return da.to_zarr(to_dask(self), *args, **options)

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        me: Any = self
        if me._tl_edge is not None:
            raise RuntimeError(
                "a tensor in chunks that was computed from one that requires grad cannot be pickled, since its history "
                "stays here: detach() it"
            )
        return rebuilt, (me._tl_data.array, me._tl_data.sample, bool(me._tl_requires_grad))


def compute(*values: Any, **options: Any) -> tuple[Any, ...]:
    """Compute several tensors in chunks at once, so that what they share is computed once.

    Nested containers, named results too, are looked into, and everything else is returned as it is. The options are
    those of `dask.compute`.
    """
    return _at_once(dask.compute, values, options)


def persist(*values: Tensor, **options: Any) -> tuple[Any, ...]:
    """Compute several tensors in chunks at once and keep their chunks, in memory or on the cluster."""
    return _at_once(dask.persist, values, options)


def _at_once(function: Callable[..., Any], values: Any, options: dict[str, Any]) -> tuple[Any, ...]:
    # dask opens the containers of Python alone, not the named results of the library.
    found = iter(function(*[v for v in leaves(values) if dask.is_dask_collection(v)], **options))
    return tuple(map_leaves(lambda v: next(found) if dask.is_dask_collection(v) else v, values))


def joined(blocks: Any, ndim: int) -> Any:
    """Return the nested lists of the chunks of a result as one tensor, on memory of its own.

    A single chunk may be kept, in the graph or by `persist`, and is copied.
    """
    with recording_block(False):
        found, single = _joined(blocks, ndim)
        return found.clone() if single else found


def _joined(blocks: Any, ndim: int, dim: int = 0) -> tuple[Any, bool]:
    """Return the chunks joined from dimension `dim` on, and whether they are one chunk as it is."""
    if dim == ndim:
        while type(blocks) in (list, tuple):  # Schedulers differ in the containers of results.
            (blocks,) = blocks
        return only(blocks), True
    parts = [_joined(b, ndim, dim + 1) for b in blocks]
    return parts[0] if len(parts) == 1 else (cat([p for p, _ in parts], dim), False)


def _persisted(
    graph: Mapping[Any, Any], rebuild: Callable[..., Any], extra: tuple[Any, ...], sample: Tensor, requires_grad: bool,
    **options: Any,
) -> Any:  # fmt: skip
    return rebuilt(rebuild(graph, *extra, **options), sample, requires_grad)


# ------------------------------------------------------------------------------------ what Dask knows of tensors


@concatenate_lookup.register(Tensor)  # type: ignore[untyped-decorator]
def _concatenated(tensors: Sequence[Tensor], axis: int = 0) -> Any:
    return cat(list(tensors), axis)


@sizeof.register(Tensor)  # type: ignore[untyped-decorator]
def _bytes_of(tensor: Any) -> int:
    return int(tensor._tl_data.nbytes) + 200


@normalize_token.register((dtype, device))  # type: ignore[untyped-decorator]
def _token_of_name(value: Device | Dtype) -> Any:
    return (type(value).__name__, str(value))


def _token_of_function(function: Callable[..., Any]) -> Any:
    form = form_of(function)
    return normalize_token(function.__reduce__()) if form is None else ("function", form.full_name)


if type(cat) is not FunctionType:  # Of the native core.
    normalize_token.register(type(cat), _token_of_function)


@normalize_token.register(Tensor)  # type: ignore[untyped-decorator]
def _token_of(tensor: Tensor) -> Any:
    if isinstance(tensor, ChunkedCollection):
        return tensor.__dask_tokenize__()
    return (type(tensor).__module__, type(tensor).__qualname__, normalize_token(tensor._tl_data), tokenize(
        dict(tensor.__dict__)
    ))  # fmt: skip
