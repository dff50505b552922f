"""Dispatch: the order of overriding types, modes and guards.

This module knows only Python types: neither arrays, nor tensors, nor gradients. The tensor package registers which
types are plain (`register_plain`) and how the default implementation gives results their type (`register_default`).

# Note [Guards and transforms]
A guard switches off what users' types do with a call, not what the call computes: `super().__torch_function__` inside a
`vmap` is to compute the function of each example. So the types of transforms, which say `_tl_transformed`, are asked
under every guard.
"""

from __future__ import annotations

import inspect
import operator
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple
from weakref import WeakSet

from .operation import Form, undispatched
from .provided import Provided
from .state import (
    CLEAR,
    OPTIONAL_TENSORS,
    ORDINARY,
    PLAIN,
    PLAIN_TYPES,
    STATE,
    TENSOR_TYPES,
    TENSORS,
    State,
    add_plain_types,
)

__all__ = [
    "CLEAR",
    "LEFT_TO_PYTHON",
    "OPTIONAL_TENSORS",
    "ORDINARY",
    "PLAIN",
    "PROVIDED",
    "STATE",
    "TENSORS",
    "State",
    "ask_types",
    "disabled_torch_dispatch",
    "dispatch",
    "elements",
    "handle",
    "has_handler",
    "inherits_default",
    "is_left_to",
    "is_reflected",
    "known_plan",
    "outside_stacklevel",
    "overriding_types",
    "plan_for",
    "register_ordinary",
    "register_plain",
    "unanswered",
    "under_guards",
    "undispatched",
    "warn_torch_dispatch",
    "went_in_circles",
]


_get_state = STATE.get


def register_plain(*types: type, tensors: bool = False) -> None:
    """Add `types` to those that never override anything."""
    add_plain_types(*types, tensors=tensors)
    _PLANS.clear()


def register_ordinary(*types: type) -> None:
    """Add `types` to those of options that never override; a value of them is no operand."""
    ORDINARY.update(types)


class Plan(NamedTuple):
    """The overriding types of one tuple of operand types, in dispatch order."""

    types: tuple[type, ...]
    positions: tuple[int, ...]
    default: type | None
    #: Whether the handlers are called one after the other: some type overrides, and not all by inheriting the default.
    asked: bool = False
    #: The plan while types are switched off, None where it has no types: see Note [Guards and transforms].
    guarded: Plan | None = None


_NOBODY: Final = Plan((), (), None)
_PLANS: dict[tuple[type, ...], Plan] = {}
#: `known_plan(types)` is the plan for these types, None before the first call.
known_plan = _PLANS.get
_PLANS_KEPT = 4096
_warned: WeakSet[type] = WeakSet()


class ProvidedToDispatch(Provided):
    """The objects that packages above provide to dispatch: see Note [Provided from above]."""

    __slots__ = ("default_implementation", "disabled_implementation", "propagate", "rules_for", "settle")

    #: `Tensor.__torch_function__` as a plain function, and what switches the protocol off for a type.
    default_implementation: Any
    disabled_implementation: Any
    #: `propagate(form, cls, args, kwargs)` does at once what calling the default implementation of `cls` does.
    propagate: Callable[[Form, type, tuple[Any, ...], dict[str, Any]], Any]
    #: `settle(function, types, operands, args, kwargs)` is called when every type returned NotImplemented.
    settle: Callable[[Any, tuple[type, ...], Sequence[Any], tuple[Any, ...], dict[str, Any]], Any] | None
    #: `rules_for(function, types, operands)` returns the rules that `settle` would follow.
    rules_for: Callable[[Any, tuple[type, ...], Sequence[Any]], Sequence[Any]] | None

    def __init__(self) -> None:
        super().__init__()
        self.settle = self.rules_for = None


PROVIDED: Final = ProvidedToDispatch()


def inherits_default(kind: type) -> bool:
    """Return whether a type has the `__torch_function__` of Tensor itself."""
    # A type whose instances have one of their own may have none.
    found = getattr(kind, "__torch_function__", None)
    return getattr(found, "__func__", None) is PROVIDED.default_implementation


def _is_enabled(implementation: Callable[..., Any] | None) -> bool:
    if implementation is None:
        return False
    return getattr(implementation, "__func__", implementation) is not PROVIDED.disabled_implementation


def _overrides(kind: type) -> bool:
    return kind not in PLAIN_TYPES and _is_enabled(getattr(kind, "__torch_function__", None))


