"""`vmap`: mapping a function of one example over a batch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, TypeVar

from tensorlike.dispatch.modes import TorchFunctionMode
from tensorlike.dispatch.operation import Form, form_of
from tensorlike.dispatch.pytree import children_of, rebuilt
from tensorlike.dispatch.state import restoring
from tensorlike.dispatch.tracebacks import explained, short_tracebacks
from tensorlike.operations.shape.joining import cat
from tensorlike.tensor.device import cpu
from tensorlike.tensor.generator import default_generator_of
from tensorlike.tensor.tensor import Tensor

from .batched import BatchedTensor, batch_of, batched, example, is_batched, shared, stacked_results
from .levels import (
    Level,
    first_of,
    follow,
    has_level,
    leaves,
    push_level,
    shape_of,
    tree_map,
    without_level,
    without_option,
)
from .types import Held, Types, is_closed, refuse_closed

__all__ = ["vmap"]

P = ParamSpec("P")
R = TypeVar("R")
InDims = Any
OutDims = Any


def vmap(
    func: Callable[P, R],
    in_dims: InDims = 0,
    out_dims: OutDims = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[P, R]:
    """Return a function that maps `func` over a dimension of its inputs, computing all examples together.

    `in_dims` is the mapped dimension of each input (None: every example gets all of it), as one number or in the
    structure of the inputs; `out_dims` is that dimension in the results. `randomness` is the behaviour of random
    functions inside: "error", "same" numbers for every example, or "different" ones. `chunk_size` bounds the number of
    examples computed at once. Raises ValueError when sizes or structures do not match.

    >>> tl.vmap(tl.dot)(tl.ones(3, 2), tl.ones(3, 2))
    tensor([2., 2., 2.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}"
        )
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @short_tracebacks
    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        name = getattr(func, "__name__", repr(func))
        types = Types("vmap", differentiates=False)
        called = types.function(func)
        args, kwargs = types.opened(args), types.opened(kwargs)
        dims = _in_dims(name, in_dims, args)
        pairs = list(zip(_flat(args), dims, strict=True))
        # Keyword arguments are mapped over their first dimension.
        keyword_dims = [0 if isinstance(v, Tensor) else None for v in _flat(kwargs)]
        pairs += list(zip(_flat(kwargs), keyword_dims, strict=True))
        size = _size(pairs)
        if chunk_size is None or size <= chunk_size:
            result = _run(called, name, size, args, dims, kwargs, keyword_dims, out_dims, randomness)
        else:
            result = _in_chunks(
                called, name, size, args, dims, kwargs, keyword_dims, out_dims, randomness, chunk_size
            )
        return types.closed(result)

    return mapped


def _flat(value: Any) -> list[Any]:
    return list(leaves(value))


def _in_dims(name: str, in_dims: Any, args: tuple[Any, ...]) -> list[int | None]:
    shown = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, (int, tuple, list)):
        raise ValueError(
            f"{shown}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, "
            f"got: {type(in_dims)}."
        )
    if not args and isinstance(in_dims, (tuple, list)) and in_dims:
        raise ValueError(f"{shown}: got no inputs. Maybe you forgot to add inputs.")
    return list(_flat_dims(shown, args, tuple(in_dims) if isinstance(in_dims, list) else in_dims))


def _flat_dims(shown: str, value: Any, dims: Any) -> Iterator[int | None]:
    """Yield the dimension to map over, or None, of each tensor in nested arguments."""
    items = None if isinstance(value, slice) else children_of(value)
    if items is not None:
        if type(value) is Held:
            _check_first(shown, value, dims)
        if dims is None or isinstance(dims, int):
            for item in items:
                yield from _flat_dims(shown, item, dims)
            return
        each = _dims_of(value, dims)
        if each is None or len(each) != len(items):
            raise ValueError(
                f"{shown}: in_dims is not compatible with the structure of `inputs`: a {type(value).__name__} of "
                f"{len(items)} has in_dims {dims}."
            )
        for item, dim in zip(items, each, strict=True):
            yield from _flat_dims(shown, item, dim)
        return
    if isinstance(dims, (tuple, list, dict)):
        raise ValueError(
            f"{shown}: in_dims is not compatible with the structure of `inputs`: a {type(value).__name__} has "
            f"in_dims {dims}."
        )
    if dims is not None and not isinstance(dims, int):
        raise ValueError(f"{shown}: Got in_dim={dims} for an input but in_dim must be either an integer or None.")
    if dims is not None and is_closed(value):
        refuse_closed(shown, value)
    if dims is not None and not isinstance(value, Tensor):
        raise ValueError(
            f"{shown}: Got in_dim={dims} for an input but the input is of type {type(value)}. We cannot vmap over "
            "non-Tensor arguments, please use None as the respective in_dim"
        )
    if dims is not None:
        rank = len(shape_of(value))
        if not -rank <= dims < rank:
            raise ValueError(
                f"{shown}: Got in_dim={dims} for some input, but that input is a Tensor of dimensionality {rank} "
                f"so expected in_dim to satisfy -{rank} <= in_dim < {rank}."
            )
    yield dims


