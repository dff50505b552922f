"""Batches of shapes: views, joins, parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorlike.dispatch.operation import Form, operation_of
from tensorlike.operations.elementwise import comparison, complexes, rounding
from tensorlike.operations.indexing import copies
from tensorlike.operations.linalg import diagonals
from tensorlike.operations.memory import inplace, placement
from tensorlike.operations.reductions import sums
from tensorlike.operations.shape import expanding, joining, rearranging, reshaping, view_copies
from tensorlike.tensor.creation import filled
from tensorlike.tensor.tensor import Tensor

from ..batched import example, rule, stacked_results
from ..levels import Level, Method, leaves, plain_of
from .batch_dims import (
    arguments,
    batch_of,
    is_batched,
    only_first,
    passed_through,
    rank_of,
    shifted,
    sizes_in,
    unbatched,
    wrapped,
)

#: Treated as elementwise: applied to a batch, they do the same to every example.
rule(
    Method.to, Method.float, Method.double, Method.half, Method.bfloat16, Method.int, Method.long, Method.short,
    Method.char, Method.byte, Method.bool, Method.cfloat, Method.cdouble, Method.type_as, Method.contiguous,
    Method.detach, Method.cpu, Method.cuda, Method.real, Method.imag, Method.data, complexes.conj,
    complexes.conj_physical, complexes.view_as_real, complexes.view_as_complex, complexes.real, complexes.imag,
    comparison.isnan, comparison.isinf, comparison.isfinite, rounding.nan_to_num, inplace.zero_, placement.resolve_conj,
    placement.resolve_neg, placement.detach, reshaping.clone, filled.zeros_like, filled.ones_like,
    filled.full_like, filled.empty_like,
)(passed_through)  # fmt: skip


@rule(Method.type)
def _type(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if len(args) == 1 and not any(v is not None for v in kwargs.values()):
        return args[0]._value.type()
    return passed_through(level, form, args, kwargs)


def _reshaped_by(function: Callable[..., Any]) -> Any:
    """Make a rule for `view` and `reshape`."""

    def answer(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given = args[1:] or tuple(kwargs.values())
        if not given or not all(isinstance(g, (int, tuple, list)) for g in given):
            return passed_through(level, form, args, kwargs)
        inner = args[0]._value
        sizes = sizes_in(given)
        if -1 in sizes and inner.numel() == 0:
            return NotImplemented
        return wrapped(function(inner, (inner.shape[0], *sizes)), level)

    return answer


rule(Method.view)(_reshaped_by(Method.view))
rule(reshaping.reshape)(_reshaped_by(reshaping.reshape))


@rule(reshaping.flatten, reshaping.ravel)
def _flatten(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    if given is None:
        return NotImplemented
    inner = given["input"]._value
    if inner.dim() == 1:
        return wrapped(inner.reshape(-1, 1), level)
    first, last = given.get("start_dim", 0), given.get("end_dim", -1)
    return wrapped(inner.flatten(*shifted((first, last), inner.dim() - 1)), level)


@rule(Method.expand, expanding.broadcast_to)
def _expand(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    sizes = sizes_in(args[1:]) or sizes_in(tuple(kwargs.values()))
    inner = args[0]._value
    missing = len(sizes) - (inner.dim() - 1)
    if missing < 0 or not all(isinstance(s, int) for s in sizes):
        return NotImplemented
    wide = inner.reshape(inner.shape[0], *(1,) * missing, *inner.shape[1:])
    return wrapped(wide.expand(inner.shape[0], *sizes), level)


@rule(reshaping.squeeze)
def _squeeze(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    if given is None:
        return NotImplemented
    inner, dim = given["input"]._value, given.get("dim")
    if inner.dim() == 1:
        return given["input"]
    if dim is None:
        dim = tuple(d for d in range(1, inner.dim()) if inner.shape[d] == 1)
        return wrapped(inner.squeeze(dim) if dim else inner.view_as(inner), level)
    return wrapped(inner.squeeze(shifted(dim, inner.dim() - 1)), level)


@rule(reshaping.unsqueeze)
def _unsqueeze(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    if given is None:
        return NotImplemented
    inner = given["input"]._value
    return wrapped(inner.unsqueeze(shifted(given["dim"], inner.dim())), level)


@rule(diagonals.tril, diagonals.triu)
def _triangle(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return passed_through(level, form, args, kwargs) if rank_of(args[0]) >= 2 else NotImplemented


@rule(joining.stack)
def _stacked(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    if given is None or not isinstance(given["input"], (tuple, list)) or not isinstance(given.get("dim", 0), int):
        return NotImplemented
    tensors = [batch_of(t, level) for t in given["input"]]
    rank = tensors[0].dim() - (form.operation is not operation_of(joining.stack))
    return wrapped(form.function(tensors, shifted(given.get("dim", 0), rank)), level)


@rule(joining.cat)
def _joined(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    if given is None or len({rank_of(t) for t in leaves(given["input"])}) > 1 or not rank_of(leaves(given["input"])[0]):
        return NotImplemented
    return _stacked(level, form, args, kwargs)


@rule(Method.__getitem__)
def _indexed(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor, index = args
    items = index if isinstance(index, tuple) else (index,)
    if any(isinstance(i, (list, tuple)) for i in items):
        return NotImplemented
    tensors = [i for i in items if isinstance(i, Tensor)]
    if not tensors:
        if any(isinstance(i, bool) for i in items) or not is_batched(tensor, level):
            return NotImplemented
        return wrapped(tensor._value[(slice(None), *items)], level)
    if len(tensors) != 1 or tensors[0].dtype.numpy_dtype.kind == "b" or any(isinstance(i, int) for i in items):
        return NotImplemented
    found = is_batched(tensors[0], level)
    if not found:
        # One index that all examples share stays where it is, one dimension further on.
        return wrapped(tensor._value[(slice(None), *items)], level)
    if not is_batched(tensor, level) and isinstance(items[0], Tensor):
        return wrapped(tensor[(unbatched(items[0], level), *items[1:])], level)
    return NotImplemented


@rule(sums._summed_to, Method.sum_to_size)
def _sum_to_size(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    sizes = sizes_in(args[1:])
    inner = args[0]._value
    lead = inner.dim() - 1 - len(sizes)
    if lead < 0 or not all(isinstance(s, int) for s in sizes):
        return NotImplemented
    if lead:
        inner = inner.sum(tuple(range(1, lead + 1)))
    dims = tuple(d + 1 for d, size in enumerate(sizes) if size == 1 and inner.shape[d + 1] != 1)
    return wrapped(inner.sum(dims, keepdim=True) if dims else inner, level)


@rule(rearranging.as_strided)
def _strided_view(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    if given is None or not only_first(level, given):
        return NotImplemented
    inner = given["input"]._value
    size, stride, offset = tuple(given["size"]), tuple(given["stride"]), given.get("storage_offset")
    step = inner.stride(0) if inner.shape[0] > 1 else 0
    reach = 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if 0 not in size else 0
    if 0 < step < reach + (0 if offset is None else max(offset - plain_of(inner).storage_offset(), 0)):
        raise RuntimeError(
            "vmap: as_strided() would reach from one example into the memory of the next: clone() the tensor before, "
            "or map over its first dimension"
        )
    return wrapped(inner.as_strided((inner.shape[0], *size), (step, *stride), offset), level)


@rule(view_copies.as_strided_copy, copies.as_strided_scatter)
def _as_strided(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    # Strides count from the start of an example's own memory: each gets one of its own.
    apart = [[example(v, level, i) for v in args] for i in range(level.size)]
    results = [form.function(*[a.clone() if isinstance(a, Tensor) else a for a in one], **kwargs) for one in apart]
    return stacked_results(form.name, results, level)


def _new_of(fills: int) -> Any:
    """Make a rule for functions that take a size and, after it, so many values to fill the tensor with."""

    def answer(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        # A batch, although all examples are alike: each may be written to.
        given, fill = (args[1:2], args[2:]) if fills else (args[1:], ())
        sizes = sizes_in(given)
        numbers = all(isinstance(v, (int, float)) for v in (*sizes, *fill))
        if not given or not is_batched(args[0], level) or not numbers:
            return NotImplemented
        return wrapped(form.function(args[0]._value, (level.size, *sizes), *fill, **kwargs), level)

    return answer


rule(Method.new_zeros, Method.new_ones, Method.new_empty)(_new_of(0))
rule(Method.new_full)(_new_of(1))
