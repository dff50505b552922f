"""Grad mode and inference mode: per thread and task, as context managers and decorators."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from tensorlike._above import explain_absent_names
from tensorlike.dispatch.state import STATE, Activation, Scoped, State, Switch, activate, deactivate
from tensorlike.dispatch.tracebacks import shorten

if TYPE_CHECKING:  # Given when the package is loaded: see Note [Calls import nothing].
    from .inference import InferenceMarker

explain_absent_names(__name__)

__all__ = [
    "enable_grad",
    "get_state",
    "grad_enabled",
    "inference_enabled",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "recording_block",
    "set_grad_enabled",
    "set_multithreading_enabled",
]

F = TypeVar("F", bound=Callable[..., Any])

#: Reads the State; bound once because the hot path of recording calls it (8 ns).
get_state = STATE.get


def grad_enabled() -> bool:
    """Return whether operations are recorded. Recording reads `get_state().recording` itself (40 ns less)."""
    return get_state().recording


def inference_enabled() -> bool:
    """Return whether inference mode is on."""
    return get_state().inference


def is_grad_enabled() -> bool:
    """Return whether operations on tensors that require grad are recorded now.

    >>> tl.is_grad_enabled()
    True
    """
    return grad_enabled()


def is_inference_mode_enabled() -> bool:
    """Return whether `inference_mode` is on in this thread or task.

    >>> with tl.inference_mode():
    ...     tl.is_inference_mode_enabled()
    True
    """
    return inference_enabled()


class _GradContext(Switch):
    """A context manager that is a decorator as well, for functions and for generators."""

    _fields = ("recording",)

    def _fresh(self) -> _GradContext:
        return type(self)()

    def __call__(self, function: F) -> F:
        if inspect.isclass(function):
            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You should only decorate "
                "functions or methods. To preserve the current behavior of class decoration, you can directly decorate "
                "the `__init__` method and nothing else.",
                FutureWarning,
                stacklevel=2,
            )
            # Only making an instance runs in the mode; the result is a function.
            made = function

            def make(*args: Any, **kwargs: Any) -> Any:
                return made(*args, **kwargs)

            function = cast(F, make)
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generate(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
                # The mode holds while the generator runs, not while its consumer does.
                generator = function(*args, **kwargs)
                try:
                    value = self._fresh()._run(generator.send, None)
                    while True:
                        try:
                            sent = yield value
                        except GeneratorExit:
                            self._fresh()._run(generator.close)
                            raise
                        except BaseException as error:
                            value = self._fresh()._run(generator.throw, error)
                        else:
                            value = self._fresh()._run(generator.send, sent)
                except StopIteration as stop:
                    return stop.value

            return cast(F, generate)

        @functools.wraps(function)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            try:
                return self._fresh()._run(function, *args, **kwargs)
            except Exception as error:
                shorten(error)
                raise

        return cast(F, decorated)


class _PlainGradContext(_GradContext):
    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        context = object.__new__(cls)
        if function is None:
            return context
        # `@no_grad` without parentheses.
        context.__init__()  # type: ignore[misc]
        return context(function)

    def __init__(self, function: Any = None) -> None:
        self._entered = []


class no_grad(_PlainGradContext):
    """A context (or decorator) in which operations are not recorded.

    >>> x = tl.ones(2, requires_grad=True)
    >>> with tl.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def _switched(self, state: State) -> State:
        return (state._off or state.recording_as(False)) if state.recording else state


class enable_grad(_PlainGradContext):
    """A context (or decorator) in which operations are recorded, inside `no_grad` too.

    >>> x = tl.ones(2, requires_grad=True)
    >>> with tl.no_grad(), tl.enable_grad():
    ...     y = x * 2
    >>> y.requires_grad
    True
    """

    def _switched(self, state: State) -> State:
        return state.recording_as(not state.inference)


class recording_block(Scoped, _GradContext):
    """A block of the library's own that records or does not, and what `set_grad_enabled` is as a decorator."""

    def __init__(self, value: bool) -> None:
        super().__init__()
        self._value = value

    def _switched(self, state: State) -> State:
        return state.recording_as(self._value)


