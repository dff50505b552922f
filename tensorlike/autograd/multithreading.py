"""`set_multithreading_enabled`, for programs that call it."""

from __future__ import annotations

import contextvars
from types import TracebackType

__all__ = ["set_multithreading_enabled"]

_enabled: contextvars.ContextVar[bool] = contextvars.ContextVar("tensorlike_multithreading", default=True)


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
        self.prev = _enabled.get()
        self.mode = mode
        _enabled.set(mode)

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _enabled.set(self.prev)

    def clone(self) -> set_multithreading_enabled:
        """Return another one of the same mode."""
        return type(self)(self.mode)
