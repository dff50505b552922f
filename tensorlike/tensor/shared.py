"""Memory that processes share: files without a name, mapped into each of them.

# Note [Shared memory]
A piece of shared memory is a file that has no name, so that the kernel frees it with the last process that holds it,
however that process ends. It travels as a file descriptor. The array that owns the memory is found again by the file's
number: a tensor that comes back to a process is on the memory that it was sent from.

Tensors hold arrays, so a tensor moves to other memory by getting another array. `share` moves every tensor on the same
memory, which it finds through the garbage collector when more than one array refers to the memory.
"""

from __future__ import annotations

import contextlib
import gc
import mmap
import os
import sys
import tempfile
import threading
import weakref
from typing import Any, Final

import numpy as np

from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.dispatch.forks import renew_after_fork

from .backends import backend_of, data_pointer, device_of
from .storage import UntypedStorage, owner_of, relocated, storage_of, view_in
from .types import Array, Tensor


class SharedMemory(mmap.mmap):
    """The mapping of a file without a name; `descriptor` is its file descriptor, -1 where the system has none."""

    descriptor: int = -1

    def __del__(self) -> None:
        if self.descriptor >= 0:
            with contextlib.suppress(OSError):
                os.close(self.descriptor)


#: The arrays that own shared memory, by the numbers of their files.
_owners: weakref.WeakValueDictionary[tuple[int, int], np.ndarray[Any, Any]] = weakref.WeakValueDictionary()
_lock = threading.RLock()
renew_after_fork(globals(), "_lock")

#: Whether descriptors of files can be sent to other processes.
HAS_DESCRIPTORS: Final = sys.platform != "win32"
#: Python 3.13 can map a file without a descriptor of its own.
_MAPPING: Final[dict[str, Any]] = {"trackfd": False} if sys.version_info >= (3, 13) else {}


def new_file(nbytes: int) -> int:
    """Return the descriptor of a new file of `nbytes` zeros that has no name."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("tensorlike")
    else:
        folder = "/dev/shm" if os.path.isdir("/dev/shm") else None
        with tempfile.TemporaryFile(dir=folder) as file:
            descriptor = os.dup(file.fileno())
    try:
        os.ftruncate(descriptor, nbytes)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def map_file(descriptor: int, nbytes: int, offset: int = 0) -> SharedMemory:
    """Map `nbytes` of a file from `offset`, a multiple of the page size. The descriptor stays the caller's."""
    return SharedMemory(descriptor, nbytes, offset=offset, **_MAPPING)


def attach(descriptor: int, nbytes: int) -> np.ndarray[Any, Any]:
    """Return the array of bytes that owns the memory of a file; the descriptor now belongs to it."""
    status = os.fstat(descriptor)
    number = status.st_dev, status.st_ino
    with _lock:
        found = _owners.get(number)
        if found is not None:
            os.close(descriptor)
            return found
        try:
            memory = map_file(descriptor, nbytes)
        except BaseException:
            os.close(descriptor)
            raise
        memory.descriptor = descriptor
        found = _owners[number] = np.frombuffer(memory, np.uint8)
    return found


def new_shared(nbytes: int) -> np.ndarray[Any, Any]:
    """Return an array of bytes in new shared memory. Where descriptors cannot be sent, only forks share it."""
    nbytes = max(nbytes, 1)
    if HAS_DESCRIPTORS:
        return attach(new_file(nbytes), nbytes)
    return np.frombuffer(SharedMemory(-1, nbytes), np.uint8)


def shared_memory_of(owner: Array) -> SharedMemory | None:
    """Return the mapping behind an owning array, None for memory that is not shared."""
    base = getattr(owner, "base", None)
    memory = getattr(base, "obj", base)
    return memory if isinstance(memory, SharedMemory) else None


def _references(array: Array) -> int:
    return sys.getrefcount(array)


#: What `_references` answers for an array that its caller alone holds, in a variable.
def _count_alone() -> int:
    alone = np.empty(0)
    return _references(alone)


def share(subject: Any) -> UntypedStorage:
    """Move a tensor, or a storage, and every tensor on its memory to shared memory; return the storage.

    Does nothing when the memory is shared already, or is a GPU's. RuntimeError for memory that cannot be written.
    """
    array = subject._bytes if isinstance(subject, UntypedStorage) else subject._tl_data
    owner = owner_of(array)
    if not isinstance(owner, np.ndarray) and backend_of(owner).memory == "opaque":
        raise RuntimeError(
            f"share_memory_(): processes cannot share the memory of tensors on device {str(device_of(owner))!r}: move "
            "the tensor to the CPU first, by cpu()"
        )
    if not isinstance(owner, np.ndarray) or shared_memory_of(owner) is not None:
        return storage_of(array)
    with _lock:
        movers: list[Any]
        # One reference more than a variable's: the tensor's. This variable and `array` may be two.
        if isinstance(subject, TensorBase) and owner is array and _references(owner) <= _count_alone() + 2:
            movers = [subject]
        else:
            del array
            # By type: `isinstance` asks proxies for their class, which may run any code.
            movers = [t for t in gc.get_objects() if issubclass(type(t), TensorBase) and _is_on(t, owner)]
            if isinstance(subject, TensorBase) and not any(t is subject for t in movers):
                movers.append(subject)  # Objects frozen by `gc.freeze` are in no list.
        storage = storage_of(owner)
        start = int(data_pointer(storage._owner))
        # PyTorch's tensors without elements have no memory that could be shared; one byte keeps them alike.
        fresh = new_shared(len(storage))[: len(storage)]
        fresh[...] = storage._bytes
        old = storage._bytes
        relocated(storage, fresh)
        for tensor in movers:
            data = tensor._tl_data
            offset = int(data_pointer(data)) - start if data.size else 0
            tensor._tl_data = view_in(storage, data.dtype, offset, data.shape, data.strides)
        del old
    return storage


def _is_on(tensor: Tensor, owner: Array) -> bool:
    data = getattr(tensor, "_tl_data", None)
    return isinstance(data, np.ndarray) and owner_of(data) is owner