class set_grad_enabled(_GradContext):
    """Switch recording on or off, at once; as a context or decorator, until it is left.

    >>> with tl.set_grad_enabled(False):
    ...     tl.is_grad_enabled()
    False
    """

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self._value = bool(mode)
        state = self._outer = STATE.get()
        inner = state.recording_as(self._value)
        try:
            STATE.set(inner)
        except BaseException:
            STATE.set(state)
            raise

    def _fresh(self) -> _GradContext:
        return recording_block(self._value)

    def __call__(self, function: F) -> F:
        # Used as a decorator it must not leave the mode switched where the decoration happens.
        STATE.set(STATE.get().recording_as(self._outer.recording))
        return super().__call__(function)

    def __enter__(self) -> None:
        try:
            state = STATE.get()
            inner = state.recording_as(self._value)
            # The switch of the constructor is undone together with those of the block.
            self._entered.append((state.recording_as(self._outer.recording), inner))
            STATE.set(inner)
        except BaseException:
            STATE.set(self._outer)
            raise


class _Inference:
    """One entering of `inference_mode`: restores the State even if an interrupt prevents leaving it."""

    __slots__ = ("activation", "inner", "state")

    def __init__(self, state: State, mode: bool) -> None:
        self.state = state
        self.activation: Activation | None = None
        # Switched off, the mode restores the grad mode that it had changed, and no more.
        recording = not mode if mode or state.inference else state.recording
        changes: dict[str, Any] = {"inference": mode, "recording": recording}
        if mode and not any(type(activation.mode) is InferenceMarker for activation in state.modes):
            self.activation = Activation(InferenceMarker())
            self.inner = state.entering(self.activation, **changes)
        else:
            self.inner = state.but(**changes)

    def enter(self) -> None:
        """Set the State of the block."""
        if self.activation is not None:
            activate(self.activation)
        STATE.set(self.inner)

    def leave(self) -> None:
        """Give the State back."""
        left = self.state
        try:
            left = self.left()
        finally:
            STATE.set(left)
            if self.activation is not None:
                deactivate(self.activation)

    def left(self) -> State:
        """Return the State without what was entered."""
        now = STATE.get()
        if now is self.inner:
            return self.state
        changes = {"recording": self.state.recording, "inference": self.state.inference}
        return now.but(**changes) if self.activation is None else now.leaving(self.activation, **changes)

    def __del__(self) -> None:
        # As PyTorch's guard does, when the context object dies. An interrupt may have come before there was a State.
        inner = getattr(self, "inner", None)
        if inner is not None and STATE.get() is inner is not self.state:
            STATE.set(self.state)


class inference_mode(_GradContext):
    """A context (or decorator) in which nothing is recorded, and tensors made in it never will be.

    They are inference tensors: outside of the block they may be read, but neither written to in place, nor saved for
    backward, nor made to require grad, which raises RuntimeError. `clone()` makes an ordinary tensor of one. Inside,
    `enable_grad` has no effect. `inference_mode(False)` switches the mode off for a block. A call costs more inside
    than under `no_grad`.

    >>> with tl.inference_mode():
    ...     y = tl.ones(2, requires_grad=True) * 2
    >>> y.requires_grad, y.is_inference()
    (False, True)
    """

    def __new__(cls, mode: bool = True) -> Any:
        context = object.__new__(cls)
        if not callable(mode):
            return context
        context.__init__()  # type: ignore[misc]
        return context(mode)

    def __init__(self, mode: bool = True) -> None:
        self._mode = True if callable(mode) else bool(mode)
        self._inferences: list[_Inference] = []

    def _fresh(self) -> _GradContext:
        return type(self)(self._mode)

    def __enter__(self) -> None:
        entered = _Inference(STATE.get(), self._mode)
        self._inferences.append(entered)
        try:
            entered.enter()
        except BaseException:
            STATE.set(entered.state)
            del self._inferences[-1]
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # An interrupt before the end leaves it to the death of what was entered.
        self._inferences.pop().leave()

    def _run(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Return `call(*args, **kwargs)`, called inside the context."""
        entered = _Inference(STATE.get(), self._mode)
        try:
            entered.enter()
            return call(*args, **kwargs)
        finally:
            entered.leave()
            del call, args, kwargs  # An error may be among them: Note [Errors in no cycle].


class set_multithreading_enabled:
    """Set whether backward may use several threads, at once, and as a context until it is left.

    Accepted and without effect: a backward runs in the thread that called it.

    >>> x = tl.ones(1, requires_grad=True)
    >>> with tl.autograd.set_multithreading_enabled(False):
    ...     (x * 2).backward()
    """

    def __init__(self, mode: bool) -> None:
        state = STATE.get()
        self.prev = state.multithreading
        self.mode = mode
        STATE.set(state.but(multithreading=mode))

    __enter__ = object.__init__

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        STATE.set(STATE.get().but(multithreading=self.prev))

    def clone(self) -> set_multithreading_enabled:
        """Return another one of the same mode."""
        return type(self)(self.mode)
