"""Modes and guards: what a thread or task switches on and off around its calls."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from .core import CLEAR, STATE, State, enter_modes, leave_modes

__all__ = ["DisableTorchFunction", "DisableTorchFunctionSubclass", "TorchFunctionMode", "current_modes"]


class TorchFunctionMode:
    """A context in which every public call of this thread or task is offered to `__torch_function__` of the mode.

    Modes nest: the innermost is asked first and is off its own stack while it answers, so that it may call the
    function again; returning NotImplemented passes the call to the operands' types. Leaving the context, by an
    exception too, restores what was before.

    >>> import tensorlike as tl
    >>> class Names(TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return func(*args, **(kwargs or {}))
    >>> with Names():
    ...     x = tl.ones(2) + 1
    ones
    add

    Source: PyTorch's `torch.overrides.TorchFunctionMode`.
    """

    def __torch_function__(
        self, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__} does not define __torch_function__(self, func, types, args=(), kwargs=None)"
        )

    def __enter__(self) -> Any:
        state = STATE.get()
        STATE.set(State((*state.modes, self), *state[1:4], below=state))
        enter_modes()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        leave_modes()
        state = STATE.get()
        below = state.below
        if below is not None and state.modes[-1] is self and below[1:4] == state[1:4]:
            STATE.set(below)
            return
        modes = list(state.modes)
        for at in range(len(modes) - 1, -1, -1):
            if modes[at] is self:
                # What a forgotten __exit__ left above this mode goes with it.
                del modes[at:]
                break
        left = State(tuple(modes), *state[1:4])
        STATE.set(CLEAR if left == CLEAR else left)


class _Guard:
    __slots__ = ("_previous",)
    _all = False

    def __init__(self) -> None:
        self._previous: list[State] = []

    def __enter__(self) -> None:
        state = STATE.get()
        self._previous.append(state)
        STATE.set(State(state.modes, True, state.all_disabled or self._all, state.trace))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        STATE.set(self._previous.pop())


class DisableTorchFunctionSubclass(_Guard):
    """A context in which operands' types are not asked; modes still are.

    >>> import tensorlike as tl
    >>> class Sub(tl.Tensor):
    ...     pass
    >>> with DisableTorchFunctionSubclass():
    ...     kind = type(Sub([1.0]) + 1)
    >>> kind.__name__
    'Tensor'

    Source: PyTorch's `torch._C.DisableTorchFunctionSubclass`.
    """

    __slots__ = ()


class DisableTorchFunction(_Guard):
    """A context in which neither operands' types nor modes are asked.

    Source: PyTorch's `torch._C.DisableTorchFunction`.
    """

    __slots__ = ()
    _all = True


def current_modes() -> tuple[Any, ...]:
    """Return the modes of this thread or task, the outermost first."""
    return STATE.get().modes
