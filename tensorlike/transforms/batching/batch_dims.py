"""Shared by the batching rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorlike.dispatch.operation import Form
from tensorlike.tensor.dims import one_dim
from tensorlike.tensor.tensor import Tensor

from ..batched import batch_of, batched, is_batched, unbatched, wrapped
from ..levels import Level, bind, leaves, shape_of, tree_map

__all__ = [
    "Arguments",
    "arguments",
    "batch_of",
    "batched",
    "is_batched",
    "only_first",
    "passed_through",
    "shifted",
    "unbatched",
    "wrapped",
]

Arguments = dict[str, Any]


def arguments(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments | None:
    """Return the arguments of a call by name, the first one as "input"; None for calls that a rule does not cover."""
    if kwargs.get("out") is not None:
        return None
    bound = bind(form, args, kwargs)
    if bound is None:
        return None
    bound.pop("out", None)
    first = form.parameters[0].name
    return {"input" if name == first else name: value for name, value in bound.items()}


def only_first(level: Level, given: Arguments) -> bool:
    """Return whether the first operand is the only one with a batch."""
    return is_batched(given["input"], level) and not any(
        is_batched(v, level) for k, value in given.items() if k != "input" for v in leaves(value)
    )


def called(form: Form, given: Arguments) -> Any:
    """Call a function with arguments by name."""
    keywords = {p.name: given[p.name] for p in form.parameters[1:] if p.name in given}
    return form.function(given["input"], **keywords)


def shifted(dim: int | Sequence[int], rank: int) -> Any:
    """Return dimensions of an example of `rank` dimensions as those of the batch. Raises IndexError out of range."""
    return tuple([one_dim(d, rank) + 1 for d in dim]) if isinstance(dim, (tuple, list)) else one_dim(dim, rank) + 1


def passed_through(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the function on the batch as if it were an example."""
    if kwargs.get("out") is not None:
        return NotImplemented
    first = args[0] if args else kwargs.get("input", kwargs.get("self"))
    args, kwargs = tree_map(lambda v: unbatched(v, level), (args, kwargs))
    result = form.function(*args, **kwargs)
    # `plain.to(batch)` asks the batch for its dtype alone.
    if not is_batched(first, level):
        return result
    return first if form.inplace else wrapped(result, level)


def rank_of(value: Tensor | float | None) -> int:
    """Return the number of dimensions of one example, none for a number."""
    return len(shape_of(value)) if isinstance(value, Tensor) else 0


def sizes_in(args: Sequence[Any]) -> tuple[Any, ...]:
    """Return sizes that were passed one by one or as one sequence."""
    if len(args) == 1 and isinstance(args[0], (tuple, list)):
        return tuple(args[0])
    return tuple(args)
