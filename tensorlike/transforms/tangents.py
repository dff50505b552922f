"""The memory of tangents: where it lies, and what moves because its memory does.

# Note [Tangents belong to memory]
A tangent is to the tangents of the other tensors on its memory as the value is to their values: a view of the base's
tangent, with the same shape, strides and offset. What a function computes from dual tensors is so by itself, since a
view of a dual tensor is made of the same views of its value and of its tangent, once both lie in their memory alike.

A tensor without a tangent gets one when a value that has one is written into it. The tangent is then a view of memory
that the *base* gets at that level (`Level.moving`), and the base is made dual with it. Other views of the same base
are plain objects that the base does not know; each becomes dual when a call next has it as an argument, which a mode
of the level sees (`Following`). It is on the stack of modes for as long as the level runs, and plain calls pass it by
until there may be such views: only then are the sets of plain types emptied (Note [The plain set is the mode flag]).

A tangent may have batches that its value has not: those of the `vmap` levels around it (`Level.batches`), as when
`jacfwd` maps over directions. So new memory for tangents has these dimensions in front.
"""

from __future__ import annotations

import math
import sys
import weakref
from collections.abc import Iterable
from typing import Any, NamedTuple

from tensorlike.autograd.tensor_base import move_state, no_history, wrap
from tensorlike.dispatch.modes import TorchFunctionMode
from tensorlike.dispatch.state import ALIVE, STATE, Activation, State, activate
from tensorlike.tensor.backends import data_pointer, namespace_of, strided_view
from tensorlike.tensor.declarations.runtime import device_guard
from tensorlike.tensor.memory.views import detached, part_of
from tensorlike.tensor.tensor import Tensor

from .batched import BatchedTensor, batched
from .description import Described
from .levels import Level, TransformTensor, leaves, memory_key, physical, plain_of, set_no_state, without_level

__all__ = [
    "apart", "batches_of", "fits", "followed", "lies_in", "own_tangent", "settle", "start_moving",
]  # fmt: skip

_INNERMOST = sys.maxsize


class Memory(NamedTuple):
    """The memory of the tangents of one base at one level."""

    #: A tensor of one dimension: for each example of the batches in front, the span of the base.
    tensor: Any
    batches: tuple[Level, ...]
    #: The address of the first element of the base, and the number of bytes up to its last.
    start: int
    span: int


class Following(TorchFunctionMode):
    """The mode of forward-mode levels: makes tensors dual whose memory has got a tangent."""

    _internal = True

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        settle((args, kwargs))
        return func(*args, **kwargs)


class Base:
    """A base that has memory for tangents: a plain tensor, and that memory for each level."""

    __slots__ = ("memories", "reference")

    def __init__(self) -> None:
        self.memories: dict[Level, Memory] = {}
        self.reference: Any = None

    def stands_for(self, tensor: Tensor, bases: dict[int, Base]) -> None:
        """Note which plain tensor the base is, for as long as it lives."""
        key = id(tensor)
        bases[key] = self
        self.reference = weakref.ref(tensor, lambda _: bases.pop(key, None))


def followed(state: State, level: Level) -> State:
    """Return `state`, in which `level` is the innermost one, with the mode that makes tensors follow their memory."""
    outer = next((v for v in reversed(state.levels) if v.moving is not None), None)
    level.moving = {} if outer is None else outer.moving
    found = next((a for a in state.modes if type(a.mode) is Following and not a.over), None)
    if found is not None:
        level.activation = found
        return state
    level.mode = Following()
    level.activation = Activation(level.mode)
    return state.entering(level.activation)


# ------------------------------------------------------------------------------------------- where a tensor's memory is


def _memories(tensors: Iterable[Any]) -> set[int]:
    """Return what tells the memories of plain tensors apart: `detach` and views share a version counter."""
    found = set()
    for tensor in tensors:
        base = memory_key(tensor)
        found.add(id(base) if base._tl_counter is None else id(base._tl_counter))
    return found


def lies_in(value: Tensor, others: Iterable[Any]) -> bool:
    """Return whether a tensor, or what it is made of, lies in the memory of one of `others`."""
    return not _memories(physical(value)).isdisjoint(_memories(physical(list(others))))


