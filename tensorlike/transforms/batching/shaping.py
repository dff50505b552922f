"""Batches of shapes: views, joins, parts."""

from __future__ import annotations

from typing import Any

from tensorlike.tensor.tensor import Tensor

from ..batched import example, rule, stacked_results
from ..levels import Level
from .common import (
    arguments,
    batch_of,
    called,
    is_batched,
    only_first,
    passed_through,
    rank_of,
    shifted,
    sizes_in,
    unbatched,
    wrapped,
)

__all__: list[str] = []

#: Treated as elementwise: applied to a batch, they do the same to every example.
rule(
    "to", "float", "double", "half", "bfloat16", "int", "long", "short", "char", "byte", "bool", "cfloat", "cdouble",
    "type_as", "clone", "contiguous", "detach", "alias", "conj", "conj_physical", "resolve_conj", "resolve_neg",
    "view_as_real", "view_as_complex", "isnan", "isinf", "isfinite", "cpu", "cuda", "real", "imag", "real.__get__",
    "imag.__get__", "nan_to_num", "zero_", "data.__get__", "zeros_like", "ones_like", "full_like",
    "empty_like",
)(passed_through)  # fmt: skip


@rule("type")
def _type(level: Level, row: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if len(args) == 1 and not any(v is not None for v in kwargs.values()):
        return args[0]._value.type()
    return passed_through(level, row, args, kwargs)


@rule("view", "reshape")
def _reshape(level: Level, row: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = args[1:] or tuple(kwargs.values())
    if not given or not all(isinstance(g, (int, tuple, list)) for g in given):
        return passed_through(level, row, args, kwargs)
    inner = args[0]._value
    sizes = sizes_in(given)
    if -1 in sizes and inner.numel() == 0:
        return NotImplemented
    function = inner.view if row.name == "Tensor.view" else inner.reshape
    return wrapped(function(inner.shape[0], *sizes), level)


@rule("flatten", "ravel")
def _flatten(level: Level, row: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(row, args, kwargs)
    if given is None:
        return NotImplemented
    inner = given["input"]._value
    if inner.dim() == 1:
        return wrapped(inner.reshape(-1, 1), level)
    return wrapped(inner.flatten(shifted(given.get("start_dim", 0)), shifted(given.get("end_dim", -1))), level)


@rule("expand", "broadcast_to")
def _expand(level: Level, row: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    sizes = sizes_in(args[1:]) or sizes_in(tuple(kwargs.values()))
    inner = args[0]._value
    missing = len(sizes) - (inner.dim() - 1)
    if missing < 0 or not all(isinstance(s, int) for s in sizes):
        return NotImplemented
    wide = inner.reshape(inner.shape[0], *(1,) * missing, *inner.shape[1:])
    return wrapped(wide.expand(inner.shape[0], *sizes), level)


@rule("permute")
def _permute(level: Level, row: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    dims = sizes_in(args[1:]) or sizes_in(tuple(kwargs.values()))
    inner = args[0]._value
    rank = inner.dim() - 1
    return wrapped(inner.permute(0, *[d % rank + 1 if -rank <= d < rank else d + 1 for d in dims]), level)


@rule("T.__get__")
def _transposed(level: Level, row: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    inner = args[0]._value
    return wrapped(inner.permute(0, *range(inner.dim() - 1, 0, -1)), level)


@rule("t")
def _t(level: Level, row: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    inner = args[0]._value
    if inner.dim() > 3:
        return NotImplemented
    return wrapped(inner.transpose(1, 2) if inner.dim() == 3 else inner, level)


@rule("mT.__get__", "mH.__get__", "adjoint")
def _matrix_transposed(level: Level, row: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    inner = args[0]._value
    if inner.dim() < 3:
        return NotImplemented
    turned = inner.transpose(-1, -2)
    return wrapped(turned if row.name.startswith("Tensor.mT") else turned.conj(), level)


def _with_dims(*names: str) -> Any:
    """Make a rule for functions of one tensor whose arguments `names` are dimensions of it."""

    def answer(level: Level, row: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given = arguments(row, args, kwargs)
        if given is None or not only_first(level, given) or rank_of(given["input"]) == 0:
            return NotImplemented
        for name in names:
            value = given.get(name)
            if value is None or isinstance(value, str) or value in ((), []):
                return NotImplemented
            given[name] = shifted(value)
        given["input"] = given["input"]._value
        return wrapped(called(row, given), level)

    return answer


rule("transpose", "swapaxes", "swapdims")(_with_dims("dim0", "dim1"))
rule("select", "narrow", "narrow_copy", "unbind", "split", "chunk", "split_with_sizes", "tensor_split", "unsafe_split",
     "unsafe_chunk", "index_select", "unflatten")(_with_dims("dim"))  # fmt: skip
rule("flip")(_with_dims("dims"))
rule("roll")(_with_dims("dims"))
rule("diagonal")(_with_dims("dim1", "dim2"))
rule("movedim", "moveaxis")(_with_dims("source", "destination"))


@rule("squeeze")
def _squeeze(level: Level, row: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(row, args, kwargs)
    if given is None:
        return NotImplemented
    inner, dim = given["input"]._value, given.get("dim")
    if inner.dim() == 1:
        return given["input"]
    if dim is None:
        dim = tuple(d for d in range(1, inner.dim()) if inner.shape[d] == 1)
        return wrapped(inner.squeeze(dim) if dim else inner.view_as(inner), level)
    return wrapped(inner.squeeze(shifted(dim)), level)


@rule("unsqueeze")
def _unsqueeze(level: Level, row: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(row, args, kwargs)
    if given is None:
        return NotImplemented
    rank = rank_of(given["input"])
    if not -rank - 1 <= given["dim"] <= rank:
        return NotImplemented
    return wrapped(given["input"]._value.unsqueeze(shifted(given["dim"])), level)


@rule("tril", "triu")
def _triangle(level: Level, row: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return passed_through(level, row, args, kwargs) if rank_of(args[0]) >= 2 else NotImplemented


@rule("cat", "concat", "concatenate", "stack")
def _joined(level: Level, row: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(row, args, kwargs)
    if given is None or not isinstance(given["input"], (tuple, list)) or not isinstance(given.get("dim", 0), int):
        return NotImplemented
    tensors = [batch_of(t, level) for t in given["input"]]
    if row.name != "stack" and len({t.dim() for t in tensors}) > 1:
        return NotImplemented
    if row.name != "stack" and tensors[0].dim() == 1:
        return NotImplemented
    return wrapped(row.function(tensors, shifted(given.get("dim", 0))), level)


@rule("__getitem__")
def _indexed(level: Level, row: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
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


@rule("_internal.sum_to_size", "sum_to_size")
def _sum_to_size(level: Level, row: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    sizes = sizes_in(args[1:])
    inner = args[0]._value
    lead = inner.dim() - 1 - len(sizes)
    if lead < 0 or not all(isinstance(s, int) for s in sizes):
        return NotImplemented
    if lead:
        inner = inner.sum(tuple(range(1, lead + 1)))
    dims = tuple(d + 1 for d, size in enumerate(sizes) if size == 1 and inner.shape[d + 1] != 1)
    return wrapped(inner.sum(dims, keepdim=True) if dims else inner, level)


@rule("as_strided", "as_strided_copy", "as_strided_scatter")
def _as_strided(level: Level, row: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    # Strides count from the start of an example's own memory: each gets one of its own.
    apart = [[example(v, level, i) for v in args] for i in range(level.size)]
    results = [row.function(*[a.clone() if isinstance(a, Tensor) else a for a in one], **kwargs) for one in apart]
    return stacked_results(row.name, results, level)


@rule("new_zeros", "new_ones", "new_empty", "new_full")
def _new(level: Level, row: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    # A batch, although all examples are alike: each may be written to.
    fill: tuple[Any, ...] = ()
    given = args[1:]
    if row.name == "Tensor.new_full":
        given, fill = given[:1], given[1:]
    sizes = sizes_in(given)
    if not given or not is_batched(args[0], level) or not all(isinstance(v, (int, float)) for v in (*sizes, *fill)):
        return NotImplemented
    function = getattr(args[0]._value, row.name.removeprefix("Tensor."))
    return wrapped(function((level.size, *sizes), *fill, **kwargs), level)
