"""The storages of a file: finding their bytes, and resolving the references in its pickles."""

from __future__ import annotations

import abc
import pickle
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from tensorlike.tensor.storage import TypedStorage, UntypedStorage, borrowed, storage_of, typed_storage

from .allowed import StorageType
from .archive import Archive
from .unpickler import Rules, Unpickler, described


def _refused(what: str) -> NoReturn:
    raise pickle.UnpicklingError(f"the file refers to {what}")


class _Storages(abc.ABC):
    """The storages of a file by their keys: one storage for each key."""

    def __init__(self) -> None:
        self.found: dict[str, UntypedStorage] = {}
        self.typed: dict[str, TypedStorage] = {}
        self.parts: dict[str, UntypedStorage] = {}
        #: By the identity of a storage in `found` or `parts`.
        self.locations: dict[int, str] = {}

    def location(self, storage: UntypedStorage) -> str:
        """Return the device of a storage in the file."""
        return self.locations.get(id(storage), "cpu")

    def persistent(self, pid: Any) -> Any:
        """Return the storage of a reference, in the format of our own files or of PyTorch's, which includes a type."""
        if type(pid) is not tuple or len(pid) not in (3, 5, 6) or type(pid[0]) is not str or (pid[0] != "storage"):
            _refused(f"something that is no storage, by a {described(pid)}")
        if len(pid) == 3:
            _, key, nbytes = pid
            if type(key) is not str or type(nbytes) is not int:
                _refused("a storage by a key that is no text, or a size that is no int")
            return self.get(key, None, nbytes)
        _, kind, key, location, count = pid[:5]
        view = pid[5] if len(pid) == 6 else None
        if type(kind) is not StorageType or type(key) is not str or type(location) is not str or type(count) is not int:
            _refused(f"a storage by ({', '.join(described(item) for item in pid)})")
        storage = self.get(key, kind, count * (kind.dtype.itemsize if kind.dtype_name else 1))
        self.locations.setdefault(id(storage), location)
        if view is not None:
            storage = self._part(storage, kind, view)
            self.locations.setdefault(id(storage), location)
            key = f"{view[0]} of {key}"
        if kind.dtype_name is None:
            return storage
        typed = self.typed.get(key)
        if typed is None or typed.dtype is not kind.dtype or typed.untyped() is not storage:
            typed = self.typed[key] = typed_storage(storage, kind.dtype)
        return typed

    def get(self, key: str, kind: StorageType | None, nbytes: int) -> UntypedStorage:
        """Return the storage of a key, of `nbytes` bytes."""
        storage = self.found.get(key)
        if storage is None:
            storage = self.found[key] = storage_of(self.read(key, kind, nbytes))
        if len(storage) != nbytes:
            _refused(f"a storage of {nbytes} bytes, which has {len(storage)}")
        return storage

    def _part(self, storage: UntypedStorage, kind: StorageType, view: tuple[Any, ...]) -> UntypedStorage:
        # Of files that PyTorch wrote before tensors knew where they lie in their storage.
        if type(view) is not tuple or len(view) != 3 or type(view[0]) is not str:
            _refused("a part of a storage by something else than (key, offset, size)")
        key, offset, count = view
        key = f"{key} of {id(storage)}"
        width = kind.dtype.itemsize
        if type(offset) is not int or type(count) is not int or offset < 0 or count < 0:
            _refused("a part of a storage by an offset or size that is no int")
        if (offset + count) * width > len(storage):
            _refused(f"{count} elements from {offset} on of a storage of {len(storage)} bytes")
        found = self.parts.get(key)
        if found is None:
            found = self.parts[key] = storage[offset * width : (offset + count) * width]
        if len(found) != count * width:
            _refused(f"a part of {count} elements, which has {len(found)} bytes")
        return found

    @abc.abstractmethod
    def read(self, key: str, kind: StorageType | None, nbytes: int) -> np.ndarray[Any, Any]:
        """Read the bytes of a key. Called once for each key."""


def _swapped(data: np.ndarray[Any, Any], kind: StorageType | None) -> np.ndarray[Any, Any]:
    """Return the bytes of elements of `kind` in the other order."""
    if kind is None or kind.dtype_name is None:
        _refused(
            "a storage whose elements have no type, and was written on a machine of another byte order; load it there"
        )
    width = kind.dtype.itemsize // (2 if kind.dtype.is_complex else 1)
    if data.size % width:
        _refused(f"{data.size} bytes as elements of {width} bytes")
    return np.ascontiguousarray(data.reshape(-1, width)[:, ::-1]).reshape(-1)