def has_handler(value: Any) -> bool:
    """Return whether a value overrides: it has a `__torch_function__`, by its type or of its own, that is enabled.

    An attribute of the instance counts, as in PyTorch, and what `__getattr__` finds.
    """
    if type(value) in PLAIN_TYPES:
        return False
    try:
        return _is_enabled(value.__torch_function__)
    except Exception:  # As in PyTorch, whatever a `__getattr__` raises.
        return False


def _check_method(kind: type) -> None:
    """Raise TypeError for a `__torch_function__` that cannot be called, and warn once of a plain method."""
    found = inspect.getattr_static(kind, "__torch_function__")
    # A property answers once it is asked for on an operand, as it does for PyTorch.
    if not (callable(kind.__torch_function__) or isinstance(found, property)):  # type: ignore[attr-defined]
        raise TypeError(
            f"{kind.__name__}.__torch_function__ is {found!r}, which cannot be called: make it a classmethod "
            "__torch_function__(cls, func, types, args=(), kwargs=None)"
        )
    if inspect.isfunction(found) and kind not in _warned:
        _warned.add(kind)
        warnings.warn(
            f"{kind.__name__} defines __torch_function__ as a plain method, which is deprecated: "
            "make it a classmethod, so that it can also be asked without an instance at hand.",
            DeprecationWarning,
            stacklevel=outside_stacklevel(),
        )


def disabled_torch_dispatch(
    func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
) -> Any:
    """Stand in for `__torch_dispatch__` in a type written for PyTorch that does without: it is never called here."""
    return NotImplemented


_told: WeakSet[type] = WeakSet()


def warn_torch_dispatch(kind: type) -> None:
    """Warn once of a class that defines PyTorch's second protocol, which nothing here calls."""
    owner = next((c for c in kind.__mro__ if "__torch_dispatch__" in c.__dict__), None)
    if owner is None or owner in _told:
        return
    defined = owner.__dict__["__torch_dispatch__"]
    if getattr(defined, "__func__", defined) is disabled_torch_dispatch:
        return
    _told.add(owner)
    warnings.warn(
        f"{owner.__name__} defines __torch_dispatch__, which tensorlike never calls: there is one protocol, "
        "__torch_function__, and no second one below autograd. Put what it does into __torch_function__, whose `func` "
        "is the public function; or set __torch_dispatch__ = tensorlike._C._disabled_torch_dispatch_impl to say that "
        "the type does without.",
        UserWarning,
        stacklevel=outside_stacklevel(),
    )


def outside_stacklevel() -> int:
    """Return the `stacklevel` with which the caller's warning names the line outside of the library."""
    level, frame = 1, sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("tensorlike"):
        level += 1
        frame = frame.f_back  # type: ignore[assignment]
    return level


def plan_for(key: tuple[type, ...], operands: Sequence[Any] = ()) -> Plan:
    """Return the plan for operands of the types `key`: subclasses before superclasses, otherwise left to right.

    Plans are about types. An operand whose type has no handler may have one itself: then there is no plan to be
    remembered, and the call goes to `operands`.
    """
    plan = _PLANS.get(key)
    return plan if plan is not None and _is_current(plan) else _make_plan(key, operands)


def _is_current(plan: Plan) -> bool:
    """Return whether the types of a plan that inherit the default implementation still do.

    One may have been given a `__torch_function__` since. One that lost its own inherits the default, which is called.
    """
    return plan.default is None or all(map(inherits_default, plan.types))


def _make_plan(key: tuple[type, ...], operands: Sequence[Any]) -> Plan:
    types: list[type] = []
    positions: list[int] = []
    cacheable = True
    for position, kind in enumerate(key):
        if kind in types:
            continue
        if _overrides(kind):
            _check_method(kind)
            warn_torch_dispatch(kind)
        else:
            # A class that gains __torch_function__ later must be seen then: only known non-overriders are remembered.
            cacheable = cacheable and kind in PLAIN_TYPES
            if position >= len(operands) or not has_handler(operands[position]):
                continue
        at = next((i for i, other in enumerate(types) if issubclass(kind, other)), len(types))
        types.insert(at, kind)
        positions.insert(at, position)
    if types:
        default = None
        # Calls of a type that declares attributes pass the default implementation, which propagates them.
        if all(map(inherits_default, types)) and not any(
            getattr(t, "__tensor_attributes__", ()) or getattr(t, "__tensor_finalize__", None) for t in types
        ):
            default = next((t for t in types if all(issubclass(t, other) for other in types)), None)
        kept = [(t, p) for t, p in zip(types, positions, strict=True) if getattr(t, "_tl_transformed", False)]
        guarded = Plan(tuple(t for t, _ in kept), tuple(p for _, p in kept), None, True) if kept else None
        plan = Plan(tuple(types), tuple(positions), default, default is None, guarded)
    else:
        plan = _NOBODY
    if cacheable:
        if (
            len(_PLANS) >= _PLANS_KEPT
        ):  # The keys keep their types alive: a bound keeps throw-away classes from piling up.
            _PLANS.clear()
        _PLANS[key] = plan
    return plan


