"""The parts of the DataLoader, under PyTorch's module names."""

from __future__ import annotations

from typing import Final

from tensorlike.utils.exceptions import ExceptionWrapper

#: The longest time, in seconds, that the main process waits for a worker that is to end.
MP_STATUS_CHECK_INTERVAL: Final = 5.0
HAS_NUMPY: Final = True

from . import collate, fetch, pin_memory, worker  # noqa: E402

__all__ = ["HAS_NUMPY", "MP_STATUS_CHECK_INTERVAL", "ExceptionWrapper", "collate", "fetch", "pin_memory", "worker"]
