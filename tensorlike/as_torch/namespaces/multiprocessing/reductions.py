"""How tensors and storages are pickled for another process: by the descriptors of their shared memory."""

from __future__ import annotations

from multiprocessing import reduction
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np

from tensorlike.tensor import Parameter, Tensor
from tensorlike.tensor.serialization import check_history, reduce_here
from tensorlike.tensor.shared import HAS_DESCRIPTORS, attach, share, shared_memory_of
from tensorlike.tensor.storage import TypedStorage, UntypedStorage, rebuild_storage, storage_of, typed_storage

__all__ = [
    "check_history",
    "init_reductions",
    "rebuild_storage_empty",
    "rebuild_storage_fd",
    "reduce_storage",
    "reduce_tensor",
]


def reduce_tensor(tensor: Any) -> Any:
    """Return the state of a tensor for pickle, in memory that processes share.

    Raises RuntimeError for a tensor that requires grad and is no leaf.
    """
    check_history(tensor)
    if isinstance(tensor._tl_data, np.ndarray) and tensor._tl_data.size:
        share(tensor)
    return reduce_here(tensor)


def rebuild_storage_fd(kind: type, handle: Any, size: int) -> UntypedStorage:
    """Return the storage in the file whose descriptor `handle` holds. Called by pickle."""
    return storage_of(attach(handle.detach(), size))


def rebuild_storage_empty(kind: type) -> Any:
    """Return a storage without bytes. Called by pickle."""
    return kind()


def reduce_storage(storage: UntypedStorage) -> Any:
    """Return the state of a storage for pickle: the descriptor of its memory, which is made shared."""
    if len(storage) == 0:
        return rebuild_storage_empty, (UntypedStorage,)
    share(storage)
    memory = shared_memory_of(storage._owner)
    if not HAS_DESCRIPTORS or memory is None or memory.descriptor < 0:
        return rebuild_storage, (storage._host(),)
    handle = reduction.DupFd(memory.descriptor)
    return rebuild_storage_fd, (UntypedStorage, handle, len(memory))


def _reduce_typed_storage(storage: TypedStorage) -> Any:
    return typed_storage, (storage.untyped(), storage.dtype)


def init_reductions() -> None:
    """Register the reducers above with Python's multiprocessing."""
    # Subclasses pickle as they do elsewhere, by their storage, which finds them when it moves.
    for kind in (Tensor, Parameter):
        ForkingPickler.register(kind, reduce_tensor)
    ForkingPickler.register(UntypedStorage, reduce_storage)
    ForkingPickler.register(TypedStorage, _reduce_typed_storage)
