"""CUDA devices: counting, selecting and synchronizing them, and seeding their generators.

CuPy is not imported before a function about devices is called. Tensors get to a device with `device="cuda"` or
`.to("cuda")`, whether this module was imported or not.

Source: PyTorch's `torch.cuda`, without the functions that do not apply here.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from types import TracebackType
from typing import Any

import numpy as np

from tensorlike._above import above
from tensorlike._above import absent as _absent
from tensorlike.tensor.backends import backend_for, cuda_device_count
from tensorlike.tensor.backends.backend import Backend
from tensorlike.tensor.creation.legacy_types import STORAGES, TENSORS
from tensorlike.tensor.device import as_device
from tensorlike.tensor.device import device as Device
from tensorlike.tensor.generator import default_generator_of
from tensorlike.tensor.tensor import Tensor

__all__ = [
    "current_device",
    "device",
    "device_count",
    "empty_cache",
    "get_device_name",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "initial_seed",
    "is_available",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state",
    "set_rng_state_all",
    "synchronize",
]

_ANY = Device("cuda")


def _chosen(function: str, device: Any) -> tuple[Backend, Device]:
    """Return the backend and the device, with its index, for an argument; None is the current device.

    Raises RuntimeError, with the line that installs CuPy or the reason, where there is no such device.
    """
    if isinstance(device, (int, np.integer)) and not isinstance(device, bool):
        # Not through `device(int)`, whose error explains less.
        device = Device("cuda", int(device))
    where = _ANY if device is None else as_device(device, function)
    if where.type != "cuda":
        raise ValueError(f"{function}(): Expected a cuda device, but got: {where}")
    backend = backend_for(where)
    return backend, backend.current_device() if where.index is None else where


def is_available() -> bool:
    """Return whether there is a GPU, and CuPy to use it. Never raises.

    >>> tl.cuda.is_available() == (tl.cuda.device_count() > 0)
    True
    """
    return cuda_device_count() > 0


def device_count() -> int:
    """Return the number of GPUs: 0 without CuPy or without a driver. Never raises.

    >>> tl.cuda.device_count() >= 0
    True
    """
    return cuda_device_count()


def current_device() -> int:
    """Return the index of the current device of this thread, that of `device="cuda"`.

    Raises RuntimeError where there is none.
    """
    index = _chosen("current_device", None)[1].index
    assert index is not None
    return index


def set_device(device: Device | str | int) -> None:
    """Set the current device of this thread, that of `device="cuda"`.

    It is CuPy's current device too. Raises RuntimeError where there is no such device, ValueError for one that is not
    a GPU.
    """
    backend, where = _chosen("set_device", device)
    backend.set_current_device(where)


class device:
    """A context manager that sets the current device, that of `device="cuda"`. None changes nothing.

    Raises RuntimeError where there is no such device, ValueError for one that is not a GPU.
    """

    def __init__(self, device: Device | str | int | None) -> None:
        self._guard: Any = None
        self.idx: int | None = None
        if device is not None:
            backend, where = _chosen("device", device)
            self.idx = where.index
            self._guard = backend.device_guard(where)

    def __enter__(self) -> None:
        if self._guard is not None:
            self._guard.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._guard is not None:
            self._guard.__exit__(kind, error, traceback)


def get_device_name(device: Device | str | int | None = None) -> str:
    """Return the product name of a device, of the current one by default.

    Raises RuntimeError where there is no such device.
    """
    backend, where = _chosen("get_device_name", device)
    return backend.device_name(where)


def synchronize(device: Device | str | int | None = None) -> None:
    """Wait until all work queued on a device is done, on the current one by default.

    Operations return before a GPU has finished them: a program that measures times must wait. Raises RuntimeError where
    there is no such device.
    """
    backend, where = _chosen("synchronize", device)
    backend.synchronize(where)


def manual_seed(seed: int) -> None:
    """Set the seed of the default generator of the current device; do nothing where there is no GPU.

    `tensorlike.manual_seed` sets those of all devices. Raises ValueError for a seed of more than 64 bits.

    >>> tl.cuda.manual_seed(0)
    """
    if is_available():
        default_generator_of(_ANY).manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Set the seed of the default generators of all GPUs; do nothing where there is none.

    Raises ValueError for a seed of more than 64 bits.

    >>> tl.cuda.manual_seed_all(0)
    """
    for index in range(device_count()):
        default_generator_of(Device("cuda", index)).manual_seed(int(seed))


def get_rng_state(device: Device | str | int = "cuda") -> Tensor:
    """Return the state of the default generator of a device, as a tensor of bytes on the CPU.

    Raises RuntimeError where there is no such device.
    """
    return default_generator_of(_chosen("get_rng_state", device)[1]).get_state()


def get_rng_state_all() -> list[Tensor]:
    """Return the states of the default generators of all GPUs.

    >>> len(tl.cuda.get_rng_state_all()) == tl.cuda.device_count()
    True
    """
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state(new_state: Tensor, device: Device | str | int = "cuda") -> None:
    """Restore a state returned by `get_rng_state`.

    Raises RuntimeError where there is no such device, TypeError for values other than a tensor of bytes.
    """
    default_generator_of(_chosen("set_rng_state", device)[1]).set_state(new_state)


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Restore the states returned by `get_rng_state_all`.

    >>> tl.cuda.set_rng_state_all(tl.cuda.get_rng_state_all())
    """
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


def is_initialized() -> bool:
    """Return whether CuPy is imported, and has found a GPU. Never raises.

    >>> tl.cuda.is_initialized() <= tl.cuda.is_available()
    True
    """
    return "cupy" in sys.modules and is_available()


def init() -> None:
    """Import CuPy and find the GPUs. Raises RuntimeError where there is none; without this they are found when needed.
    """
    _chosen("init", None)


def initial_seed() -> int:
    """Return the seed of the default generator of the current device. Raises RuntimeError where there is none."""
    return default_generator_of(_chosen("initial_seed", None)[1]).initial_seed()


def seed() -> None:
    """Set the seed of the default generator of the current device to a random number; do nothing without a GPU.

    >>> tl.cuda.seed()
    """
    if is_available():
        default_generator_of(_ANY).seed()


def seed_all() -> None:
    """Set the seeds of the default generators of all GPUs to one random number; do nothing without a GPU.

    >>> tl.cuda.seed_all()
    """
    if is_available():
        manual_seed_all(default_generator_of(_ANY).seed())


def empty_cache() -> None:
    """Release the memory that CuPy caches for later arrays, so that other programs can use it.

    Not needed for one program: CuPy reuses cached memory before it allocates more. Does nothing where there is no GPU.

    >>> tl.cuda.empty_cache()
    """
    if is_available():
        backend_for(_ANY).empty_cache()


def __getattr__(name: str) -> Any:
    if name == "amp":
        return importlib.import_module(f"{__name__}.amp")
    if name.endswith(("Tensor", "Storage")):
        found = TENSORS.get(f"cuda.{name}") or STORAGES.get(f"cuda.{name}")
        if found is not None:
            return found
    if name == "OutOfMemoryError":
        return above("_build").OutOfMemoryError
    return _absent(__name__, name)
