"""Reductions in chunks: each chunk is reduced by itself, and the partial results are combined in a tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorlike._originals import tl
from tensorlike.autograd.grad_mode import grad_enabled, recording_block
from tensorlike.dispatch.operation import Form, operation_of
from tensorlike.operations.linalg import diagonals
from tensorlike.operations.reductions import minmax, softmax, sums
from tensorlike.tensor import Tensor
from tensorlike.tensor.dtypes import dtype as Dtype

from .chunked import called, chunked, dims_of, is_chunked, name_of, refused, rule
from .mapping import on_chunks
from .recording import arguments, computed, step
from .tasks import ChunkCall, ChunkFunction, Place
from .tree import Call, To, tree, wide


class _Flat(ChunkFunction):
    """Reduces a chunk to one number by a function that takes one dimension at a time."""

    def __init__(self, function: Callable[..., Any], dims: tuple[int, ...], options: dict[str, Any]) -> None:
        self.function, self.dims, self.options = function, dims, options

    def __call__(self, tensor: Tensor) -> Any:
        for d in self.dims:
            tensor = self.function(tensor, d, True, **self.options)
        return tensor


def reduced(form: Form, given: dict[str, Any]) -> tuple[Any, tuple[int, ...], bool, Any]:
    """Return the tensor, the dimensions to reduce, `keepdim` and a sample of the result of a reduction.

    The errors of its arguments are those of the function.
    """
    tensor = given["input"]
    if not is_chunked(tensor):
        raise refused(form, "its first operand is an ordinary tensor")
    sample = called(form.operation.function, (tensor,), {k: v for k, v in given.items() if k != "input"})
    return tensor, dims_of(tensor, given.get("dim")), bool(given.get("keepdim", False)), sample


def by_parts(
    form: Form, given: dict[str, Any], first: Callable[..., Any] | None, combine: Any, finish: Any = None
) -> Any:
    """Return the result of a reduction whose partial results are of the function itself, or of `first`."""
    tensor, dims, keepdim, sample = reduced(form, given)
    if not dims:
        rest = {k: v for k, v in given.items() if k != "input"}
        call = ChunkCall(form.operation.function, ((Place(0),), rest), name_of(form))
        return chunked(on_chunks(call, [tensor._tl_data.array], sample._tl_data.dtype), sample)
    assert first is not None
    found = tree(
        name_of(form), tensor, dims, keepdim, first, combine, finish or To(sample.dtype), sample._tl_data.dtype
    )
    return chunked(found, sample)


@computed(sums.sum, sums.nansum)
def _sum(form: Form, given: dict[str, Any]) -> Any:
    _, dims, _, sample = reduced(form, given)
    return by_parts(form, given, Call(form.operation.function, dims, True, dtype=wide(sample.dtype)), Call(tl.add))


@rule(sums.prod)
def _prod(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    tensor, dims, keepdim, sample = reduced(form, given)
    result = by_parts(form, given, _Flat(tl.prod, dims, {"dtype": wide(sample.dtype)}), Call(tl.mul))

    def backward(grad: Tensor) -> Any:
        if grad_enabled():
            # Beside two zeros the first derivative is zero and the second is not.
            raise refused(form, "its derivative has none of its own: leave create_graph out")
        value = tensor.detach().to(sample.dtype)
        zero = value == 0
        others = value.masked_fill(zero, 1)
        product, count = others, zero.to(tl.int64)
        for d in dims:
            product, count = product.prod(d, keepdim=True), count.sum(d, keepdim=True)
        kept = grad if keepdim or not dims else grad.reshape(tuple(product.shape))
        product = product.conj() if product.is_complex() else product
        others = others.conj() if others.is_complex() else others
        return kept * tl.where(zero, product * (count == 1), (product / others) * (count == 0))

    return step("ProdBackward0", result, (tensor,), backward)


@computed(sums.count_nonzero)
def _count(form: Form, given: dict[str, Any]) -> Any:
    _, dims, _, _ = reduced(form, given)
    return by_parts(form, given, _Counted(dims), Call(tl.add))


class _Counted(ChunkFunction):
    def __init__(self, dims: tuple[int, ...]) -> None:
        self.dims = dims

    def __call__(self, tensor: Tensor) -> Any:
        return (tensor != 0).sum(self.dims, True)


@computed(sums.any, sums.all)
def _truth(form: Form, given: dict[str, Any]) -> Any:
    if given.get("dim") in ((), []):
        tensor = given["input"]
        sample = called(form.operation.function, (tensor, ()), {})
        call = ChunkCall(form.operation.function, ((Place(0), ()), {}), name_of(form))
        return chunked(on_chunks(call, [tensor._tl_data.array], sample._tl_data.dtype), sample)
    _, dims, _, _ = reduced(form, given)
    both = tl.logical_and if form.operation is operation_of(sums.all) else tl.logical_or
    return by_parts(form, given, Call(form.operation.function, dims, True), Call(both))


def nonempty(form: Form, tensor: Tensor, dims: Sequence[int]) -> None:
    """Raise the function's own error for dimensions without elements."""
    shape = tensor._tl_data.array.shape
    if any(shape[d] == 0 for d in dims):
        with recording_block(False):
            form.operation.function(tensor._tl_data.sample.new_zeros(()).expand(shape), dim=tuple(dims))


@computed(minmax.amax, minmax.amin)
def _extreme(form: Form, given: dict[str, Any]) -> Any:
    tensor, dims, _, _ = reduced(form, given)
    nonempty(form, tensor, dims)
    # A chunk may be empty beside others that are not.
    function = form.operation.function
    pick = tl.maximum if form.operation is operation_of(minmax.amax) else tl.minimum
    return by_parts(form, given, _OrNothing(Call(function, dims, True), dims), _OrOther(Call(pick)))


class _OrNothing(ChunkFunction):
    """Reduces a chunk by a function without identity; an empty one leaves None."""

    def __init__(self, function: Any, dims: tuple[int, ...]) -> None:
        self.function, self.dims = function, dims

    def __call__(self, tensor: Tensor) -> Any:
        return None if any(tensor.shape[d] == 0 for d in self.dims) else self.function(tensor)


class _OrOther(ChunkFunction):
    """Combines two partial results, of which one may be missing."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, one: Tensor, other: Tensor) -> Any:
        return other if one is None else one if other is None else self.function(one, other)


@rule(minmax.aminmax)
def _both(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    tensor, dim, keepdim = given["input"], given.get("dim"), bool(given.get("keepdim"))
    sample = called(form.operation.function, (tensor,), {"dim": dim, "keepdim": keepdim})
    dims = () if dim is None else dim
    return type(sample)((tensor.amin(dims, keepdim), tensor.amax(dims, keepdim)))


@computed(softmax.logsumexp)
def _logsumexp(form: Form, given: dict[str, Any]) -> Any:
    _, dims, _, sample = reduced(form, given)
    if not sample.is_floating_point():
        return NotImplemented
    return by_parts(form, given, _LogSum(dims, wide(sample.dtype)), Call(tl.logaddexp))


class _LogSum(ChunkFunction):
    def __init__(self, dims: tuple[int, ...], dtype: Dtype) -> None:
        self.dims, self.dtype = dims, dtype

    def __call__(self, tensor: Tensor) -> Any:
        tensor = tensor.to(self.dtype)
        if any(tensor.shape[d] == 0 for d in self.dims):
            return tensor.sum(self.dims, True).log()
        return tensor.logsumexp(self.dims, True)


@rule(diagonals.trace)
def _trace(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor = args[0] if args else kwargs["input"]
    called(form.function, (tensor,), {})
    return tensor.diagonal().sum()
