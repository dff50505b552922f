"""How a batch passes from a worker process to the main process.

# Note [Blocks of a worker]
Each worker has a file without a name, which grows as needed: its arena. A batch is pickled with its arrays left out;
their lengths, the pickle and the arrays lie behind one another in a block of the arena, and the pipe carries the place
of the block alone. The main process maps the file as well, so that the tensors of the batch are on the memory that the
worker wrote: a batch of 1 MB takes a tenth of the time that it takes through a pipe. Once all of them are gone, the
place goes back with the next task, and the worker writes there again: no memory is requested for a batch after the
first few. Small batches go through the pipe, which never holds more than it can buffer, so that a worker never waits
for the main process to read.
"""

from __future__ import annotations

import contextlib
import io
import mmap
import os
import pickle
import struct
from collections import deque
from collections.abc import Sequence
from multiprocessing import reduction
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.tensor import Parameter, Tensor
from tensorlike.tensor.serialization import check_history, reduce_here
from tensorlike.tensor.shared import HAS_DESCRIPTORS, map_file, new_file
from tensorlike.tensor.storage import SharedBlock, UntypedStorage, owner_of, rebuild_storage

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

__all__ = ["Receiver", "Sender", "new_arena"]

#: Arrays begin at multiples of this, in bytes.
_ALIGNMENT: Final = 64
#: The bytes that a pipe is sure to buffer, and the most that one message puts there.
_PIPE: Final = 16384
_SMALL: Final = 2048
_FIRST_CHUNK: Final = 1 << 20
_LARGEST_CHUNK: Final = 1 << 28

#: The number of the task; the place of the block, its chunk and the size of that; -1 for a block in the message itself.
_HEADER: Final = struct.Struct("<5q")


class Arena:
    """The descriptor of the file that a worker and the main process share; it can be sent with a new process."""

    def __init__(self) -> None:
        self.descriptor = new_file(0)

    def __getstate__(self) -> Any:
        return reduction.DupFd(self.descriptor)

    def __setstate__(self, state: Any) -> None:
        self.descriptor = state.detach()

    def __del__(self) -> None:
        with contextlib.suppress(OSError, AttributeError):
            os.close(self.descriptor)


def new_arena() -> Arena | None:
    """Return an arena, None on a system that cannot send the descriptors of files."""
    return Arena() if HAS_DESCRIPTORS else None