def _check_first(shown: str, held: Held, dims: Any) -> None:
    """Raise TypeError unless an instance of a type is mapped over its first dimension, or not at all."""
    if isinstance(dims, int) and dims != 0:
        raise TypeError(
            f"{shown}: {held.type.__name__} is mapped over its first dimension only, not {dims}: what a dimension "
            "stands for is known to the type, so move it with a method of the type"
        )


def _dims_of(value: Any, dims: Any) -> list[Any] | None:
    """Return what `dims` has for each child of the container `value`, None where it has another structure."""
    if isinstance(value, dict) or isinstance(dims, dict):
        if not (isinstance(value, dict) and isinstance(dims, dict) and value.keys() == dims.keys()):
            return None
        return [dims[key] for key in value]
    return children_of(dims)


def _size(pairs: list[tuple[Any, int | None]]) -> int:
    sizes = [int(shape_of(v)[d]) for v, d in pairs if d is not None]
    if not sizes:
        raise ValueError("vmap: at least one input must be mapped over: in_dims has a number for none of them")
    if len(set(sizes)) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    return sizes[0]


def _wrapped(value: Any, dims: list[int | None], level: Level) -> Any:
    rest = iter(dims)

    def wrap_one(item: Tensor) -> Any:
        dim = next(rest)
        return item if dim is None else batched(item if dim == 0 else item.movedim(dim, 0), level)

    return tree_map(wrap_one, value)


@restoring
def _run(
    func: Callable[..., Any],
    name: str,
    size: int,
    args: tuple[Any, ...],
    dims: list[int | None],
    kwargs: dict[str, Any],
    keyword_dims: list[int | None],
    out_dims: Any,
    randomness: str,
) -> Any:
    with push_level(BatchedTensor, size, randomness) as level:
        level.note_given((args, kwargs))
        inputs, keywords = _wrapped(args, dims, level), _wrapped(kwargs, keyword_dims, level)
        level.mode = _Randomness(level)
        with level.mode:
            result = func(*inputs, **keywords)
        with without_level(level):
            return _unwrapped(name, result, out_dims, level)


def _unwrapped(name: str, result: Any, out_dims: Any, level: Level) -> Any:
    """Return nested results with the batch of each at its dimension in `out_dims`."""

    def out_of(value: Any, dim: Any) -> Any:
        if dim is None:
            if is_batched(value, level):
                raise ValueError(
                    f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None"
                )
            return value
        if is_closed(value):
            refuse_closed(f"vmap({name}, ...)", value)
        if not isinstance(value, Tensor):
            raise ValueError(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(value)}. Did you mean to set "
                "out_dims= to None for output?"
            )
        if not isinstance(dim, int):
            raise ValueError(f"vmap({name}, ..., out_dims={out_dims}): out_dims must be numbers or None")
        inner = batch_of(value, level)
        rank = len(shape_of(inner))
        if not -rank <= dim < rank:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})"
            )
        return inner if dim in (0, -rank) else inner.movedim(0, dim)

    return _each_with_dim(out_of, result, out_dims, f"vmap({name}, ..., out_dims={out_dims})")


