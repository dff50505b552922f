"""Shared by the transforms: levels, and the base of their tensor-like types.

# Note [Transforms are tensor-like types]
A batched tensor and a dual tensor are subclasses of Tensor with a `__torch_function__`, and nothing below the dispatch
layer knows of them. Each belongs to a level: `vmap` inside `jvp` inside `vmap` are three. A call is dispatched to the
innermost level among its operands; its implementation calls public functions on the tensors inside those operands,
which may belong to outer levels, and so on down to plain tensors. Reverse mode needs no level: the tensors inside are
recorded by the graph like any tensor, and `autograd.grad` is one more function that each type implements.

Neither type has an array: `_tl_data` has a shape, a dtype and a device, and raises `NoArray` when elements are read, so
that a function which works on arrays cannot go on with the wrong one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, ClassVar

from tensorlike.autograd.backward_and_grad import grad as autograd_grad
from tensorlike.dispatch.modes import TorchFunctionMode
from tensorlike.dispatch.operation import INPLACE, Form
from tensorlike.dispatch.pytree import leaves
from tensorlike.dispatch.pytree import map_leaves as tree_map
from tensorlike.dispatch.state import STATE
from tensorlike.tensor.backends import device_of
from tensorlike.tensor.tensor import Tensor

from .description import Described, NoArray

__all__ = [
    "Level",
    "Method",
    "NoArray",
    "TransformTensor",
    "bind",
    "follow",
    "functional_of",
    "leaves",
    "of_inplace_form",
    "physical",
    "plain_of",
    "push_level",
    "shape_of",
    "tree_map",
    "without_level",
]

_new = object.__new__

#: The methods and properties of tensors, for giving them rules: Tensor gets them when the operations are declared.
Method: Any = Tensor


class Level:
    """One running transform: its depth among those that run, and whether it still runs."""

    __slots__ = ("alive", "depth", "kind", "mode", "randomness", "size")

    def __init__(self, kind: type[TransformTensor], depth: int, size: int = 0, randomness: str = "error") -> None:
        self.kind = kind
        self.depth = depth
        #: The number of examples of a `vmap`.
        self.size = size
        self.randomness = randomness
        #: The mode of a `vmap` for its random functions.
        self.mode: TorchFunctionMode | None = None
        self.alive = True


class without_level:
    """Run a block without the transforms from `level` inwards."""

    # Neither this nor the next is a Switch, which takes 0.6 us more: this one is entered at each call.
    __slots__ = ("_level", "_state")

    def __init__(self, level: Level) -> None:
        self._level = level

    def __enter__(self) -> None:
        state = self._state = STATE.get()
        inner = state.outside_level(self._level.depth)
        try:
            STATE.set(inner)
        except BaseException:
            STATE.set(state)
            raise

    def __exit__(self, *exc: object) -> None:
        STATE.set(self._state)


class push_level:
    """Enter a level for a block."""

    __slots__ = ("_inner", "_level", "_state")

    def __init__(self, kind: type[TransformTensor], size: int = 0, randomness: str = "error") -> None:
        stack = STATE.get().levels
        self._level = Level(kind, stack[-1].depth + 1 if stack else 1, size, randomness)

    def __enter__(self) -> Level:
        state = self._state = STATE.get()
        inner = self._inner = state.with_levels((*state.levels, self._level))
        try:
            STATE.set(inner)
        except BaseException:
            STATE.set(state)
            raise
        return self._level

    def __exit__(self, *exc: object) -> None:
        left = self._state
        try:
            found = STATE.get()
            if found is not self._inner:
                left = found.but(levels=left.levels)
        finally:
            STATE.set(left)
            self._level.alive = False
            self._level.mode = None  # It knows the level: a caught error must not leave a cycle of the two.


def set_no_state(tensor: Any) -> None:
    """Give a tensor of a transform the state of one without history; its array is what `_tl_data` below describes."""
    tensor._tl_tracked = False
    tensor._tl_edge = tensor._tl_counter = tensor._tl_meta = None


class TransformTensor(Tensor):
    """A tensor of a running transform. It has a shape and a dtype like any other, and no array of its own."""

    _tl_transformed = True
    _level: Level
    # The tensors inside the two types.
    _value: Any
    _primal: Any
    _tangent: Any
    #: The attributes with the tensors that this one is made of.
    holds: ClassVar[tuple[str, ...]] = ()
    #: The name of the type in messages.
    words: ClassVar[str] = "a transform"
    #: The number of hidden dimensions of the tensor inside.
    batch_dimensions: ClassVar[int] = 0

    @property
    def _tl_data(self) -> Any:
        inner = plain_of(self)._tl_data
        return Described(shape_of(self), inner.dtype, device_of(inner), self.words)

    def __hash__(self) -> int:
        return id(self)

    @classmethod
    def __torch_function__(
        cls, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Dispatch to the innermost level among the operands."""
        kwargs = kwargs or {}
        if func is autograd_grad:
            from .gradients import answer_grad

            return answer_grad(args, kwargs)
        top: TransformTensor | None = None
        for value in args if not kwargs else (*args, *kwargs.values()):
            # Most operands stand alone, and a generator takes 300 ns.
            for leaf in (value,) if isinstance(value, Tensor) else leaves(value):
                if isinstance(leaf, TransformTensor) and (top is None or leaf._level.depth > top._level.depth):
                    top = leaf
        if top is None:  # Only a type among the arguments: no tensor of a transform.
            return NotImplemented
        return top.answer(top._level, func, args, kwargs)

    # Defined by each transform. Not abstract methods: with `ABCMeta` every `isinstance` would be a call, of which a
    # mapped operation makes several.
    @classmethod
    def answer(cls, level: Level, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Compute a call in which `level` is the innermost one."""
        raise NotImplementedError(f"{cls.__name__} has no answer()")

    def held(self) -> tuple[Any, ...]:
        """Return the tensors that this one is made of."""
        return tuple([getattr(self, name) for name in type(self).holds])

    def take_over(self, other: Any) -> None:
        """Hold what `other`, a tensor of the same level, is made of."""
        for name in type(self).holds:
            setattr(self, name, getattr(other, name))

    def held_as(self, cls: type) -> Any:
        """Return this tensor made of tensors of the type `cls`: what `as_subclass` does inside a transform."""
        raise NotImplementedError(f"{type(self).__name__} has no held_as()")


def shape_of(tensor: Any) -> tuple[int, ...]:
    """Return the shape of a tensor, one of a transform or not, without dispatch: 5 us less than `x.shape`."""
    hidden = 0
    while isinstance(tensor, TransformTensor):
        hidden += tensor.batch_dimensions
        tensor = tensor.held()[0]
    shape: tuple[int, ...] = tensor._tl_data.shape
    return shape[hidden:]


def plain_of(value: Any) -> Any:
    """Return a plain tensor that `value` is made of: its dtype and device."""
    while isinstance(value, TransformTensor):
        value = value.held()[0]
    return value


def physical(value: Any) -> Iterator[Any]:
    """Yield the plain tensors that the tensors in `value` are made of."""
    for leaf in leaves(value):
        if isinstance(leaf, TransformTensor):
            yield from physical(leaf.held())
        elif isinstance(leaf, Tensor):
            yield leaf


def follow(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run the code of a function made of other public functions, each of which is dispatched in turn."""
    if form.operation.random is not None:
        return form.implementation(*args, **kwargs)
    # What it draws is seen where it is drawn, by the modes that are off while they pass this call on.
    state = STATE.get()
    on = {id(a.mode) for a in state.modes}
    with ExitStack() as stack:
        for level in state.levels:
            if level.mode is not None and id(level.mode) not in on:
                stack.enter_context(level.mode)
        return form.implementation(*args, **kwargs)


def bind(row: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """Return the arguments of a call by name, defaults filled in; None for functions that take `*sizes`."""
    bound: dict[str, Any] = {}
    for index, p in enumerate(row.parameters):
        if p.kind == "variadic":
            return None
        if index < len(args):
            bound[p.name] = args[index]
        elif p.name in kwargs:
            bound[p.name] = kwargs[p.name]
        else:
            bound[p.name] = p.default
    return bound


def of_inplace_form(form: Form) -> bool:
    """Return whether a form writes what other forms of its operation return: `add_`, but not `fill_diagonal_`."""
    return form.inplace and not form.operation.forms[0].inplace


def functional_of(form: Form) -> Callable[..., Any] | None:
    """Return the function that computes what an in-place one writes; None where there is none."""
    if not form.inplace:
        return None
    variant = form.operation.variant
    if variant is not None and variant.kind == INPLACE:
        return variant.of.function
    return form.operation.function if of_inplace_form(form) and form.kind != "setter" else None
