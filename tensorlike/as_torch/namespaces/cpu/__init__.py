"""The processor, with the functions that every module of a device has.

Source: PyTorch's `torch.cpu`. Its streams and events do nothing, there as here: operations end before they return.
"""

from __future__ import annotations

import importlib
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from tensorlike._above import absent as _absent

__all__ = [
    "Event",
    "Stream",
    "current_device",
    "current_stream",
    "device_count",
    "is_available",
    "is_initialized",
    "set_device",
    "stream",
    "synchronize",
]


class Stream:
    """A queue of work, which ends before it is queued."""

    def __init__(self, priority: int = -1) -> None:
        pass

    def wait_stream(self, stream: Any) -> None:
        """Wait for the work of another stream: there is none."""

    def record_event(self, event: Any = None) -> None:
        """Note the place of an event in this stream: all places are the same."""

    def wait_event(self, event: Any) -> None:
        """Wait for an event: it is over."""


class Event:
    """A place in a queue of work, which is always over."""

    def query(self) -> bool:
        """Return whether all work before it is done: True."""
        return True

    def record(self, stream: Any = None) -> None:
        """Note the place of this event in a stream: all places are the same."""

    def synchronize(self) -> None:
        """Wait for all work before it: it is done."""

    def wait(self, stream: Any = None) -> None:
        """Have a stream wait for this event: it is over."""


_STREAM = Stream()


def is_available() -> bool:
    """Return whether there is a processor: True.

    >>> tl.cpu.is_available()
    True
    """
    return True


def is_initialized() -> bool:
    """Return whether the processor can be used: True."""
    return True


def device_count() -> int:
    """Return the number of devices of this kind: 1, however many processors there are."""
    return 1


def current_device() -> str:
    """Return the current device of this kind: "cpu"."""
    return "cpu"


def set_device(device: Any) -> None:
    """Set the current device of this kind: there is one."""


def synchronize(device: Any = None) -> None:
    """Wait for all work: operations end before they return."""


def current_stream(device: Any = None) -> Stream:
    """Return the current stream: there is one."""
    return _STREAM


def stream(stream: Stream | None) -> AbstractContextManager[None]:
    """Return a context in which a stream is the current one; it changes nothing."""
    return nullcontext()


def __getattr__(name: str) -> Any:
    if name == "amp":
        return importlib.import_module(f"{__name__}.amp")
    return _absent(__name__, name)
