"""Results that come later: `Future`, which `jit.fork` returns.

Source: PyTorch's `torch.futures`.
"""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

__all__ = ["Future", "collect_all", "fork", "wait", "wait_all"]

T = TypeVar("T")
S = TypeVar("S")


class Future(Generic[T]):
    """A value that is set once, by any thread, and waited for.

    >>> future = tl.futures.Future()
    >>> doubled = future.then(lambda done: 2 * done.value())
    >>> future.set_result(21)
    >>> doubled.wait()
    42
    """

    def __init__(self, *, devices: Sequence[Any] | None = None) -> None:
        self._found: concurrent.futures.Future[T] = concurrent.futures.Future()

    def done(self) -> bool:
        """Return whether there is a result or an exception."""
        return self._found.done()

    def wait(self) -> T:
        """Wait for the result and return it, or raise the exception."""
        return self._found.result()

    def value(self) -> T:
        """Return the result, or raise the exception; RuntimeError if it is not there yet."""
        if not self.done():
            raise RuntimeError("Future.value(): there is no result yet: call wait()")
        return self._found.result()

    def set_result(self, result: T) -> None:
        """Set the result. Raises RuntimeError the second time."""
        try:
            self._found.set_result(result)
        except concurrent.futures.InvalidStateError:
            raise RuntimeError("Future can only be marked completed once") from None

    def set_exception(self, result: BaseException) -> None:
        """Set the exception that `wait` raises."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._found.set_exception(result)

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Call `callback` with this future when it is done; at once if it is."""
        self._found.add_done_callback(lambda _: callback(self))

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """Return the future of what `callback` returns for this one when it is done."""
        following: Future[S] = Future()

        def run(done: Future[T]) -> None:
            try:
                following.set_result(callback(done))
            except Exception as error:
                following.set_exception(error)

        self.add_done_callback(run)
        return following


def collect_all(futures: Sequence[Future[Any]]) -> Future[list[Future[Any]]]:
    """Return a future of these futures that is done when all of them are."""
    collected: Future[list[Future[Any]]] = Future()
    waiting = list(futures)
    remaining = list(waiting)
    if not waiting:
        collected.set_result([])

    def note(done: Future[Any]) -> None:
        remaining.pop()  # One step: two futures may be done at once.
        if not remaining and not collected.done():
            collected.set_result(waiting)

    for future in waiting:
        future.add_done_callback(note)
    return collected


def wait_all(futures: Sequence[Future[Any]]) -> list[Any]:
    """Wait for these futures and return their results; the first exception is raised when all are done."""
    return [future.value() for future in collect_all(futures).wait()]


def fork(func: Callable[..., T], *args: Any, **kwargs: Any) -> Future[T]:
    """Call `func` at once, in this thread, and return the future of its result.

    >>> tl.jit.wait(tl.jit.fork(tl.add, tl.ones(2), 1))
    tensor([2., 2.])
    """
    done: Future[T] = Future()
    done.set_result(func(*args, **kwargs))
    return done


def wait(future: Future[T]) -> T:
    """Wait for a future and return its result."""
    if not isinstance(future, Future):
        raise TypeError(f"wait(): argument 'future' must be Future, not {type(future).__name__}")
    return future.wait()