def _each_with_dim(change: Callable[[Any, Any], Any], value: Any, dims: Any, shown: str) -> Any:
    """Return nested results with `change(result, dim)` in the place of each."""
    items = children_of(value)
    if type(value) is Held:
        _check_first(shown, value, dims)
    if items is not None:
        each = [dims] * len(items) if dims is None or isinstance(dims, int) else _dims_of(value, dims)
        if each is None or len(each) != len(items):
            raise ValueError(
                f"{shown}: out_dims is not compatible with the structure of `outputs`: {len(items)} results have "
                f"out_dims {dims}."
            )
        return rebuilt(value, [_each_with_dim(change, v, d, shown) for v, d in zip(items, each, strict=True)])
    if isinstance(dims, (tuple, list)) and len(dims) == 1:
        dims = dims[0]
    return change(value, dims)


def _in_chunks(
    func: Callable[..., Any],
    name: str,
    size: int,
    args: tuple[Any, ...],
    dims: list[int | None],
    kwargs: dict[str, Any],
    keyword_dims: list[int | None],
    out_dims: Any,
    randomness: str,
    chunk_size: int,
) -> Any:
    def part(value: Any, of: list[int | None], start: int, stop: int) -> Any:
        rest = iter(of)

        def narrowed(item: Tensor) -> Any:
            dim = next(rest)
            return item if dim is None else item.narrow(dim, start, stop - start)

        return tree_map(narrowed, value)

    chunks = []
    for start in range(0, size, chunk_size):
        stop = min(start + chunk_size, size)
        chunks.append(
            _run(
                func, name, stop - start, part(args, dims, start, stop), dims, part(kwargs, keyword_dims, start, stop),
                keyword_dims, out_dims, randomness,
            )
        )  # fmt: skip

    return _joined(chunks, out_dims)


def _joined(values: list[Any], dims: Any) -> Any:
    """Return the nested results of several chunks as those of one."""
    first = values[0]
    parts = [children_of(v) for v in values]
    if parts[0] is not None:
        each = [dims] * len(parts[0]) if dims is None or isinstance(dims, int) else _dims_of(first, dims)
        return rebuilt(first, [_joined(list(of_chunks), d) for *of_chunks, d in zip(*parts, each, strict=True)])  # type: ignore[arg-type]
    if isinstance(dims, (tuple, list)) and len(dims) == 1:
        dims = dims[0]
    return first if dims is None else cat(values, dims)


def _draws(form: Form | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether a call draws random numbers, as far as the function's declaration says."""
    random = None if form is None else form.operation.random
    if form is None or random is None or isinstance(random, bool):
        return bool(random)
    options = (random,) if isinstance(random, str) else random
    return all(
        args[index] if index < len(args) else kwargs.get(p.name, p.default)
        for index, p in enumerate(form.parameters)
        if p.name in options
    )


class _Randomness(TorchFunctionMode):
    """The mode that handles random functions inside a vmap: also those without tensor operands, which only a mode sees.
    """

    def __init__(self, level: Level) -> None:
        super().__init__()
        self._level = level

    def __torch_function__(
        self, func: Callable[..., Any], types: tuple[type, ...], args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # fmt: skip
        kwargs = kwargs or {}
        form = form_of(func)
        if form is None or not _draws(form, args, kwargs):
            if form is not None and form.operation.composite and not types:
                return follow(form, args, kwargs)
            return func(*args, **kwargs)
        level = self._level
        if level.randomness == "error":
            raise explained(
                RuntimeError, "vmap-random",
                "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
                "'different' randomness flags on vmap or perform the randomness operation out of vmap",
            )  # fmt: skip
        writes = form.inplace or without_option(form, args, kwargs) is not None
        involved = has_level((args, kwargs), level)
        if level.randomness == "same" and not involved:
            return func(*args, **kwargs)
        if level.randomness == "different" and not involved and writes:
            raise RuntimeError(
                f"vmap: {func.__name__}() would write different random numbers for each example into a tensor that "
                "all of them share. Use randomness='same', or the out-of-place form."
            )
        if level.shares:
            args, kwargs = shared(args, level), {name: shared(v, level) for name, v in kwargs.items()}
        generator = kwargs.get("generator") or default_generator_of(cpu)
        state = generator.get_state() if level.randomness == "same" else None
        results = []
        with without_level(level):
            for index in range(level.size):
                if state is not None:
                    generator.set_state(state)
                results.append(func(*example(args, level, index), **example(kwargs, level, index)))
            if writes:
                return first_of(form, args, kwargs)
            return stacked_results(func.__name__, results, level)
