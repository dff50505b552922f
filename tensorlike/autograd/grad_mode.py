"""Whether operations are recorded: per thread and task, as context managers and decorators."""

from __future__ import annotations

import contextvars
import functools
import inspect
from collections.abc import Callable, Generator
from types import TracebackType
from typing import Any, Final, TypeVar, cast

__all__ = [
    "enable_grad",
    "grad_enabled",
    "inference_enabled",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_grad_enabled",
]

F = TypeVar("F", bound=Callable[..., Any])

_RECORDING: Final[contextvars.ContextVar[bool]] = contextvars.ContextVar("tensorlike_recording", default=True)
_INFERENCE: Final[contextvars.ContextVar[bool]] = contextvars.ContextVar("tensorlike_inference", default=False)

#: Reads the mode; bound once because the hot path of recording calls it (8 ns).
grad_enabled = _RECORDING.get
set_recording = _RECORDING.set
inference_enabled = _INFERENCE.get


def is_grad_enabled() -> bool:
    """Return whether operations on tensors that require grad are recorded now.

    >>> import tensorlike as tl
    >>> tl.is_grad_enabled()
    True

    Same as PyTorch's function of that name.
    """
    return grad_enabled()


def is_inference_mode_enabled() -> bool:
    """Return whether `inference_mode` is on in this thread or task.

    >>> import tensorlike as tl
    >>> with tl.inference_mode():
    ...     tl.is_inference_mode_enabled()
    True

    Same as PyTorch's function of that name.
    """
    return _INFERENCE.get()


class _GradContext:
    """A context manager that is a decorator as well, for functions and for generators."""

    _value: bool

    def __init__(self) -> None:
        self._previous: list[Any] = []

    def _fresh(self) -> _GradContext:
        return type(self)()

    def __enter__(self) -> None:
        self._previous.append(grad_enabled())
        set_recording(self._value and not _INFERENCE.get())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        set_recording(self._previous.pop())

    def __call__(self, function: F) -> F:
        if inspect.isclass(function):
            raise TypeError(
                f"{type(self).__name__} decorates functions and generators, and {function.__qualname__} is a class: "
                "decorate its methods instead"
            )
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generate(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
                # The mode holds while the generator runs, not while its consumer does.
                generator = function(*args, **kwargs)
                try:
                    with self._fresh():
                        value = generator.send(None)
                    while True:
                        try:
                            sent = yield value
                        except GeneratorExit:
                            with self._fresh():
                                generator.close()
                            raise
                        except BaseException as error:
                            with self._fresh():
                                value = generator.throw(error)
                        else:
                            with self._fresh():
                                value = generator.send(sent)
                except StopIteration as stop:
                    return stop.value

            return cast(F, generate)

        @functools.wraps(function)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with self._fresh():
                return function(*args, **kwargs)

        return cast(F, decorated)


class _PlainGradContext(_GradContext):
    def __new__(cls, function: Any = None) -> Any:
        context = object.__new__(cls)
        if function is None:
            return context
        # `@no_grad` without parentheses.
        context.__init__()  # type: ignore[misc]
        return context(function)

    def __init__(self, function: Any = None) -> None:
        super().__init__()


class no_grad(_PlainGradContext):
    """A context (or decorator) in which operations are not recorded.

    >>> import tensorlike as tl
    >>> x = tl.ones(2, requires_grad=True)
    >>> with tl.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False

    Same as PyTorch's class of that name.
    """

    _value = False


class enable_grad(_PlainGradContext):
    """A context (or decorator) in which operations are recorded, inside `no_grad` too.

    >>> import tensorlike as tl
    >>> x = tl.ones(2, requires_grad=True)
    >>> with tl.no_grad(), tl.enable_grad():
    ...     y = x * 2
    >>> y.requires_grad
    True

    Same as PyTorch's class of that name.
    """

    _value = True


class set_grad_enabled(_GradContext):
    """Switch recording on or off, at once; as a context or decorator, until it is left.

    >>> import tensorlike as tl
    >>> with tl.set_grad_enabled(False):
    ...     tl.is_grad_enabled()
    False

    Same as PyTorch's class of that name.
    """

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self._value = bool(mode)
        self._before = grad_enabled()
        set_recording(self._value)

    def _fresh(self) -> _GradContext:
        return type(self)(self._value)

    def __call__(self, function: F) -> F:
        # Used as a decorator it must not leave the mode switched where the decoration happens.
        set_recording(self._before)
        return super().__call__(function)

    def __enter__(self) -> None:
        self._previous.append(self._before)
        set_recording(self._value)


class inference_mode(_GradContext):
    """A context (or decorator) in which nothing is recorded, and tensors made in it never will be.

    They are inference tensors: outside of the block they may be read, but neither written to in place, nor saved for
    backward, nor made to require grad, which raises RuntimeError. `clone()` makes an ordinary tensor of one. Inside,
    `enable_grad` has no effect. `inference_mode(False)` switches the mode off for a block. A call costs more inside
    than under `no_grad`.

    >>> import tensorlike as tl
    >>> with tl.inference_mode():
    ...     y = tl.ones(2, requires_grad=True) * 2
    >>> y.requires_grad, y.is_inference()
    (False, True)

    Same as PyTorch's class of that name.
    """

    def __new__(cls, mode: Any = True) -> Any:
        context = object.__new__(cls)
        if not callable(mode):
            return context
        context.__init__()  # type: ignore[misc]
        return context(mode)

    def __init__(self, mode: Any = True) -> None:
        super().__init__()
        self._mode = True if callable(mode) else bool(mode)

    def _fresh(self) -> _GradContext:
        return type(self)(self._mode)

    def __enter__(self) -> None:
        from .inference import marker

        mode = marker() if self._mode else None
        if mode is not None:
            mode.__enter__()
        self._previous.append((grad_enabled(), _INFERENCE.get(), mode))
        # Switched off, the mode gives back the recording that it took, and no more.
        if self._mode or _INFERENCE.get():
            set_recording(not self._mode)
        _INFERENCE.set(self._mode)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        recording, inference, mode = self._previous.pop()
        set_recording(recording)
        _INFERENCE.set(inference)
        if mode is not None:
            mode.__exit__(kind, error, traceback)