def _strides(tensor: Tensor) -> Any:
    """Return the strides of one example in bytes, None where elements are no array."""
    hidden = 0
    while isinstance(tensor, TransformTensor):
        hidden += tensor.batch_dimensions
        tensor = tensor.held()[0]
    array = tensor._tl_data
    if not array.shape and not hasattr(array, "__setitem__"):
        return None  # A NumPy scalar, which cannot be written.
    steps = [0 if n == 1 else s for n, s in zip(array.shape, array.strides, strict=True)]
    return steps[hidden:]


def fits(primal: Tensor, tangent: Tensor) -> bool:
    """Return whether a tangent lies in its memory as its value does in its own."""
    if primal.numel() == 0:
        return True
    same = plain_of(primal)._tl_data.dtype == plain_of(tangent)._tl_data.dtype
    return bool(same and _strides(primal) == _strides(tangent))


def batches_of(values: Iterable[Any]) -> set[Level]:
    """Return the `vmap` levels of which values have batches, apart from their tangents."""
    found = set()
    for value in values:
        while isinstance(value, TransformTensor):
            if value.batch_dimensions:
                found.add(value._level)
            value = value.held()[0]
    return found


# -------------------------------------------------------------------------------------------------- memory for tangents


def _span(array: Any) -> tuple[int, int]:
    """Return the first address of an array and the number of bytes up to the end of the last one."""
    steps = [(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)] if array.size else []
    before = sum(s for s in steps if s < 0)
    return data_pointer(array) + before, sum(map(abs, steps)) + int(array.dtype.itemsize)


