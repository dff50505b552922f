"""Batches of functions that work along dimensions given by number: see Note [How dimensions move]."""

from __future__ import annotations

from typing import Any

from tensorlike.dispatch.operation import REDUCED, Form
from tensorlike.dispatch.registry import REGISTRY

from ..levels import Level
from .batch_dims import arguments, called, only_first, rank_of, wrapped


def _along(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given, dims = arguments(form, args, kwargs), form.operation.dims
    if given is None or dims is None or not only_first(level, given):
        return NotImplemented
    inner, rank = given["input"]._value, rank_of(given["input"])
    given["input"] = inner
    for name in dims.names:
        dim = given[name]
        if dim is None and dims.kind == REDUCED and not given.get("keepdim") and inner.numel():
            given["input"], given[name] = inner.reshape(inner.shape[0], -1), 1
            continue
        numbers = dim if isinstance(dim, (tuple, list)) else (dim,)
        # A number out of range would be that of the batch: the function raises its error of one example.
        if not numbers or not all(type(d) is int and -rank <= d < rank for d in numbers):
            return NotImplemented
        moved = tuple(d % rank + 1 for d in numbers)
        given[name] = moved if numbers is dim else moved[0]
    return wrapped(called(form, given), level)


for _form in REGISTRY.values():
    if _form.operation.dims is not None and _form.operation.batching is None:
        _form.operation.def_batching(_along)
