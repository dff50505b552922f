"""`set_multithreading_enabled`, for programs that call it."""

from __future__ import annotations

from types import TracebackType

from tensorlike.dispatch.state import STATE

__all__ = ["set_multithreading_enabled"]


class set_multithreading_enabled:
    """Say whether backward may use several threads, at once, and as a context until it is left.

    Accepted and without effect: a backward runs in the thread that called it.

    >>> import tensorlike as tl
    >>> x = tl.ones(1, requires_grad=True)
    >>> with tl.autograd.set_multithreading_enabled(False):
    ...     (x * 2).backward()

    Source: PyTorch's `torch.autograd.set_multithreading_enabled`.
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
