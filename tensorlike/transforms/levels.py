"""Shared by the transforms: levels, and the base of their tensor-like types.

# Note [Transforms are tensor-like types]
A batched tensor and a dual tensor are subclasses of Tensor with a `__torch_function__`, and nothing below the dispatch
layer knows of them. Each belongs to a level: `vmap` inside `jvp` inside `vmap` are three. A call is dispatched to the
innermost level among its operands; its implementation calls public functions on the tensors inside those operands,
which may belong to outer levels, and so on down to plain tensors. Reverse mode needs no level: the tensors inside are
recorded by the graph like any tensor, and `autograd.grad` is one more function that each type implements.

Neither type has an array: `_tl_data` has a shape, a dtype and a device, and raises `NoArray` when elements are read, so
that a function which works on arrays cannot go on with the wrong one.

# Note [A user's type inside a transform]
A tensor of a transform may be made of tensors of a user's subclass. It counts as an instance of that class
(`isinstance`; `type()` tells the truth), and has the attributes, methods and properties that the class adds to those of
Tensor: they are looked up on what is inside, and methods are bound to the tensor of the transform, so that what they
compute is mapped or differentiated too. An attribute that is set is set on what is inside, and so is on what the
transform returns. The tensors that a transform was given belong to the caller: setting an attribute of one is refused.

A class with a `__torch_function__` of its own is called by `vmap` with the function that was called and its arguments,
before that is decomposed. Within `super().__torch_function__` or `DisableTorchFunctionSubclass` it is not called again,
as elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tensorlike.autograd.backward_and_grad import grad as autograd_grad
from tensorlike.autograd.node import Node
from tensorlike.autograd.tensor_base import no_history, wrap
from tensorlike.dispatch.core import inherits_default, plan_for
from tensorlike.dispatch.missing import MISSING
from tensorlike.dispatch.modes import TorchFunctionMode
from tensorlike.dispatch.operation import INPLACE, Form
from tensorlike.dispatch.pytree import leaves
from tensorlike.dispatch.pytree import map_leaves as tree_map
from tensorlike.dispatch.state import STATE, Activation, State, deactivate
from tensorlike.tensor.backends import device_of
from tensorlike.tensor.memory.views import detached
from tensorlike.tensor.propagation import copy_attributes
from tensorlike.tensor.tensor import Tensor, converted

from .description import Described, NoArray

if TYPE_CHECKING:  # Set by the package, which imports it afterwards.
    from .gradients import answer_grad

__all__ = [
    "Level",
    "Method",
    "NoArray",
    "TransformTensor",
    "asked_type",
    "bind",
    "first_of",
    "follow",
    "functional_of",
    "given_out",
    "has_history",
    "has_level",
    "keeps_type",
    "leaves",
    "memory_key",
    "of_inplace_form",
    "order_of",
    "physical",
    "plain_of",
    "push_level",
    "shape_of",
    "tree_map",
    "typed_as",
    "without_history",
    "without_level",
    "without_option",
]

_new = object.__new__
_store = object.__setattr__
_of_state: Any = Tensor
_set_tracked, _set_edge = _of_state._tl_tracked.__set__, _of_state._tl_edge.__set__
_set_counter, _set_meta = _of_state._tl_counter.__set__, _of_state._tl_meta.__set__
_object_class: Any = object.__dict__["__class__"]

#: The methods and properties of tensors, for giving them rules: Tensor gets them when the operations are declared.
Method: Any = Tensor


class Level:
    """One running transform: its depth among those that run, and whether it still runs."""

    __slots__ = (
        "__weakref__", "activation", "alive", "batches", "depth", "given", "kind", "mode", "moving", "randomness",
        "shares", "size",
    )  # fmt: skip

    def __init__(self, kind: type[TransformTensor], depth: int, size: int = 0, randomness: str = "error") -> None:
        self.kind = kind
        self.depth = depth
        #: The number of examples of a `vmap`.
        self.size = size
        self.randomness = randomness
        #: Whether an input without a batch is differentiated inside of a `vmap`: see Note [Inputs that examples share].
        self.shares = False
        #: The mode of a `vmap` for its random functions, or of the outermost level of forward mode: see Note [Tangents
        #: belong to memory].
        self.mode: TorchFunctionMode | None = None
        self.alive = True
        #: The tensors of users' types that the transform was given.
        self.given: tuple[Any, ...] = ()
        # For forward mode, see transforms/tangents.py: the activation of its mode; the bases that have memory for
        # tangents, by their identity, which levels inside of each other share; the `vmap` levels of which tangents
        # have batches.
        self.activation: Activation | None = None
        self.moving: dict[int, Any] | None = None
        self.batches: set[Level] = set()

    def note_given(self, values: object) -> None:
        """Note the tensors of users' types among the nested arguments of the transform."""
        self.given = tuple(
            [v for v in map(plain_of, leaves(values)) if isinstance(v, Tensor) and type(v) is not Tensor]
        )

    def modes_left(self, state: State) -> tuple[Activation, ...]:
        """Return the modes of a State without that of the level."""
        own = None if self.mode is None else self.activation
        return tuple([a for a in state.modes if a is not own]) if own is not None else state.modes

    def over(self) -> None:
        """Note that the transform has returned."""
        self.alive = False
        if self.activation is not None and self.mode is not None:
            deactivate(self.activation)
        # The mode knows the level, and memory may be held by it: a caught error must not leave a cycle of them.
        self.mode = self.activation = None
        self.given = ()
        moving, self.moving = self.moving or {}, None
        for key, base in tuple(moving.items()):
            base.memories.pop(self, None)
            if not base.memories:
                moving.pop(key, None)


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
        level = self._level
        inner = self._inner = level.kind.entering(state.with_levels((*state.levels, level)), level)
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
                left = found.but(levels=left.levels, modes=self._level.modes_left(found))
        finally:
            STATE.set(left)
            self._level.over()


