"""The accelerator, whatever it is: CUDA devices, if there are any.

Source: PyTorch's `torch.accelerator`.
"""

from __future__ import annotations

from types import TracebackType

from tensorlike.tensor.device import device as _Device

from . import cuda as _cuda

__all__ = [
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "device_count",
    "device_index",
    "empty_cache",
    "is_available",
    "set_device_idx",
    "set_device_index",
    "synchronize",
]

_DeviceLike = _Device | str | int | None


def is_available() -> bool:
    """Return whether there is an accelerator. Never raises.

    >>> tl.accelerator.is_available() == tl.cuda.is_available()
    True
    """
    return _cuda.is_available()


def device_count() -> int:
    """Return the number of accelerators. Never raises."""
    return _cuda.device_count()


def current_accelerator(check_available: bool = False) -> _Device | None:
    """Return the kind of the accelerators as a device without an index, None where there is none."""
    return _Device("cuda") if is_available() else None


def _check() -> None:
    if not is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")


def current_device_index() -> int:
    """Return the index of the current accelerator of this thread. Raises RuntimeError where there is none."""
    _check()
    return _cuda.current_device()


def set_device_index(device: _DeviceLike, /) -> None:
    """Set the current accelerator of this thread. Raises RuntimeError where there is none."""
    _check()
    if device is not None:
        _cuda.set_device(device)


current_device_idx, set_device_idx = current_device_index, set_device_index


class device_index:
    """A context manager that sets the current accelerator by its index; None changes nothing."""

    def __init__(self, device: int | None, /) -> None:
        self.idx = device

    def __enter__(self) -> None:
        self._guard = _cuda.device(self.idx)
        self._guard.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._guard.__exit__(kind, error, traceback)


def synchronize(device: _DeviceLike = None, /) -> None:
    """Wait until all work queued on an accelerator is done. Raises RuntimeError where there is none."""
    _check()
    _cuda.synchronize(device)


def empty_cache() -> None:
    """Release the cached memory of the accelerators. Raises RuntimeError where there is none."""
    _check()
    _cuda.empty_cache()
