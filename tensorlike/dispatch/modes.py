"""Modes and guards, which a thread or task switches on and off around its calls."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import TracebackType
from typing import Any, ClassVar, Self

from .state import STATE, Activation, State, Switch, activate, deactivate, live_activation

__all__ = [
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "EnableTorchFunction",
    "TorchFunctionMode",
    "current_modes",
]


class TorchFunctionMode:
    """A context in which every public call of this thread or task is dispatched to the mode's `__torch_function__`.

    Modes nest: the innermost comes first and is off the stack while its handler runs, so that it may call the function
    again; returning NotImplemented passes the call to the operands' types. Leaving the context, by an exception too,
    restores what was before.

    >>> class Names(TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return func(*args, **(kwargs or {}))
    >>> with Names():
    ...     x = tl.ones(2) + 1
    ones
    add
    """

    #: Whether the mode is among `State.observers`: see NodeObserver.
    _observes: ClassVar[bool] = False
    #: Whether the mode is a part of the library, which `DisableTorchFunction` does not switch off.
    _internal: ClassVar[bool] = False

    #: Whether a subclass has made its handler a classmethod, which cannot know the mode.
    _by_class: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._by_class = isinstance(inspect.getattr_static(cls, "__torch_function__"), classmethod)

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[int, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__} does not define __torch_function__(self, func, types, args=(), kwargs=None)"
        )

    def __enter__(self) -> Self:
        if self._by_class:
            raise RuntimeError(
                "Defining your mode's `__torch_function__` as a classmethod is not supported, please make it a plain "
                f"method: {type(self).__name__}.__torch_function__(self, func, types, args=(), kwargs=None)"
            )
        state = STATE.get()
        activation = Activation(self)
        try:
            activate(activation)
            if self._observes:
                STATE.set(state.entering(activation, observers=self._among_observers(state, activation)))
            else:
                STATE.set(state.entering(activation))
        except BaseException:
            STATE.set(state)
            deactivate(activation)
            raise
        return self

    def _among_observers(self, state: State, activation: Activation) -> tuple[Activation, ...]:
        """Return the observers with this one."""
        return (*state.observers, activation)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            state = STATE.get()
            activation = state.modes[-1] if state.modes else None
            if activation is not None and activation.mode is self and not self._observes:
                left = state._without_mode or state.without_mode()
            else:
                left, activation = _left(self)
        except BaseException:
            # An interrupt: nothing is changed yet.
            left, activation = _left(self)
            raise
        finally:
            STATE.set(left)
            if activation is not None:
                deactivate(activation)


def _left(mode: TorchFunctionMode) -> tuple[State, Activation | None]:
    """Return the State without the innermost activation of `mode`, and that activation."""
    state = STATE.get()
    activation = state.activation_of(mode)
    if activation is None:
        # A generator that is closed in another Context than the one that it ran in.
        return state, live_activation(mode)
    if not mode._observes:
        return state.leaving(activation), activation
    return state.leaving(activation, observers=tuple(a for a in state.observers if a is not activation)), activation


class _Guard(Switch):
    __slots__ = ()
    _fields = ("subclasses_disabled", "all_disabled")


class DisableTorchFunctionSubclass(_Guard):
    """A context without dispatch to operands' types; modes still see calls.

    >>> class Sub(tl.Tensor):
    ...     pass
    >>> with DisableTorchFunctionSubclass():
    ...     kind = type(Sub([1.0]) + 1)
    >>> kind.__name__
    'Tensor'
    """

    __slots__ = ()

    def _switched(self, state: State) -> State:
        return state.silenced()


class DisableTorchFunction(_Guard):
    """A context without dispatch, neither to operands' types nor to modes."""

    __slots__ = ()

    def _switched(self, state: State) -> State:
        return state.but(subclasses_disabled=True, all_disabled=True)


class EnableTorchFunction(_Guard):
    """A context with dispatch to operands' types and to modes, inside of one without.

    Source: PyTorch's `torch._C._EnableTorchFunction`.
    """

    __slots__ = ()

    def _switched(self, state: State) -> State:
        return state.but(subclasses_disabled=False, all_disabled=False)


def current_modes() -> tuple[Any, ...]:
    """Return the modes of this thread or task, the outermost first."""
    return tuple(activation.mode for activation in STATE.get().modes if not activation.over)
