"""The memory behind tensors: the array that owns it, and its public form `UntypedStorage`.

# Note [Whose memory]
NumPy's and CuPy's views know the array that their memory comes from (`base`), so a tensor need not store its owner. The
memory of a tensor is that of the outermost array: `storage_offset`, `untyped_storage`, pickles and `as_strided` read it
off there. The memory of an array that a user passes in starts with that array, even if it is itself a view: `borrowed`
cuts the chain.
"""

from __future__ import annotations

import math
import sys
import warnings
import weakref
from collections.abc import Iterator, Sequence
from typing import Any, Final, final

import numpy as np

from tensorlike._above import above
from tensorlike._library_name import LIBRARY
from tensorlike.autograd.tensor_base import TensorBase

from .backends import address_of, backend_for, backend_of, data_pointer, device_of, strided_view
from .device import device as Device
from .dtypes import dtype as Dtype
from .dtypes import dtype_of
from .types import Array

#: NumPy's limit, and so that of tensors.
MAX_DIMS: Final = 64


class Memory:
    """An object with NumPy's array interface for the memory of `owner`, unchanged."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, owner: Array, interface: dict[str, Any]) -> None:
        self.owner = owner
        self.__array_interface__ = interface


class _Bytes(Memory):
    """An object with NumPy's array interface for the memory of `owner` as bytes; arrays made from it have the same
    owner.
    """

    __slots__ = ()


def borrowed(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return an array on the memory of a user's array, without a reference to that array's own base."""
    if array.base is None or not array.size:
        return array.view(np.ndarray)
    # Types from other packages, such as bfloat16, have no code in the interface; integers of their size do.
    plain = array.view(np.dtype(f"u{array.itemsize}")) if array.dtype.kind == "V" else array
    interface = dict(plain.__array_interface__)
    interface["strides"] = plain.strides
    return np.asarray(Memory(array, interface)).view(array.dtype)