def set_no_state(tensor: Tensor) -> None:
    """Give a tensor of a transform the state of one without history; its array is what `_tl_data` below describes."""
    # Not as attributes, which pass `TransformTensor.__setattr__`: 2 us for each tensor.
    _set_tracked(tensor, False)
    _set_edge(tensor, None)
    _set_counter(tensor, None)
    _set_meta(tensor, None)


def asked_type(kind: type) -> bool:
    """Return whether `kind` is a user's type that calls are dispatched to."""
    return kind is not Tensor and bool(plan_for((kind,)).types)


def keeps_type(kind: Any) -> bool:
    """Return whether derivatives get the type `kind` without asking it: it says what results are, or leaves it to
    Tensor.
    """
    return asked_type(kind) and (inherits_default(kind) or bool(kind.__tensor_attributes__))


class TransformTensor(Tensor):
    """A tensor of a running transform. It has a shape and a dtype like any other, and no array of its own."""

    _tl_transformed = True
    _level: Level
    # The tensors inside the two types.
    _value: Any
    _primal: Any
    _tangent: Any
    with_primal: ClassVar[Callable[..., Any]]
    #: The attributes with the tensors that this one is made of.
    holds: ClassVar[tuple[str, ...]] = ()
    #: The name of the type in messages.
    words: ClassVar[str] = "a transform"
    #: The number of hidden dimensions of the tensor inside.
    batch_dimensions: ClassVar[int] = 0

    @staticmethod
    def apply_node(node: Node, grad: Any, level: Level) -> Any:
        """Run a node of the graph with gradients of which some are of the level: each kind of level defines it."""
        raise NotImplementedError("a subclass of TransformTensor defines how nodes run at its level")

    @property
    def _tl_data(self) -> Any:
        inner = plain_of(self)._tl_data
        return Described(shape_of(self), inner.dtype, device_of(inner), self.words)

    def __hash__(self) -> int:
        return id(self)

    # See Note [A user's type inside a transform].

    @property
    def __class__(self) -> Any:
        """The user's type of what the tensor is made of, for `isinstance`."""
        kind = type(plain_of(self))
        return kind if asked_type(kind) else type(self)

    @__class__.setter
    def __class__(self, kind: type) -> None:
        _object_class.__set__(self, kind)

    def __getattr__(self, name: str) -> Any:
        if name not in _OWN:
            inner = plain_of(self)
            kind = type(inner)
            if kind is not Tensor:
                found: Any = next((base.__dict__[name] for base in kind.__mro__ if name in base.__dict__), MISSING)
                if isinstance(found, MemberDescriptorType):  # Of `__slots__`.
                    return found.__get__(inner)
                if hasattr(found, "__set__"):
                    return found.__get__(self, kind)
                if name in inner.__dict__:
                    return inner.__dict__[name]
                if found is not MISSING:
                    return found.__get__(self, kind) if hasattr(found, "__get__") else found
            raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}", name=name, obj=inner)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: object) -> None:
        if name in _OWN or hasattr(Tensor, name) or type(plain_of(self)) is Tensor:
            _store(self, name, value)
            return
        inner = plain_of(self)
        if getattr(inner, name, MISSING) is value:
            return
        part: Any = self
        while isinstance(part, TransformTensor):
            if any(inner is given for given in part._level.given):
                raise AttributeError(
                    f"{type(inner).__name__}.{name} cannot be set on an argument of a transform, which belongs to the "
                    "caller: set it on a new tensor, such as x.view_as(x), and return that"
                )
            part = part.held()[0]
        setattr(inner, name, value)

    def innermost(self) -> Any:
        """Return the plain tensor, or that of a user's type, that this one is made of."""
        return plain_of(self)

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: tuple[type, ...], args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # fmt: skip
        """Dispatch to the innermost level among the operands."""
        kwargs = kwargs or {}
        if func is autograd_grad:
            return answer_grad(args, kwargs)
        if len(types) > 1 and not all(issubclass(t, Tensor) for t in types):
            # An operand of a type that is no tensor, which may hold tensors of the level: that type answers, as it does
            # next to a plain tensor.
            return NotImplemented
        top: TransformTensor | None = None
        for value in args if not kwargs else (*args, *kwargs.values()):
            # Most operands stand alone, and a generator takes 300 ns.
            for leaf in (value,) if isinstance(value, Tensor) else leaves(value):
                if isinstance(leaf, TransformTensor) and (top is None or leaf._level.depth > top._level.depth):
                    top = leaf
        if top is None:  # Only a type among the arguments: no tensor of a transform.
            return NotImplemented
        return top.answer(top._level, func, args, kwargs)

    @classmethod
    def entering(cls, state: State, level: Level) -> State:
        """Return the State to enter `level` with, which is the innermost one of `state`."""
        return state

    # Defined by each transform. Not abstract methods: with `ABCMeta` every `isinstance` would be a call, of which a
    # mapped operation makes several.
    @classmethod
    def answer(cls, level: Level, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Compute a call in which `level` is the innermost one."""
        raise NotImplementedError(f"{cls.__name__} has no answer()")

    def held(self) -> tuple[Any, ...]:
        """Return the tensors that this one is made of."""
        return tuple([getattr(self, name) for name in type(self).holds])

    def remade(self, parts: Sequence[Any]) -> Any:
        """Return a tensor of the same level made of `parts`."""
        result: Any = _new(type(self))
        set_no_state(result)
        result.__dict__.update(zip(type(self).holds, parts, strict=True), _level=self._level)
        return result

    def take_over(self, other: Any) -> None:
        """Hold what `other`, a tensor of the same level, is made of."""
        for name in type(self).holds:
            setattr(self, name, getattr(other, name))

    def held_as(self, cls: type) -> Any:
        """Return this tensor made of tensors of the type `cls`: what `as_subclass` does inside a transform."""
        raise NotImplementedError(f"{type(self).__name__} has no held_as()")


#: The attributes that a tensor of a transform has itself.
_OWN = frozenset({"_level", "_value", "_primal", "_tangent"})


def shape_of(tensor: Tensor) -> tuple[int, ...]:
    """Return the shape of a tensor, one of a transform or not, without dispatch: 5 us less than `x.shape`."""
    hidden = 0
    while isinstance(tensor, TransformTensor):
        hidden += tensor.batch_dimensions
        tensor = tensor.held()[0]
    shape: tuple[int, ...] = tensor._tl_data.shape
    return shape[hidden:]


def plain_of(value: Tensor) -> Any:
    """Return a plain tensor that `value` is made of: its dtype and device."""
    while isinstance(value, TransformTensor):
        value = value.held()[0]
    return value


def typed_as(tensor: Tensor, like: Tensor) -> Any:
    """Return a derivative with the subclass, and the declared attributes, of the value that it belongs to."""
    source = plain_of(like)
    kind = type(source)
    if not keeps_type(kind):
        return tensor

    def typed(value: Tensor) -> Any:
        if isinstance(value, TransformTensor):
            return value.remade([typed(v) for v in value.held()])
        if isinstance(value, kind):
            return value
        result = converted(value, kind, (), {}, fresh=False)
        copy_attributes(source, result, kind.__tensor_attributes__)
        return result

    return typed(tensor)


def memory_key(tensor: Tensor) -> Any:
    """Return the plain tensor whose memory `tensor` lies in: never a view."""
    plain = plain_of(tensor)
    base = plain._tl_view_base
    return plain if base is None else plain_of(base)


def physical(value: Any) -> Iterator[Any]:
    """Yield the plain tensors that the tensors in `value` are made of."""
    for leaf in leaves(value):
        if isinstance(leaf, TransformTensor):
            yield from physical(leaf.held())
        elif isinstance(leaf, Tensor):
            yield leaf


def without_history(tensor: Tensor) -> Any:
    """Return a tensor without the history of what it is made of, its tangents and batches kept."""
    if isinstance(tensor, TransformTensor):
        return tensor.remade([without_history(v) for v in tensor.held()])
    if no_history(tensor):
        return tensor
    return detached(tensor) if type(tensor) is Tensor else tensor.detach()


def has_history(value: object) -> bool:
    """Return whether a tensor that the tensors in `value` are made of requires grad; nothing is dispatched."""
    return any(not no_history(t) for t in physical(value))


def has_level(value: object, level: Level) -> bool:
    """Return whether a tensor in `value`, or what it is made of, is of `level`."""
    return any(
        isinstance(v, TransformTensor) and (v._level is level or has_level(v.held(), level)) for v in leaves(value)
    )


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
                stack.enter_context(level.mode if level.activation is None else _Reentered(level.activation))
        return form.implementation(*args, **kwargs)


class _Reentered:
    """A block in a mode that is on around it, but off while it passes a call on."""

    __slots__ = ("_activation", "_state")

    def __init__(self, activation: Activation) -> None:
        self._activation = activation

    def __enter__(self) -> None:
        state = self._state = STATE.get()
        STATE.set(state.entering(self._activation))

    def __exit__(self, *exc: object) -> None:
        STATE.set(self._state)


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


def without_option(
    form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """Return the arguments of a call that writes its first operand because an option says so (`inplace=True`), without
    that option; None for other calls.
    """
    option = form.mutates.get(form.parameters[0].name) if form.mutates else None
    if option is None:
        return None
    index = next(i for i, p in enumerate(form.parameters) if p.name == option)
    if not (args[index] if index < len(args) else kwargs.get(option, form.parameters[index].default)):
        return None
    if index < len(args):
        return (*args[:index], False, *args[index + 1 :]), kwargs
    return args, {**kwargs, option: False}


def given_out(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the `out` that a call is given, or None."""
    if not form.mutates or "out" not in form.mutates:
        return None
    found = kwargs.get("out")
    if found is None and len(args) == len(form.parameters) and form.parameters[-1].name == "out":
        found = None if any(p.kind == "variadic" for p in form.parameters) else args[-1]
    return found


def first_of(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the first operand of a call."""
    return args[0] if args else kwargs[form.parameters[0].name]


def order_of(form: Form, sizes: Sequence[int], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[int]:
    """Return the order in which a call puts the dimensions of its first operand, found by sizes that all differ.

    The errors are those of the function.
    """
    options = {key: value for key, value in kwargs.items() if args or key != form.parameters[0].name}
    probe = wrap(np.ndarray(tuple(sizes), np.float64, bytes(8), 0, (0,) * len(sizes)))
    return [sizes.index(n) for n in form.implementation(probe, *args[1:], **options).shape]


def functional_of(form: Form) -> Callable[..., Any] | None:
    """Return the function that computes what an in-place one writes; None where there is none."""
    if not form.inplace:
        return None
    variant = form.operation.variant
    if variant is not None and variant.kind == INPLACE:
        return variant.of.function
    return form.operation.function if of_inplace_form(form) and form.kind != "setter" else None