def overriding_types(operands: Iterable[Any]) -> tuple[type, ...]:
    """Return the distinct overriding types among `operands`, in dispatch order."""
    operands = tuple(operands)
    return plan_for(tuple(map(type, operands)), operands).types


def elements(value: Any) -> Sequence[Any]:
    """Return the operands inside an argument that may be a list or tuple of tensors."""
    if isinstance(value, (list, tuple)):
        return value
    return (value,)


def dispatch(
    form: Form,
    key: tuple[type, ...],
    operands: Sequence[Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    plan: Plan | None = None,
    reflected: str | None = None,
) -> Any:
    """Answer a call: the modes from the innermost out, then the overriding types in order, then the implementation.

    `key` are the types of `operands`, `plan` is what `known_plan` says of them if the caller has asked. An operator
    names the method of its right operand that Python asks next, `reflected`, and returns NotImplemented where every
    type does and there is one: see `is_left_to`.
    """
    if plan is None or (plan.default is not None and not _is_current(plan)):
        plan = plan_for(key, operands)
    state = _get_state()
    if not state.clear:
        if state.trace is not None:
            return state.trace[0].traced(form.key, form, plan, state, operands, args, kwargs, reflected)
        if state.all_disabled:
            own = tuple(a for a in state.modes if a.mode._internal and not a.over)
            if own:
                # Modes of the library itself, such as saved-tensor hooks, are not switched off by the guard.
                try:
                    return _ask_mode(form.key, under_guards(plan, state), state.but(modes=own), operands, args, kwargs)
                finally:
                    STATE.set(state)
        elif state.modes:
            if state.modes[-1].over:
                STATE.set(_without_finished_modes(state))
                return dispatch(form, key, operands, args, kwargs, plan, reflected)
            if state.subclasses_disabled:
                plan = under_guards(plan, state)
            return _ask_mode(form.key, plan, state, operands, args, kwargs, reflected=reflected)
        plan = under_guards(plan, state)
    if not plan.types:
        return form.run_undispatched(args, kwargs)
    if plan.default is not None:
        return PROVIDED.propagate(form, plan.default, args, kwargs)
    return ask_types(form.key, plan, operands, args, kwargs, reflected=reflected)


def under_guards(plan: Plan, state: State) -> Plan:
    """Return what the guards of `state` leave of a plan: see Note [Guards and transforms]."""
    return plan.guarded or _NOBODY if state.subclasses_disabled else plan


def handle(function: Callable[..., Any], operands: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Dispatch a call of `function` to modes and types; without any, the caller runs the function itself."""
    plan = plan_for(tuple(map(type, operands)), operands)
    state = _get_state()
    if state.trace is not None:
        return state.trace[0].traced(function, None, plan, state, operands, args, kwargs)
    plan = under_guards(plan, state)
    if state.modes and not state.all_disabled:
        if state.modes[-1].over:
            STATE.set(_without_finished_modes(state))
            return handle(function, operands, args, kwargs)
        return _ask_mode(function, plan, state, operands, args, kwargs)
    return ask_types(function, plan, operands, args, kwargs)


def _without_finished_modes(state: State) -> State:
    """Return the State without the modes that were left in another Context: see Note [Activations] in state.py."""
    return state.but(
        modes=tuple(a for a in state.modes if not a.over), observers=tuple(a for a in state.observers if not a.over)
    )


def _ask_mode(
    function: Callable[..., Any],
    plan: Plan,
    state: State,
    operands: Sequence[Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    watched: Callable[[Any], Any] | None = None,
    reflected: str | None = None,
) -> Any:
    mode = state.modes[-1].mode
    below = state._without_mode or state.without_mode()
    try:
        # The mode is off its own stack while its handler runs, so that the handler may call the function again.
        STATE.set(below)
        asked = mode if watched is None else watched(mode)
        result = asked.__torch_function__(function, plan.types, args, kwargs)
    finally:
        STATE.set(state)
    if result is not NotImplemented:
        return result
    return ask_types(function, plan, operands, args, kwargs, mode, reflected)


#: Marks an operator that returns NotImplemented to Python whenever every type refuses it: two objects are compared for
#: equality by identity if by nothing else, and after an in-place operator Python asks the one that is not in place.
LEFT_TO_PYTHON: Final = "anyway"


class _Comparison(threading.local):
    """The last comparison that every type refused."""

    #: The operands, by identity, if it was left to its reflected method.
    operands: tuple[int, int] | None = None
    #: Whether it was itself the reflected method of one that had been left to it.
    was_reflected = False


_comparison = _Comparison()


def is_reflected(reflected: str) -> bool:
    """Return whether the operator that `is_left_to` has just not left to `reflected` was Python's second question."""
    return _comparison.was_reflected or (_method(object, reflected) is None and hasattr(operator, reflected))


def _method(kind: type, name: str) -> Any:
    """Return the method that instances of a type have for an operator, and not the one that the type itself has."""
    return next((vars(owner)[name] for owner in kind.__mro__ if name in vars(owner)), None)


def is_left_to(operands: tuple[Any, ...], reflected: str, types: tuple[type, ...]) -> bool:
    """Return whether an operator that every type refused is left to the method `reflected` of its right operand.

    It is where Python asks that method next, which the right operand may inherit, and that could find another answer:
    a number's cannot, nor can types that all inherit the default implementation.
    """
    if reflected == LEFT_TO_PYTHON:
        return bool(types)
    _comparison.was_reflected = False
    left, right = type(operands[0]), type(operands[1])
    if is_reflected(reflected) or (right in PLAIN_TYPES and right not in TENSOR_TYPES):
        return False
    method, usual = _method(right, reflected), _method(object, reflected)
    if method is usual:
        return False
    if method is not _method(left, reflected):
        return True
    if all(map(inherits_default, types)):
        return False
    if usual is None:
        return right is not left
    # A comparison: Python asks both operands, the right one first if its type is a subclass.
    if right is not left and (issubclass(right, left) or issubclass(left, right)):
        return issubclass(left, right)
    first, second = map(id, operands)
    was_asked = _comparison.operands == (second, first)
    _comparison.operands = None if was_asked else (first, second)
    _comparison.was_reflected = was_asked
    return not was_asked


def ask_types(
    function: Callable[..., Any],
    plan: Plan,
    operands: Sequence[Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    mode: Any = None,
    reflected: str | None = None,
) -> Any:
    """Call the handlers of the overriding types in order; raise TypeError if all return NotImplemented.

    An operator returns NotImplemented instead where Python has another method to ask: see `is_left_to`.
    """
    types = plan.types
    try:
        for position in plan.positions:
            result = operands[position].__torch_function__(function, types, args, kwargs)
            if result is not NotImplemented:
                return result
    except RecursionError:
        from .errors import runaway  # noqa: PLC0415 - 2 ms of the import, for errors alone

        raise runaway(function, types, ask_types.__code__) from None
    return unanswered(function, plan, operands, args, kwargs, mode, reflected)


def unanswered(
    function: Callable[..., Any],
    plan: Plan,
    operands: Sequence[Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    mode: Any = None,
    reflected: str | None = None,
) -> Any:
    """Answer a call whose overriding types have all returned NotImplemented: see `ask_types`."""
    types = plan.types
    if PROVIDED.settle is not None:
        result = PROVIDED.settle(function, types, operands, args, kwargs)
        if result is not NotImplemented:
            return result
    if reflected is not None and is_left_to(tuple(operands), reflected, types):
        return NotImplemented
    from .errors import no_implementation  # noqa: PLC0415 - 2 ms of the import, for errors alone

    raise no_implementation(function, plan, operands, args, kwargs, mode, reflected)


def went_in_circles(error: RecursionError, function: Callable[..., Any], types: tuple[type, ...]) -> None:
    """Raise what `ask_types` raises for a RecursionError of a handler that the native core has called."""
    from .errors import runaway  # noqa: PLC0415 - 2 ms of the import, for errors alone

    codes = [getattr(getattr(kind, "__torch_function__", None), "__code__", None) for kind in types]
    try:
        raise error
    except RecursionError:
        raise runaway(function, types, ask_types.__code__, *codes) from None
    finally:
        del error  # Note [Errors in no cycle]
