"""Backends over libraries whose arrays cannot be written: JAX, and what follows the Array API standard."""

from __future__ import annotations

import importlib
from abc import abstractmethod
from types import SimpleNamespace
from typing import Any, ClassVar, Literal

import numpy as np

from ..device import device
from .backend import Array, Backend, HostFallbackModule
from .opaque_array import OpaqueArray
from .opaque_namespace import OpaqueNamespace


class OpaqueBackend(Backend):
    """A library of the Array API standard whose arrays are never written, as the memory of tensors.

    Kernels and tensors get an `OpaqueArray` in place of the library's array: see Note [Memory that is replaced] in
    `opaque_array`. What NumPy has and the standard lacks, `opaque_namespace` writes in the standard's functions, or
    runs on the host: the functions of its list `HOST_FUNCTIONS` and of `HOST_UFUNCS`, those of `linalg`, `fft` and
    SciPy, random numbers, and index arrays. Any other function raises NotImplementedError.

    A subclass sets `name`, `device_type`, `library` (a namespace of the Array API standard, of version 2024.12 or
    later) and `library_types` (the types of its arrays), and implements `from_numpy` and `to_numpy`. All else has a
    default, for one device, which a subclass may replace by what its library does better.
    """

    memory: ClassVar[Literal["strided", "opaque"]] = "opaque"

    #: The library: a namespace of the Array API standard over its own arrays.
    library: Any
    #: The types of the library's own arrays.
    library_types: tuple[type, ...]
    #: A module like `scipy.special` over the library's own arrays, for functions that need not run on the host.
    library_special: ClassVar[Any] = SimpleNamespace()

    def __init__(self) -> None:
        #: The class of the arrays that tensors hold.
        self.array_type: type[OpaqueArray] = type(
            f"{self.name.capitalize()}Array", (OpaqueArray,), {"__slots__": (), "tensorlike_backend": self}
        )
        self.namespace = OpaqueNamespace(self)
        self._modules: dict[str, Any] = {}
        self._library_dtypes: dict[np.dtype[Any], Any] = {}
        self._numpy_dtypes: list[tuple[Any, np.dtype[Any]]] = []

    # What a library has to say.

    @abstractmethod
    def from_numpy(self, array: np.ndarray[Any, Any], device: device) -> Any:
        """Return an array of the library on `device` with the values of a NumPy array, whose memory is not shared."""

    @abstractmethod
    def to_numpy(self, value: Any) -> np.ndarray[Any, Any]:
        """Return a NumPy array with the values of an array of the library."""

    def device_of_library_array(self, value: Array) -> device:
        """Return the device on which an array of the library lies."""
        return self.current_device()

    def library_dtype(self, dtype: np.dtype[Any]) -> Any:
        """Return the library's name for a dtype of NumPy; raise TypeError for one that it lacks."""
        found = self._library_dtypes.get(dtype)
        if found is None:
            found = getattr(self.library, np.dtype(dtype).name, None)
            if found is None:
                raise TypeError(f"the backend {self.name!r} has no dtype {np.dtype(dtype).name}: use another dtype")
            self._library_dtypes[np.dtype(dtype)] = found
        return found

    def numpy_dtype(self, value: Array) -> np.dtype[Any]:
        """Return the dtype of an array of the library as NumPy's."""
        if not self._numpy_dtypes:
            names = [*(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)), "bool"]
            names += ["float16", "float32", "float64", "complex64", "complex128"]
            self._numpy_dtypes = [(getattr(self.library, n, None), np.dtype(n)) for n in names]
        for theirs, ours in self._numpy_dtypes:
            if theirs is not None and value.dtype == theirs:
                return ours
        raise TypeError(f"arrays of the backend {self.name!r} of dtype {value.dtype} cannot be the memory of tensors")

    def with_slices(self, value: Array, key: tuple[Any, ...], part: Array) -> Any:
        """Return a copy of an array of the library with slices of it replaced; None where the library cannot."""
        return None

    def scattered(self, flat: Array, places: np.ndarray[Any, Any], values: Array) -> Array:
        """Return a copy of a flat array in which `values` stand at `places`; of equal places the last counts."""
        count = int(flat.shape[0])
        source = np.arange(count)
        source[places] = np.arange(count, count + places.size)
        both = self.library.concat([flat, values], axis=0)
        return self.library.take(both, self.from_numpy_like(source, flat), axis=0)

    def sliced(self, value: Array, key: Any) -> Array:
        """Return a part of an array of the library by a key of integers and slices."""
        return value[key]

    # Between tensors' arrays and the library's.

    def owns(self, array_type: type) -> bool:
        return issubclass(array_type, (self.array_type, *self.library_types))

    def adopted(self, array: Array) -> Array:
        """Return the array that a tensor holds for `array`: its content is the library's own array, not a copy."""
        if isinstance(array, OpaqueArray):
            return array
        return self.array_type.of(array, self.numpy_dtype(array))

    def library_array(self, array: Array) -> Any:
        return self.value_of(array)

    def shows_values(self, array: Array) -> bool:
        return True

    def value_of(self, array: Array) -> Array:
        """Return the library's own array of an array of this backend."""
        if isinstance(array, OpaqueArray):
            if array.tensorlike_backend is not self:
                other = array.tensorlike_backend
                raise RuntimeError(
                    f"arrays of the backends {self.name!r} and {other.name!r} cannot be used together: move the "
                    "tensors to one device with tensor.to(device)"
                )
            return array.library_array()
        return array

    def from_numpy_like(self, array: np.ndarray[Any, Any], like: Array) -> Array:
        """Return an array of the library with the values of a NumPy array, on the device of `like`."""
        return self.from_numpy(array, self.device_of_library_array(like))

    def from_host(self, array: np.ndarray[Any, Any], device: device) -> Array:
        self.library_dtype(array.dtype)
        return self.array_type.of(self.from_numpy(array, device), array.dtype)

    def to_host(self, array: Array) -> np.ndarray[Any, Any]:
        found = np.asarray(self.to_numpy(self.value_of(array)))
        # A library may hand out its own memory, which must not be written.
        return found if found.flags.writeable and found.flags.owndata else found.copy()

    def copy(self, array: Array) -> Array:
        return self.adopted(array).copy(order="K")

    def cast(self, value: Array, source: np.dtype[Any], target: np.dtype[Any]) -> Array:
        """Return an array of the library in another dtype, as NumPy's `astype` does."""
        if source == target:
            return value
        if source.kind == "c" and target.kind != "c":
            if target.kind == "b":
                return self.library.not_equal(value, self.number(0, source, value))
            value = self.library.real(value)
        return self.library.astype(value, self.library_dtype(target))

    def reinterpreted(self, flat: Array, source: np.dtype[Any], target: np.dtype[Any]) -> Array:
        """Return the bytes of a flat array of the library as elements of another dtype.

        Complex numbers are split into their parts by the library; all others make the detour through the host.
        """
        if source.kind == "c" and target.kind == "f" and target.itemsize * 2 == source.itemsize:
            parts = self.library.stack([self.library.real(flat), self.library.imag(flat)], axis=-1)
            return self.library.reshape(parts, (-1,))
        host = np.ascontiguousarray(self.to_numpy(flat)).view(np.uint8)
        whole = host[: host.size // target.itemsize * target.itemsize].view(target)
        self.library_dtype(target)
        return self.from_numpy_like(whole.copy(), flat)

    def zeros(self, shape: tuple[int, ...], dtype: np.dtype[Any], like: Array) -> Array:
        """Return an array of the library of zeros, on the device of `like`."""
        return self.from_numpy_like(np.zeros(shape, dtype), like)

    def number(self, value: float | np.generic, dtype: np.dtype[Any], like: Array) -> Array:
        """Return a number as a zero-dimensional array of the library; OverflowError where the dtype cannot hold it."""
        with np.errstate(all="ignore"):
            return self.from_numpy_like(np.asarray(value, dtype=dtype), like)

    # Indices that are arrays: the places are computed on the host, which also sees indices out of range.

    def host_index(self, items: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the parts of an index, arrays of this backend as NumPy's."""
        return tuple(self.to_host(item) if self.owns(type(item)) else item for item in items)

    def places(self, array: OpaqueArray, items: tuple[Any, ...]) -> np.ndarray[Any, Any]:
        """Return where the elements that an index means lie among the flat elements of `array`."""
        every = np.arange(array.size).reshape(array.shape)
        return np.asarray(every[self.host_index(items)])

    def gathered(self, array: OpaqueArray, items: tuple[Any, ...]) -> OpaqueArray:
        """Return a new array of the elements that an index with arrays means."""
        value = array.library_array()
        places = self.places(array, items)
        flat = self.library.reshape(value, (-1,))
        if places.size == 0:
            return self.array_type.of(self.zeros(places.shape, array.dtype, value), array.dtype)
        found = self.library.take(flat, self.from_numpy_like(places.reshape(-1), value), axis=0)
        return self.array_type.of(self.library.reshape(found, places.shape), array.dtype)

    def value_for(self, value: Array, shape: tuple[int, ...], dtype: np.dtype[Any], like: OpaqueArray) -> Array:
        """Return an array of the library that can be written to elements of that shape and dtype."""
        there = like.memory.content
        if isinstance(value, np.ndarray) and value.ndim:
            raise TypeError(
                f"a NumPy array cannot be written to an array of the backend {self.name!r}: move it there by "
                "from_host()"
            )
        if not self.owns(type(value)):
            found = self.number(value, dtype, there)
        else:
            array = self.adopted(value)
            found = self.cast(self.value_of(array), array.dtype, dtype)
        if tuple(found.shape) == shape:
            return found
        given = tuple(found.shape)
        extra = len(given) - len(shape)
        if extra > 0 and all(n == 1 for n in given[:extra]):
            given = given[extra:]
            found = self.library.reshape(found, given)
        try:
            fits = np.broadcast_shapes(given, shape) == shape
        except ValueError:
            fits = False
        if not fits:
            raise ValueError(f"could not broadcast input array from shape {given} into shape {shape}")
        return self.library.broadcast_to(found, shape)

    def scatter_add(self, array: Array, indices: Array, values: Array) -> None:
        """Add `values` at `indices`: on the host, unless the library has a way of its own."""
        items = indices if isinstance(indices, tuple) else (indices,)
        given = self.to_host(values) if self.owns(type(values)) else values
        with array.memory.lock:
            host = self.to_host(array)
            np.add.at(host, self.host_index(items), given)
            array[...] = self.from_host(host, self.device_of(array))

    # Devices.

    def device_of(self, array: Array) -> device:
        content = array.memory.content if isinstance(array, OpaqueArray) else array
        return self.device_of_library_array(content)

    def device_count(self) -> int:
        return 1

    def current_device(self) -> device:
        return device(self.device_type, 0)

    def synchronize(self, device: device | None = None) -> None:
        return

    # What only memory with addresses has.

    def data_pointer(self, array: Array) -> int:
        """Return a number by which places in one memory are compared; it is no address."""
        found: int = self.adopted(array).address
        return found

    def strided_view(
        self, owner: Array, shape: tuple[int, ...], dtype: np.dtype[Any], byte_offset: int,
        byte_strides: tuple[int, ...],
    ) -> Array:  # fmt: skip
        return owner.strided(shape, dtype, byte_offset, byte_strides)

    # SciPy and decompositions.

    @property
    def special(self) -> HostFallbackModule:
        found = self._modules.get("special")
        if found is None:
            host = importlib.import_module("scipy.special")
            found = self._modules["special"] = HostFallbackModule(self, self.library_special, host)
        return found

    @property
    def scipy_linalg(self) -> HostFallbackModule:
        found = self._modules.get("linalg")
        if found is None:
            host = importlib.import_module("scipy.linalg")
            found = self._modules["linalg"] = HostFallbackModule(self, SimpleNamespace(), host)
        return found
