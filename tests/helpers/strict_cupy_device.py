"""The devices of `strict_cupy`: which one is current, how many there are, and what is asked of them."""

from __future__ import annotations

import operator
import threading
from types import SimpleNamespace

devices = SimpleNamespace(count=2)
#: The devices that were waited for.
SYNCHRONIZED: list[int] = []


class _CurrentDevice(threading.local):
    """The driver keeps the current device with the thread, and knows nothing of Python's contexts."""

    number = 0

    def get(self):
        return self.number

    def set(self, number):
        self.number, former = number, self.number
        return former

    reset = set


current_device = _CurrentDevice()


class Device:
    """A CUDA device; as a context it is the current one."""

    def __init__(self, device=None):
        self.id = current_device.get() if device is None else operator.index(device)
        self._tokens = []

    def __enter__(self):
        if not 0 <= self.id < devices.count:
            raise RuntimeError("cudaErrorInvalidDevice: invalid device ordinal")
        self._tokens.append(current_device.set(self.id))
        return self

    def __exit__(self, *exception):
        current_device.reset(self._tokens.pop())

    def __eq__(self, other):
        return isinstance(other, Device) and self.id == other.id

    def __hash__(self):
        return hash(self.id)

    def __repr__(self):
        return f"<CUDA Device {self.id}>"

    def use(self):
        current_device.set(self.id)

    def synchronize(self):
        with self:
            SYNCHRONIZED.append(self.id)


class MemoryPool:
    freed = 0

    def free_all_blocks(self, stream=None):
        self.freed += 1


POOLS = MemoryPool(), MemoryPool()
