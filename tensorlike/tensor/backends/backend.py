"""The interface of backends: the contract between tensors and an array library."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, Literal

import numpy as np

from ..device import device
from .host_fallback import announce

# A raw array of one backend. The array libraries are optional, so their types cannot be spelled here.
Array = Any


class Backend(ABC):
    """An array library as tensors use it: devices of its arrays, transfers, and differences from NumPy.

    A subclass sets `name`, `device_type` and `namespace` (what kernels get as `xp`; it spells its functions as NumPy
    does) and implements the methods below. `register_backend` registers it.

    `memory` says what the library's arrays can do. Those of "strided" memory are NumPy's in all that matters: they have
    strides, views that share their memory, and can be written. Those of "opaque" memory can only be read:
    `OpaqueBackend` is the base class for them.
    """

    name: str
    device_type: str
    namespace: Any
    memory: ClassVar[Literal["strided", "opaque"]] = "strided"

    @abstractmethod
    def owns(self, array_type: type) -> bool:
        """Whether arrays of `array_type` belong to this backend, asked once a type of its library."""

    @abstractmethod
    def device_of(self, array: Array) -> device:
        """The device `array` is stored on."""

    @abstractmethod
    def from_host(self, array: np.ndarray[Any, Any], device: device) -> Array:
        """A new array on `device` with the values of a NumPy array."""

    @abstractmethod
    def to_host(self, array: Array) -> np.ndarray[Any, Any]:
        """A NumPy array with the values of `array`; `array` itself where it is a NumPy array."""

    @abstractmethod
    def copy(self, array: Array) -> Array:
        """A copy of `array` on its device, its memory laid out in the same order."""

    def adopted(self, array: Array) -> Array:
        """Return what a tensor holds for an array of the library: the array itself, where it can be written."""
        return array

    def library_array(self, array: Array) -> Any:
        """Return the library's own array with the elements of one that a tensor holds."""
        return array

    def shows_values(self, array: Array) -> bool:
        """Return whether checks may look at the values of `array`: not where they would make a device wait."""
        return False

    def is_available(self) -> bool:
        """Whether this machine has a device of this backend. Never raises."""
        return self.device_count() > 0

    def copy_to(self, array: Array, device: device) -> Array:
        """A copy of `array` on `device`, another one of this backend."""
        return self.from_host(self.to_host(array), device)

    @abstractmethod
    def device_count(self) -> int:
        """The number of devices of this backend on this machine. Never raises."""

    @abstractmethod
    def current_device(self) -> device:
        """The device where new arrays are made when none is named."""

    def check_device(self, device: device) -> None:
        """RuntimeError, in PyTorch's words, where this machine lacks `device`."""
        count = self.device_count()
        if device.index is not None and device.index >= count:
            raise RuntimeError(f"invalid device ordinal: {device} was asked for, and {self.name} has {count} devices")

    def device_guard(self, device: device) -> AbstractContextManager[Any]:
        """A context in which new arrays are made on `device`, and in which arrays on it can be computed with."""
        return nullcontext()

    def set_current_device(self, device: device) -> None:
        """Makes `device` the one of this thread where new arrays are made when none is named."""
        self.check_device(device)

    def device_name(self, device: device) -> str:
        """The product name of `device`."""
        return self.name

    def empty_cache(self) -> None:  # noqa: B027 (nothing to do is the right default)
        """Release the memory that the library caches for later arrays."""

    @abstractmethod
    def synchronize(self, device: device | None = None) -> None:
        """Waits until everything queued on `device`, or on the current one, is done."""

    @abstractmethod
    def data_pointer(self, array: Array) -> int:
        """The address of the first element of `array`."""

    @abstractmethod
    def strided_view(
        self,
        owner: Array,
        shape: tuple[int, ...],
        dtype: Any,
        byte_offset: int,
        byte_strides: tuple[int, ...],
    ) -> Array:
        """A view of the memory of `owner`, see `strided_view` of the package."""

    def scatter_add(self, array: Array, indices: Any, values: Any) -> None:
        """`array[indices] += values` in place, where an index that comes twice adds twice."""
        self.namespace.add.at(array, indices, values)

    @property
    @abstractmethod
    def special(self) -> Any:
        """SciPy's special functions for this backend's arrays. Imported on first use."""

    @property
    @abstractmethod
    def scipy_linalg(self) -> Any:
        """SciPy's linear algebra for this backend's arrays. Imported on first use."""

    @property
    def scipy_sparse(self) -> Any:
        """SciPy's sparse matrices for this backend's arrays."""
        raise NotImplementedError(f"the backend {self.name!r} has no sparse matrices: move the tensors to the CPU")

    @property
    def linalg(self) -> Any:
        """NumPy's linear algebra for this backend's arrays."""
        return self.namespace.linalg

    @property
    def fft(self) -> Any:
        """NumPy's Fourier transforms for this backend's arrays."""
        return self.namespace.fft

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}, device type {self.device_type!r}>"