class ArchiveStorages(_Storages):
    """The storages of a ZIP file: records, read on first use, or mapped into memory."""

    def __init__(self, archive: Archive, root: str, order: str, mapping: np.ndarray[Any, Any] | None) -> None:
        super().__init__()
        self.archive, self.root, self.mapping = archive, root, mapping
        self.swap = order != sys.byteorder

    def read(self, key: str, kind: StorageType | None, nbytes: int) -> np.ndarray[Any, Any]:
        name = f"{self.root}/data/{key}"
        record = self.archive.records.get(name)
        if record is None:
            _refused(f"the storage {key[:100]!r}, of which it has no record")
        # Check the size before reading: it is known, and the check is free.
        if record.size != nbytes:
            _refused(f"a storage of {nbytes} bytes, whose record has {record.size}")
        if self.mapping is not None and self.archive.is_stored(name) and nbytes:
            begin = self.archive.place(name)
            # A separate storage: neighbouring bytes of the file do not belong to it.
            data = borrowed(self.mapping[begin : begin + nbytes])
        else:
            data = self.archive.array(name)
        return _swapped(data, kind) if self.swap else data


class LegacyStorages(_Storages):
    """The storages of a stream of PyTorch's first format, whose bytes follow its pickles."""

    def __init__(self, data: bytes, places: dict[str, tuple[int, int]]) -> None:
        super().__init__()
        self.data, self.places = data, places

    def read(self, key: str, kind: StorageType | None, nbytes: int) -> np.ndarray[Any, Any]:
        if key not in self.places:
            _refused(f"the storage {key[:100]!r}, of which it has no bytes")
        begin, size = self.places[key]
        data = np.array(np.frombuffer(self.data, np.uint8, size, begin))
        # Written little-endian on machines of either byte order.
        return data if sys.byteorder == "little" else _swapped(data, kind)


class _Survey:
    """Rules that make no objects and collect the references of a pickle."""

    def __init__(self, find: Callable[[str], Any]) -> None:
        self.known = find
        #: The type of the elements of each key.
        self.kinds: dict[str, StorageType] = {}

    def find(self, name: str) -> Any:
        found = self.known(name)
        if found is None and name.startswith("torch.") and name.endswith("Storage"):
            _refused(f"storages of the type {name[:100]}, which do not exist here")
        return found if type(found) is StorageType else _NOTHING

    def persistent(self, pid: Any) -> Any:
        if type(pid) is tuple and len(pid) == 6 and type(pid[1]) is StorageType and type(pid[2]) is str:
            self.kinds[pid[2]] = pid[1]
        return _NOTHING

    def call(self, function: object, args: object, machine: Unpickler) -> Any:
        return _NOTHING

    def new(self, kind: object, args: object, kwargs: object) -> Any:
        return _NOTHING

    def build(self, owner: object, state: object, machine: Unpickler) -> None:
        pass

    def may_hold(self, owner: object) -> bool:
        return type(owner) is _Nothing

    def is_key(self, value: object) -> bool:
        return type(value) is _Nothing


class _Nothing:
    """Placeholder for the result of a call in a pickle."""

    def append(self, item: object) -> None:
        pass

    add = append

    def __setitem__(self, key: object, value: object) -> None:
        pass


_NOTHING = _Nothing()


def globals_of(data: bytes, allows: Callable[[str], bool]) -> list[str]:
    """Return the names of the globals in a pickle that are not allowed, sorted, each once; nothing is made."""
    names: set[str] = set()

    def find(name: str) -> Any:
        if not allows(name):
            names.add(name)
        return _NOTHING

    Unpickler(data, _Survey(find)).load()
    return sorted(names)


def survey(data: bytes, at: int, known: Callable[[str], Any], encoding: str) -> tuple[dict[str, tuple[int, int]], int]:
    """Return the position of each storage's bytes in a legacy stream, and the end of the stream.

    `at` is the position of the object's pickle, which is interpreted without making objects: the sizes that precede the
    bytes of the storages count elements, and only the references in the pickle tell their type.
    """
    rules = _Survey(known)
    machine = Unpickler(data, rules, at, encoding)
    machine.load()
    keys = machine.load()
    if type(keys) is not list or not all(type(key) is str for key in keys):
        _refused("its storages by something else than a list of keys")
    places: dict[str, tuple[int, int]] = {}
    at = machine.at
    for key in keys:
        kind = rules.kinds.get(key)
        if kind is None or key in places:
            _refused(f"the storage {key[:100]!r} {'only after its pickle' if kind is None else 'twice'}")
        count = int.from_bytes(data[at : at + 8], "little", signed=True)
        size = count * (kind.dtype.itemsize if kind.dtype_name else 1)
        at += 8
        if count < 0 or size > len(data) - at:
            _refused(f"a storage of {count} elements, and {max(0, len(data) - at)} bytes are left")
        places[key] = at, size
        at += size
    return places, at


def plain_rules() -> Rules:
    """Return rules that allow only plain data, for the pickles at the beginning of a legacy stream."""
    return _Survey(lambda name: None)
