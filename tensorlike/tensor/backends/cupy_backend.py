"""CuPy: the backend of the type `cuda`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from ..device import device
from .backend import Array, Backend, HostFallbackModule
from .cupy_namespace import CupyNamespace


def _import_extension(name: str) -> Any:
    """`cupyx.scipy.special` for "scipy.special", `cupyx.errstate` for "errstate"."""
    try:
        return importlib.import_module(f"cupyx.{name}")
    except ModuleNotFoundError:
        return getattr(importlib.import_module("cupyx"), name)


class CupyBackend(Backend):
    """CuPy arrays on CUDA devices.

    `cupy` is CuPy, or a module that speaks its API; `extension` gives a part of `cupyx` by its dotted name.
    """

    device_type = "cuda"

    def __init__(self, cupy: Any, name: str = "cupy", extension: Callable[[str], Any] = _import_extension) -> None:
        self.name = name
        self._cupy = cupy
        self._find_extension = extension
        self._extensions: dict[str, Any] = {}
        # Filled as devices are met: asking for one must cost no more than a look into a list.
        self._devices: list[device] = []
        self.namespace = CupyNamespace(cupy, self)

    def extension(self, name: str) -> Any:
        """The part of `cupyx` of that dotted name, looked for once."""
        found = self._extensions.get(name)
        if found is None:
            found = self._extensions[name] = self._find_extension(name)
        return found

    def owns(self, array_type: type) -> bool:
        return issubclass(array_type, self._cupy.ndarray)

    def _device(self, index: int) -> device:
        try:
            return self._devices[index]
        except IndexError:
            self._devices = [device("cuda", i) for i in range(index + 1)]
            return self._devices[index]

    def device_of(self, array: Array) -> device:
        return self._device(array.device.id)

    def current_device(self) -> device:
        return self._device(self._cupy.cuda.Device().id)

    def from_host(self, array: np.ndarray[Any, Any], device: device) -> Array:
        with self.device_guard(device):
            return self._cupy.asarray(array)

    def to_host(self, array: Array) -> np.ndarray[Any, Any]:
        host: np.ndarray[Any, Any] = self._cupy.asnumpy(array)
        return host

    def copy(self, array: Array) -> Array:
        with self.device_guard(self.device_of(array)):
            return array.copy(order="K")

    def copy_to(self, array: Array, device: device) -> Array:
        # `copyto` sends contiguous memory over directly, and goes through a copy on the source's side otherwise.
        source = self.device_of(array)
        with self.device_guard(source):
            contiguous = self._cupy.ascontiguousarray(array)
        with self.device_guard(device):
            result = self._cupy.empty(array.shape, dtype=array.dtype)
            self._cupy.copyto(result, contiguous)
        return result

    def device_count(self) -> int:
        try:
            return int(self._cupy.cuda.runtime.getDeviceCount())
        except RuntimeError:
            # No driver, or one too old: CuPy's errors derive from RuntimeError.
            return 0

    def check_device(self, device: device) -> None:
        count = self.device_count()
        if count == 0:
            raise RuntimeError(
                f"No CUDA GPUs are available: {device} was asked for, and CuPy is installed, but the CUDA driver "
                "reports no device. Check `nvidia-smi`, or use device='cpu'"
            )
        if device.index is not None and device.index >= count:
            raise RuntimeError(
                f"CUDA error: invalid device ordinal: {device} was asked for, and this machine has {count} CUDA "
                f"device{'s' if count > 1 else ''}, of which the last is cuda:{count - 1}"
            )

    def device_guard(self, device: device) -> AbstractContextManager[Any]:
        found: AbstractContextManager[Any] = (
            self._cupy.cuda.Device() if device.index is None else self._cupy.cuda.Device(device.index)
        )
        return found

    def set_current_device(self, device: device) -> None:
        self.check_device(device)
        if device.index is not None:
            self._cupy.cuda.Device(device.index).use()

    def device_name(self, device: device) -> str:
        index = self.current_device().index if device.index is None else device.index
        name = self._cupy.cuda.runtime.getDeviceProperties(index)["name"]
        return name.decode() if isinstance(name, bytes) else str(name)

    def empty_cache(self) -> None:
        self._cupy.get_default_memory_pool().free_all_blocks()
        self._cupy.get_default_pinned_memory_pool().free_all_blocks()

    def synchronize(self, device: device | None = None) -> None:
        index = None if device is None else device.index
        (self._cupy.cuda.Device() if index is None else self._cupy.cuda.Device(index)).synchronize()

    def data_pointer(self, array: Array) -> int:
        return int(array.data.ptr)

    def strided_view(
        self,
        owner: Array,
        shape: tuple[int, ...],
        dtype: Any,
        byte_offset: int,
        byte_strides: tuple[int, ...],
    ) -> Array:
        if not owner.flags.forc:
            raise ValueError(
                f"strided_view(): argument 'owner' must be contiguous, got shape {owner.shape} with byte strides "
                f"{owner.strides}; pass the array that owns the memory"
            )
        dtype = np.dtype(dtype)
        # NumPy checks this by itself; CuPy would read beyond the memory.
        first = last = byte_offset
        for size, stride in zip(shape, byte_strides):
            if size == 0:
                break
            first += min(0, (size - 1) * stride)
            last += max(0, (size - 1) * stride)
        else:
            if first < 0 or last + dtype.itemsize > owner.nbytes:
                raise ValueError(
                    f"strided_view(): a view of shape {shape} with byte offset {byte_offset} and byte strides "
                    f"{byte_strides} reaches from byte {first} to byte {last + dtype.itemsize} of a memory of "
                    f"{owner.nbytes} bytes"
                )
        # An empty array may own no memory to count an offset in.
        memory = owner.data if owner.nbytes == 0 else owner.data + byte_offset
        return self._cupy.ndarray(shape, dtype=dtype, memptr=memory, strides=byte_strides)

    def scatter_add(self, array: Array, indices: Array | tuple[Array | slice, ...], values: Array) -> None:
        self.namespace.add.at(array, indices, values)

    # Both take long to import, and most programs need neither.
    @property
    def special(self) -> Any:
        module = self._completed("scipy.special")
        # CuPy's takes arrays alone, and the order is nearly always a number.
        module.polygamma = self._polygamma  # type: ignore[attr-defined]
        return module

    @property
    def scipy_linalg(self) -> HostFallbackModule:
        return self._completed("scipy.linalg")

    @property
    def scipy_sparse(self) -> Any:
        return self.extension("scipy.sparse")

    def _polygamma(self, n: int, x: Array) -> Array:
        return self.extension("scipy.special").polygamma(self._cupy.asarray(n), self._cupy.asarray(x))

    def _completed(self, name: str) -> HostFallbackModule:
        key = f"{name} with the host's"
        found = self._extensions.get(key)
        if found is None:
            found = HostFallbackModule(self, self.extension(name), importlib.import_module(name))
            self._extensions[key] = found
        return found
