"""Batches of functions that work along dimensions given by number: see Note [How dimensions move]."""

from __future__ import annotations

from typing import Any

from tensorlike.dispatch.operation import ALONG, CONJUGATED, ORDERED, REDUCED, Form
from tensorlike.dispatch.registry import moving

from ..batched import rule
from ..levels import Level, first_of, order_of, shape_of
from .batch_dims import arguments, called, is_batched, only_first, rank_of, wrapped


@rule(*moving(ALONG, REDUCED))
def _along(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given, dims = arguments(form, args, kwargs), form.operation.dims
    # Several quantiles come before the batch.
    if given is None or not only_first(level, given) or rank_of(given.get("q")):
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


@rule(*moving(ORDERED, CONJUGATED))
def _ordered(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    first = first_of(form, args, kwargs)
    if not is_batched(first, level):
        return NotImplemented
    shape = shape_of(first)
    order = order_of(form, shape if len(shape) == 1 else range(len(shape)), args, kwargs)
    result = first._value.permute(0, *[d + 1 for d in order])
    return wrapped(result.conj() if form.operation.dims.kind == CONJUGATED and result.is_complex() else result, level)