class _BatchPickler(ForkingPickler):
    """A pickler that leaves the memory of tensors to the blocks, instead of making it shared."""

    def reducer_override(self, value: object) -> Any:
        """Return the state of a tensor or a storage; everything else has its usual one."""
        if isinstance(value, UntypedStorage):
            return rebuild_storage, (value._host(),)
        if isinstance(value, TensorBase) and type(value).__reduce_ex__ in (
            Tensor.__reduce_ex__,
            Parameter.__reduce_ex__,
        ):
            check_history(value)
            array = value._tl_data
            if isinstance(array, np.ndarray) and array.nbytes < owner_of(array).nbytes:
                # A row of a dataset: it alone, without the rest of its memory.
                return reduce_here(value, array.copy("K"))
            return reduce_here(value)
        return NotImplemented


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _rounded(size: int) -> int:
    """Return the size of a block: one of four for each power of two, so that batches of similar sizes share them."""
    step = max(_ALIGNMENT, 1 << max(size.bit_length() - 3, 0))
    return -(-size // step) * step


class Sender:
    """The worker's side: it lays batches in blocks of the arena."""

    def __init__(self, connection: Connection, arena: Arena | None, prefetch_factor: int) -> None:
        self._connection = connection
        self._arena = arena
        self._small = min(_SMALL, _PIPE // (prefetch_factor + 1))
        self._chunks: list[tuple[int, int, memoryview]] = []
        self._used = 0
        self._free: dict[int, list[tuple[int, int]]] = {}
        self._sizes: dict[int, tuple[int, int]] = {}

    def free(self, places: Sequence[int]) -> None:
        """Note that the main process is done with the blocks at these places."""
        for place in places:
            size, chunk = self._sizes[place]
            self._free.setdefault(size, []).append((place, chunk))

    def send(self, task: int, value: object) -> None:
        """Send a value as the result of a task. What cannot be pickled raises here."""
        file = io.BytesIO()
        buffers: list[pickle.PickleBuffer] = []
        _BatchPickler(file, 5, True, buffers.append).dump(value)
        parts = [file.getbuffer(), *(buffer.raw() for buffer in buffers)]
        count = len(parts)
        parts.insert(0, memoryview(struct.pack(f"<{count}q", *(part.nbytes for part in parts))))
        total = sum(_aligned(part.nbytes) for part in parts)
        if self._arena is None or total <= self._small:
            target = memoryview(bytearray(total))
            header = _HEADER.pack(task, -1, 0, 0, count)
            self._fill(target, parts)
            self._connection.send_bytes(b"".join((target, header)))
            return
        place, chunk = self._block(_rounded(total))
        start, size, memory = self._chunks[chunk]
        self._fill(memory[place - start :], parts)
        self._connection.send_bytes(_HEADER.pack(task, place, start, size, count))

    @staticmethod
    def _fill(target: memoryview, parts: Sequence[memoryview]) -> None:
        at = 0
        for part in parts:
            target[at : at + part.nbytes] = part
            at += _aligned(part.nbytes)

    def _block(self, size: int) -> tuple[int, int]:
        """Return the place of a free block, and the number of its chunk."""
        found = self._free.get(size)
        if found:
            return found.pop()
        end = self._chunks[-1][0] + self._chunks[-1][1] if self._chunks else 0
        if self._used + size > end:
            # Sizes double, so that few mappings suffice; pages that are not written to take no memory.
            wanted = max(size, min(max(end, _FIRST_CHUNK), _LARGEST_CHUNK))
            page = mmap.ALLOCATIONGRANULARITY
            wanted = -(-wanted // page) * page
            descriptor = self._arena.descriptor  # type: ignore[union-attr]
            os.ftruncate(descriptor, end + wanted)
            self._chunks.append((end, wanted, memoryview(map_file(descriptor, wanted, end))))
            self._used = end
        place, chunk = self._used, len(self._chunks) - 1
        self._used += size
        self._sizes[place] = size, chunk
        return place, chunk


class _Block(SharedBlock):
    """The memory of one batch, for NumPy; `freed` gets its place when the last array on it is gone."""

    __slots__ = ("__array_interface__", "_chunk", "_freed", "_place")

    def __init__(self, chunk: np.ndarray[Any, Any], at: int, place: int, freed: deque[int]) -> None:
        self._chunk = chunk
        self._place = place
        self._freed = freed
        address, _ = chunk.__array_interface__["data"]
        self.__array_interface__ = {
            "data": (address + at, False), "shape": (chunk.size - at,), "typestr": "|u1", "version": 3
        }  # fmt: skip

    def __del__(self) -> None:
        self._freed.append(self._place)


class Receiver:
    """The main process's side: it rebuilds batches on the blocks that the worker wrote."""

    def __init__(self, connection: Connection, arena: Arena | None) -> None:
        self.connection = connection
        self._arena = arena
        self._chunks: dict[int, np.ndarray[Any, Any]] = {}
        self._freed: deque[int] = deque()

    def freed(self) -> list[int]:
        """Return the places of the blocks that are no longer used, once."""
        found = []
        with contextlib.suppress(IndexError):
            while True:
                found.append(self._freed.popleft())
        return found

    def receive(self) -> tuple[int, Any]:
        """Return the number of a task and its result. Raises EOFError when the worker has ended."""
        message = self.connection.recv_bytes()
        task, place, start, size, count = _HEADER.unpack_from(message, len(message) - _HEADER.size)
        if place < 0:
            memory = memoryview(bytearray(message))
        else:
            chunk = self._chunks.get(start)
            if chunk is None:
                descriptor = self._arena.descriptor  # type: ignore[union-attr]
                chunk = self._chunks[start] = np.frombuffer(map_file(descriptor, size, start), np.uint8)
            memory = np.asarray(_Block(chunk, place - start, place, self._freed)).data
        parts, at = [], _aligned(8 * count)
        for length in struct.unpack_from(f"<{count}q", memory):
            parts.append(memory[at : at + length])
            at += _aligned(length)
        return task, pickle.loads(parts[0], buffers=parts[1:])