def writable_alias(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a writable array on the same memory, even if NumPy marks it read-only."""
    interface = dict(array.__array_interface__)
    interface["data"] = (interface["data"][0], False)
    interface["strides"] = array.strides
    return np.asarray(Memory(array, interface))


def owner_of(array: Any) -> Any:
    """Return the array that owns the memory of `array`: see Note [Whose memory]."""
    kind = type(array)
    while True:
        base = array.base
        if base is None:
            return array
        if isinstance(base, Memory):
            if type(base) is not _Bytes:
                return array
            base = base.owner
        if not isinstance(base, kind):
            # Arrays of np.lib.stride_tricks have an object between themselves and their array.
            base = getattr(base, "base", None)
            if not isinstance(base, kind):
                return array
        array = base


def _extent(array: Array) -> int:
    """Return the bytes from the first element of an array to the end of its last."""
    if not array.size:
        return 0
    return int(sum((n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)) + array.dtype.itemsize)


def bytes_of(owner: Any) -> Any:
    """Return the memory of an owning array as a flat array of bytes."""
    if isinstance(owner, np.ndarray):
        pointer = owner.__array_interface__["data"]
        interface = {"data": pointer, "shape": (_extent(owner),), "typestr": "|u1", "version": 3}
        return np.asarray(_Bytes(owner, interface))
    return strided_view(backend_of(owner).namespace, owner, (_extent(owner),), np.dtype(np.uint8), 0, (1,))


#: The storage objects by the array that owns their memory: one for each piece of memory in use.
_alive: weakref.WeakValueDictionary[int, UntypedStorage] = weakref.WeakValueDictionary()


@final
class UntypedStorage:
    """The memory of a tensor as bytes: all tensors on the same memory have the same one.

    `UntypedStorage(n)` is fresh memory of `n` bytes, `UntypedStorage([1, 2])` has these bytes. Unlike PyTorch's, the
    memory of NumPy's arrays cannot grow or shrink: `resize_` raises for another size.

    >>> x = tl.tensor([1, 2], dtype=tl.uint8)
    >>> x[1:].untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    True
    >>> x.untyped_storage().tolist()
    [1, 2]

    Same as PyTorch's class of that name, but for `resize_`.
    """

    __slots__ = ("__weakref__", "_bytes", "_owner")
    _owner: Any
    _bytes: Any

    def __new__(cls, data: int | Sequence[int] = 0, *, device: Any = None) -> UntypedStorage:
        if isinstance(data, (int, np.integer)):
            if data < 0:
                raise RuntimeError(f"UntypedStorage(): the size must not be negative, got {data}")
            found = np.zeros(int(data), np.uint8)
        else:
            found = np.asarray([int(item) & 255 for item in data], np.uint8)
        where = Device("cpu") if device is None else Device(device)
        return storage_of(found if where.type == "cpu" else backend_for(where).from_host(found, where))

    def data_ptr(self) -> int:
        """Return the address of the first byte; RuntimeError for memory without one, as JAX's."""
        return address_of(self._owner)

    def nbytes(self) -> int:
        """Return the number of bytes.

        >>> tl.ones(3).untyped_storage().nbytes()
        12
        """
        return int(self._bytes.size)

    def size(self) -> int:
        """Return the number of bytes.

        >>> tl.ones(3).untyped_storage().size()
        12
        """
        return self.nbytes()

    def element_size(self) -> int:
        """Return the bytes of one element: 1.

        >>> storage = tl.tensor([1.0, 2.0]).untyped_storage()
        >>> storage.element_size()
        1
        """
        return 1

    def __len__(self) -> int:
        return self.nbytes()

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def _host(self) -> Array:
        found = self._bytes
        return found if isinstance(found, np.ndarray) else backend_of(found).to_host(found)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            if index.step not in (None, 1):
                raise RuntimeError(f"Trying to slice with a step of {index.step}, but only a step of 1 is supported")
            part = self._bytes[index]
            return storage_of(borrowed(part) if isinstance(part, np.ndarray) else part)
        self._check(index)
        return int(self._host()[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        if not isinstance(index, slice):
            self._check(index)
        self._bytes[index] = value._bytes if isinstance(value, UntypedStorage) else int(value) & 255

    def _check(self, index: int | str) -> None:
        if not isinstance(index, (int, np.integer)):
            raise TypeError(f"can't index a {type(self).__name__} with {type(index).__name__}")
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} out of range for storage of size {len(self)}")

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def tolist(self) -> list[int]:
        """Return the bytes as a list of integers.

        >>> storage = tl.tensor([1.0, 2.0]).untyped_storage()
        >>> len(storage.tolist())
        8
        """
        found: list[int] = self._host().tolist()
        return found

    def copy_(self, source: UntypedStorage, non_blocking: bool | None = None) -> UntypedStorage:
        """Write the bytes of `source`, which has as many, and return this storage.

        >>> storage = tl.tensor([1.0, 2.0]).untyped_storage()
        >>> storage.copy_(tl.zeros(2).untyped_storage()).tolist()
        [0, 0, 0, 0, 0, 0, 0, 0]
        """
        if not isinstance(source, UntypedStorage):
            raise TypeError(f"copy_(): argument 'source' must be UntypedStorage, not {type(source).__name__}")
        if len(source) != len(self):
            raise RuntimeError(f"size does not match, self was {len(self)} bytes but src was {len(source)} bytes")
        if type(source._bytes) is type(self._bytes):
            self._bytes[...] = source._bytes
        else:
            self._bytes[...] = backend_of(self._bytes).from_host(source._host(), self.device)
        return self

    def fill_(self, value: int) -> UntypedStorage:
        """Write `value` to all bytes and return this storage.

        >>> tl.ones(1).untyped_storage().fill_(0).tolist()
        [0, 0, 0, 0]
        """
        self._bytes[...] = int(value) & 255
        return self

    def clone(self) -> UntypedStorage:
        """Return a copy in its own memory.

        >>> tl.ones(1).untyped_storage().clone().tolist()
        [0, 0, 128, 63]
        """
        return storage_of(self._bytes.copy())

    def cpu(self) -> UntypedStorage:
        """Return the bytes in the host's memory; this storage if they are there."""
        return self if isinstance(self._bytes, np.ndarray) else storage_of(np.array(self._host()))

    def resize_(self, size: int) -> UntypedStorage:
        """Return this storage if it has `size` bytes.

        Raises RuntimeError for another size: NumPy's and CuPy's arrays hold on to memory that cannot change its size.
        """
        if size != len(self):
            raise RuntimeError(
                f"UntypedStorage.resize_(): cannot make {len(self)} bytes {size}: the memory of arrays has a fixed "
                "size. Make a new tensor, or use tensor.resize_()"
            )
        return self

    @property
    def device(self) -> Device:
        """The device of the memory.

        >>> storage = tl.tensor([1.0, 2.0]).untyped_storage()
        >>> storage.device
        device(type='cpu')
        """
        found: Device = device_of(self._owner)
        return found

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is a CUDA device's.

        >>> storage = tl.tensor([1.0, 2.0]).untyped_storage()
        >>> storage.is_cuda
        False
        """
        return self.device.type == "cuda"

    def is_shared(self) -> bool:
        """Return whether the memory is shared between processes: after `share_memory_`, or on a CUDA device.

        >>> storage = tl.tensor([1.0, 2.0]).untyped_storage()
        >>> storage.is_shared()
        False
        """
        return is_shared(self._owner)

    def share_memory_(self) -> UntypedStorage:
        """Move the memory, and the tensors on it, to memory that processes share, and return this storage."""
        from .shared import share  # noqa: PLC0415 - 4 ms of the import

        return share(self)

    def __repr__(self) -> str:
        lines = "".join(f" {byte}\n" for byte in self.tolist())
        return f"{lines}[{LIBRARY}.UntypedStorage(device={self.device}) of size {len(self)}]"

    def __reduce__(self) -> Any:
        if LIBRARY.name == "torch":
            return _reduced_as_torch(self)
        return rebuild_storage, (self._host(),)

    def __copy__(self) -> UntypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> UntypedStorage:
        found = memo.get(id(self))
        if found is None:
            found = memo[id(self)] = self.clone()
        return found


def _reduced_as_torch(storage: Any) -> Any:
    return above("serialization.torch_pickles").reduce_storage(storage)


def rebuild_storage(array: Any) -> UntypedStorage:
    """Rebuild a pickled storage from its bytes, which must be a true flat array.

    NumPy reads the memory at any address that an object's `__array_interface__` names.
    """
    if type(array) is not np.ndarray or array.dtype != np.uint8 or array.ndim != 1:
        raise TypeError(f"rebuild_storage(): argument 'array' must be a flat array of bytes, not {type(array)}")
    return storage_of(array)


def storage_of(array: Array) -> UntypedStorage:
    """Return the storage behind a raw array: the same object for all arrays on the same memory."""
    owner = owner_of(array)
    found = _alive.get(id(owner))
    if found is None:
        found = object.__new__(UntypedStorage)
        found._owner = owner
        found._bytes = bytes_of(owner)
        found = _alive.setdefault(id(owner), found)
    return found


_LARGEST: Final = 2**63 - 1


def view_in(storage: UntypedStorage, dtype: Any, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """Return the raw array with that geometry, in bytes, in a storage.

    Raises RuntimeError when it would leave the memory, and for a geometry that no array has: more than 64 dimensions,
    another number of strides than of sizes, a negative size or stride, more than 2**63 bytes.
    """
    # Sizes of 0 are left out, as in NumPy, so that it does not raise an error of its own.
    nbytes = dtype.itemsize * math.prod([n for n in shape if n])
    last = 0 if 0 in shape else sum((n - 1) * s for n, s in zip(shape, strides)) + dtype.itemsize
    if (
        len(shape) != len(strides)
        or len(shape) > MAX_DIMS
        or min(shape, default=0) < 0
        or min(strides, default=0) < 0
        or max(strides, default=0) > _LARGEST
        or nbytes > _LARGEST
        or offset < 0
        or offset + last > len(storage)
    ):
        raise RuntimeError(
            f"setStorage: sizes {list(shape)}, byte strides {list(strides)} and byte offset {offset} are out of bounds "
            f"for storage of size {len(storage)}"
        )
    return strided_view(backend_of(storage._bytes).namespace, storage._bytes, shape, dtype, offset, strides)


def room_at(array: Array) -> int:
    """Return how many elements of its dtype there is memory for from the start of `array` on."""
    memory = bytes_of(owner_of(array))
    return (int(memory.size) - data_pointer(array) + data_pointer(memory)) // int(array.dtype.itemsize)


def placed_at(array: Array, shape: tuple[int, ...], steps: tuple[int, ...]) -> Any:
    """Return the array of a shape, with strides of so many elements, that starts in memory where `array` does.

    The caller knows that there is room.
    """
    memory, width = bytes_of(owner_of(array)), array.dtype.itemsize
    start = data_pointer(array) - data_pointer(memory)
    strides = tuple(n * width for n in steps)
    return strided_view(backend_of(array).namespace, memory, shape, array.dtype, start, strides)


def placed_in(array: np.ndarray[Any, Any]) -> tuple[UntypedStorage, int]:
    """Return the storage behind a raw array, and the offset of the array in it, in bytes."""
    if any(s < 0 for s in array.strides):
        array = array.copy()
    storage = storage_of(array)
    return storage, int(data_pointer(array) - data_pointer(storage._owner)) if array.size else 0


class SharedBlock:
    """The base of objects that hand a part of shared memory to NumPy."""

    __slots__ = ()


def is_shared(owner: Any) -> bool:
    """Return whether the memory of an owning array is shared between processes."""
    if not isinstance(owner, np.ndarray):
        return bool(device_of(owner).type == "cuda")
    # Nothing is mapped before `mmap` is imported, here by shared.py.
    mapping = sys.modules.get("mmap")
    if mapping is None:
        return False
    memory = getattr(owner.base, "obj", owner.base)
    return isinstance(memory, mapping.mmap) or isinstance(getattr(memory, "base", None), SharedBlock)


def relocated(storage: UntypedStorage, array: np.ndarray[Any, Any]) -> None:
    """Give a storage the memory of another array; the caller has copied the bytes."""
    _alive.pop(id(storage._owner), None)
    storage._owner = owner_of(array)
    storage._bytes = bytes_of(storage._owner)
    _alive[id(storage._owner)] = storage


def typed_storage(storage: UntypedStorage, dtype: Dtype) -> TypedStorage:
    """Return a storage of elements of `dtype` without the deprecation warning, for files of PyTorch."""
    made = object.__new__(TypedStorage)
    made._wrap(storage, dtype)
    return made


_DEPRECATED: Final = (
    "TypedStorage is deprecated. UntypedStorage is the storage class to use. This matters only to code that uses "
    "storages directly: call tensor.untyped_storage() instead of tensor.storage()"
)


@final
class TypedStorage:
    """The memory of a tensor as elements of its dtype. Deprecated: use `UntypedStorage`.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     tl.tensor([1, 2, 3])[1:].storage().tolist()
    [1, 2, 3]

    Same as PyTorch's class of that name, with only the methods that read and write elements.
    """

    __slots__ = ("_elements", "_untyped")

    def __init__(self, *, wrap_storage: UntypedStorage, dtype: Dtype) -> None:
        warnings.warn(_DEPRECATED, UserWarning, stacklevel=3)
        self._wrap(wrap_storage, dtype)

    def _wrap(self, storage: UntypedStorage, dtype: Dtype) -> None:
        self._untyped = storage
        width = dtype.itemsize
        self._elements = view_in(storage, dtype.numpy_dtype, 0, (len(storage) // width,), (width,))

    @property
    def dtype(self) -> Dtype:
        """The dtype of the elements.

        >>> storage = tl.FloatStorage([1.0, 2.0])
        >>> storage.dtype
        tensorlike.float32
        """
        return dtype_of(self._elements.dtype)

    @property
    def device(self) -> Device:
        """The device of the memory.

        >>> storage = tl.FloatStorage([1.0, 2.0])
        >>> storage.device
        device(type='cpu')
        """
        return self._untyped.device

    def untyped(self) -> UntypedStorage:
        """Return the memory as bytes.

        >>> storage = tl.FloatStorage([1.0, 2.0])
        >>> storage.untyped().nbytes()
        8
        """
        return self._untyped

    def __reduce__(self) -> Any:
        if LIBRARY.name == "torch":
            return _reduced_as_torch(self)
        return typed_storage, (self._untyped, self.dtype)

    def data_ptr(self) -> int:
        """Return the address of the first element."""
        return self._untyped.data_ptr()

    def size(self) -> int:
        """Return the number of elements.

        >>> storage = tl.FloatStorage([1.0, 2.0])
        >>> storage.size()
        2
        """
        return int(self._elements.size)

    def nbytes(self) -> int:
        """Return the number of bytes.

        >>> storage = tl.FloatStorage([1.0, 2.0])
        >>> storage.nbytes()
        8
        """
        return self._untyped.nbytes()

    def element_size(self) -> int:
        """Return the bytes of one element.

        >>> storage = tl.FloatStorage([1.0, 2.0])
        >>> storage.element_size()
        4
        """
        return int(self._elements.dtype.itemsize)

    def is_shared(self) -> bool:
        """Return whether the memory is shared with processes forked from this one."""
        return self._untyped.is_shared()

    def __len__(self) -> int:
        return self.size()

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def __getitem__(self, index: Any) -> Any:
        return self.tolist()[index] if isinstance(index, slice) else self._elements[index].item()

    def __setitem__(self, index: int, value: int) -> None:
        self._elements[index] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def tolist(self) -> list[Any]:
        """Return the elements as a list of numbers.

        >>> storage = tl.FloatStorage([1.0, 2.0])
        >>> storage.tolist()
        [1.0, 2.0]
        """
        array = self._elements
        found: list[Any] = (array if isinstance(array, np.ndarray) else backend_of(array).to_host(array)).tolist()
        return found

    def __repr__(self) -> str:
        lines = "".join(f" {item}\n" for item in self.tolist())
        return f"{lines}[{LIBRARY}.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"


def storage_arguments(source: Any) -> UntypedStorage | None:
    """Return the storage that `set_` was given, None when it was given a tensor."""
    if isinstance(source, UntypedStorage):
        return source
    if isinstance(source, TypedStorage):
        return source.untyped()
    if isinstance(source, TensorBase):
        return None
    raise TypeError(f"set_(): argument 'source' (position 1) must be Tensor or Storage, not {type(source).__name__}")
