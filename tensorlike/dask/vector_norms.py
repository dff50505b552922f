"""Norms of vectors in chunks: sums of powers of absolute values."""

from __future__ import annotations

from typing import Any

from tensorlike._originals import tl
from tensorlike.dispatch.operation import Form, operation_of
from tensorlike.operations.linalg import norms as linalg_norms
from tensorlike.operations.reductions import minmax, norms
from tensorlike.tensor import Tensor
from tensorlike.tensor.dtypes import dtype as Dtype

from .chunked import called, chunked, dims_of, name_of, refused, rule
from .mapping import on_chunks
from .recording import arguments, record
from .tasks import ChunkCall, ChunkFunction, Place
from .tree import Call, tree, wide


@rule(norms.norm, linalg_norms.vector_norm, norms.vector_norm)
def _norm(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    tensor, *_ = given.values()
    order = given["p"] if "p" in given else given.get("ord", 2)
    if order == "nuc":
        raise refused(form, "the nuclear norm needs the singular values of the whole")
    rest = {k: v for k, v in given.items() if v is not tensor}
    called(form.function, (tensor,), rest)
    wanted = {
        "input": tensor, "ord": 2 if order is None or order == "fro" else order, "dim": given.get("dim"),
        "keepdim": bool(given.get("keepdim")), "dtype": given.get("dtype"),
    }  # fmt: skip
    operation = operation_of(norms.vector_norm)
    result = _vector_norm(form, wanted, called(operation.function, (tensor,), {k: wanted[k] for k in (
        "ord", "dim", "keepdim", "dtype",
    )}))  # fmt: skip
    return record(operation, wanted, result)


def _vector_norm(form: Form, given: dict[str, Any], sample: Tensor) -> Any:
    tensor = given["input"]
    order = given.get("ord", 2)
    dims, keepdim = dims_of(tensor, given["dim"]), given["keepdim"]
    if not dims:
        rest = {k: v for k, v in given.items() if k != "input"}
        call = ChunkCall(norms.vector_norm, ((Place(0),), rest), name_of(form))
        return chunked(on_chunks(call, [tensor._tl_data.array], sample._tl_data.dtype), sample)
    finish = _Root(float(order), sample.dtype)
    first = _Powers(float(order), dims, given.get("dtype") or tensor.dtype)
    combine = Call(tl.maximum if order == float("inf") else tl.minimum if order == float("-inf") else tl.add)
    return chunked(tree(name_of(form), tensor, dims, keepdim, first, combine, finish, sample._tl_data.dtype), sample)


class _Powers(ChunkFunction):
    """The sum of the powers of the absolute values of a chunk."""

    def __init__(self, order: float, dims: tuple[int, ...], dtype: Dtype) -> None:
        self.order, self.dims, self.dtype = order, dims, dtype

    def __call__(self, tensor: Tensor) -> Any:
        sizes = tensor.to(wide(self.dtype)).abs()
        if self.order in (float("inf"), float("-inf")):
            return sizes.amax(self.dims, True) if self.order > 0 else sizes.amin(self.dims, True)
        if self.order == 0:
            return (sizes != 0).to(sizes.dtype).sum(self.dims, True)
        powers = sizes if self.order == 1 else sizes * sizes if self.order == 2 else sizes**self.order
        return powers.sum(self.dims, True)


class _Root(ChunkFunction):
    def __init__(self, order: float, dtype: Dtype) -> None:
        self.order, self.dtype = order, dtype

    def __call__(self, total: Tensor) -> Any:
        if self.order not in (0, 1, float("inf"), float("-inf")):
            total = total.sqrt() if self.order == 2 else total ** (1 / self.order)
        return total.to(self.dtype)


@rule(minmax.ties)
def _ties(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    one, other = (*args, *kwargs.values())
    same = one == other
    return same | ((one != one) & (other != other)) if other.is_floating_point() or other.is_complex() else same