def _new_memory(array: Any, batches: tuple[Level, ...]) -> Memory:
    start, span = _span(array)
    count = math.prod(b.size for b in batches) * -(-span // array.dtype.itemsize)
    with device_guard(array):
        elements = namespace_of(array).zeros(max(count, 1), dtype=array.dtype)
    return Memory(wrap(elements), batches, start, -(-span // array.dtype.itemsize) * array.dtype.itemsize)


def _view(memory: Memory, tensor: Tensor, level: Level) -> Any:
    """Return the part of the memory that belongs to `tensor`, as a tensor below `level`."""
    lead: list[Level] = []
    plain = tensor
    while isinstance(plain, TransformTensor):
        if type(plain) is BatchedTensor:
            lead.insert(0, plain._level)
        plain = plain.held()[0]
    array = plain._tl_data
    if any(b in lead for b in memory.batches):
        raise RuntimeError(
            "forward mode: a tensor is written both inside of a vmap, as one of its examples, and outside of it: "
            "clone() it first"
        )
    shape, strides = list(array.shape), list(array.strides)
    every = sorted((*lead, *memory.batches), key=lambda b: b.depth)
    step = memory.span
    steps: dict[int, int] = {}
    for batch in reversed(memory.batches):
        steps[batch.depth] = step
        step *= batch.size
    sizes = [shape[lead.index(b)] if b in lead else b.size for b in every] + shape[len(lead) :]
    moved = [strides[lead.index(b)] if b in lead else steps[b.depth] for b in every] + strides[len(lead) :]
    base = plain_of(memory.tensor)
    xp = namespace_of(base._tl_data)
    try:
        offset = data_pointer(array) - memory.start if array.size else 0
        part = strided_view(xp, base._tl_data, sizes, array.dtype, offset, moved)
    except ValueError:
        raise RuntimeError(
            "forward mode: a view reaches beyond the memory of its base, which has a tangent: clone() it first"
        ) from None
    found: Any = part_of(base, part)
    for batch in every:
        found = batched(found, batch)
    settle_one(found, level.depth, new=True)
    return found


def own_tangent(primal: Tensor, tangent: Tensor, level: Level) -> Any:
    """Return a copy of a tangent in memory of its own, where it lies as `primal` lies in its memory."""
    extra = _in_front(primal, level, tangent)
    with without_level(level):
        array = plain_of(primal)._tl_data
        if isinstance(array, Described):  # Its elements have no addresses, as those of a tensor in chunks.
            return tangent.clone()
        found = _view(_new_memory(array, extra), primal, level)
        found.copy_(tangent)
        settle_one(found, level.depth)
        return found


def _in_front(primal: Tensor, level: Level, *tangents: Tensor) -> tuple[Level, ...]:
    """Return the `vmap` levels of which tangents of a value have batches that it has not."""
    every = {*level.batches, *batches_of((primal, *tangents))} - batches_of([primal])
    return tuple(sorted(every, key=lambda b: b.depth))


def _tangent_in_memory(tensor: Tensor, level: Level) -> Any:
    """Return the tangent of a tensor without one, as a view of that of its base, which is zero at first."""
    base = memory_key(tensor)
    bases: dict[int, Base] = level.moving  # type: ignore[assignment]
    known = bases.get(id(base))
    if known is None:
        known = Base()
        known.stands_for(base, bases)
    memory = known.memories.get(level)
    if memory is None:
        memory = known.memories[level] = _new_memory(base._tl_data, _in_front(tensor, level))
    return _view(memory, tensor, level)


def apart(primal: Tensor, level: Level) -> Any:
    """Return a value for the user: another tensor on its memory, which does not move as those of its base do."""
    if isinstance(primal, TransformTensor):
        first, *rest = primal.held()
        return primal.remade([apart(first, level), *rest])
    known = level.moving.get(id(memory_key(primal))) if level.moving else None
    return primal if known is None or not no_history(primal) else detached(primal)


# ------------------------------------------------------------------------------------------------------- becoming dual


def start_moving(target: Tensor, level: Level) -> None:
    """Give a tensor without a tangent at `level` one of zeros, in the memory of the tangents of its base."""
    tensor: Any = target
    known_type = type(target) is Tensor or isinstance(target, TransformTensor)
    if not known_type:
        raise RuntimeError(
            f"forward mode: a value with a tangent was written into a {type(tensor).__name__} without one: use the "
            "out-of-place form"
        )
    base = None if isinstance(tensor, TransformTensor) else tensor._tl_view_base
    if base is None:
        body = move_state(tensor, type(tensor)) if type(tensor) is Tensor else tensor.remade(tensor.held())
        known = level.moving.pop(id(tensor), None)  # type: ignore[union-attr]
        if known is not None:  # It moves at a level inside of this one.
            known.stands_for(body, level.moving)
    else:
        outer = base
        while isinstance(outer, TransformTensor) and outer._level.depth > level.depth:
            outer = outer.held()[0]
        if not (isinstance(outer, TransformTensor) and outer._level is level):
            start_moving(outer, level)
        body = part_of(plain_of(base), tensor._tl_data)
    tangent = _tangent_in_memory(body, level)
    counter = plain_of(body)._tl_counter
    set_no_state(tensor)
    tensor.__class__ = level.kind
    tensor._primal, tensor._tangent, tensor._level = body, tangent, level
    activation = level.activation
    if counter is not None and activation is not None and not activation.over and weakref.ref(activation) not in ALIVE:
        activate(activation)  # There may be other tensors on this memory: plain calls ask the mode too from now on.


def settle(value: Any) -> None:
    """Make the tensors in `value` dual whose memory has got a tangent."""
    if any(level.moving for level in STATE.get().levels):
        for leaf in leaves(value):
            if isinstance(leaf, Tensor):
                settle_one(leaf, _INNERMOST)


def settle_one(tensor: Tensor, limit: int, new: bool = False) -> None:
    """Make a tensor, and what it is made of, dual at the levels below the depth `limit` at which its memory moves.

    A `new` one was made by `_view`: its base is the value of the dual tensor that the memory is.
    """
    own = 0
    if isinstance(tensor, TransformTensor):
        own = tensor._level.depth
        for part in tensor.held():
            settle_one(part, own, new)
    elif not new and not isinstance(tensor._tl_view_base, TransformTensor):
        return  # It is a base, or what a transform holds, whose base is the value of a dual tensor.
    for level in STATE.get().levels:
        if level.moving and own < level.depth < limit:
            known = level.moving.get(id(memory_key(tensor)))
            if known is not None and level in known.memories:
                start_moving(tensor, level)
                own = level.depth