class HostFallbackModule:
    """A device library's module, completed by the host's: functions that only the host has run there.

    The detour costs a transfer each way and a wait. The alternative is an AttributeError for a rarely used function,
    on one device and not on the other.
    """

    def __init__(self, backend: Backend, device_module: Any, host_module: Any) -> None:
        self._backend = backend
        self._device_module = device_module
        self._host_module = host_module

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            found = getattr(self._device_module, name)
        except AttributeError:
            found = getattr(self._host_module, name)
            if callable(found) and not isinstance(found, type):
                found = on_host(self._backend, found)
        # Kept on the instance, so that the next look-up does not come here.
        setattr(self, name, found)
        return found


def on_host(backend: Backend, function: Any, name: str = "") -> Any:
    """`function`, which knows NumPy arrays alone, for the arrays of `backend`: see `set_host_fallback`.

    Random numbers, which read no operands, are drawn on the host without a word.
    """
    # "numpy.linalg.qr", or the name given where the function has none of its own.
    name = name or f"{getattr(function, '__module__', None) or 'numpy'}.{getattr(function, '__name__', function)}"

    def run_on_host(*args: Any, **kwargs: Any) -> Any:
        devices: list[device] = []
        if any(_is_of(backend, value) for value in (*args, *kwargs.values())):
            announce(backend.device_type, name)
        host_args = [_to_host(backend, value, devices) for value in args]
        host_kwargs = {name: _to_host(backend, value, devices) for name, value in kwargs.items() if name != "out"}
        with np.errstate(all="ignore"):
            result = function(*host_args, **host_kwargs)
        result = _from_host(backend, result, devices[0] if devices else backend.current_device())
        out = kwargs.get("out")
        if out is None:
            return result
        out[...] = result
        return out

    run_on_host.__name__ = getattr(function, "__name__", "run_on_host")
    run_on_host.__doc__ = getattr(function, "__doc__", None)
    return run_on_host


def _is_of(backend: Backend, value: Any) -> bool:
    """Return whether a value is an array of the backend, or holds one."""
    if isinstance(value, list | tuple):
        return any(_is_of(backend, item) for item in value)
    return backend.owns(type(value))


def _to_host(backend: Backend, value: Any, devices: list[device]) -> Any:
    if isinstance(value, list | tuple):
        return type(value)([_to_host(backend, item, devices) for item in value])
    if backend.owns(type(value)):
        devices.append(backend.device_of(value))
        return backend.to_host(value)
    return value


def _from_host(backend: Backend, value: Any, target: device) -> Any:
    if isinstance(value, list | tuple):
        items = [_from_host(backend, item, target) for item in value]
        # A named result such as SVDResult takes its fields one by one.
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, np.ndarray | np.generic):
        return backend.from_host(np.asarray(value), target)
    return value
