"""Picklers that name this library's functions and classes as PyTorch does: each library reads the other's files.

# Note [Names in files]
A pickle names a class by its module, `tensorlike.nn.modules.linear` here, and Python's own pickler writes only names
under which it can import. While this library is installed as torch it can. Otherwise it writes the names here, and they
are replaced in the pickle. Every name is written once, since pickles refer to it from then on: so what is found once is
the name itself. Where it is found again, in a text or in a pickle within the pickle, and in the protocols from 4 on,
which say how long their parts are, a pickler written in Python writes PyTorch's names. It takes twice the time. What
PyTorch has no name for keeps its own.
"""

from __future__ import annotations

import copyreg
import io
import pickle
from collections.abc import Callable
from typing import IO, Any, Final

from tensorlike import _tensor, _utils
from tensorlike._library_name import LIBRARY
from tensorlike._native import function_types
from tensorlike._originals import tl
from tensorlike.as_torch.naming import home_of
from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.tensor import layouts
from tensorlike.tensor.creation import legacy_types
from tensorlike.tensor.dtypes import uint8
from tensorlike.tensor.serialization import FOR_FILES
from tensorlike.tensor.storage import TypedStorage, UntypedStorage, typed_storage

#: The modules whose functions pickles call by names that start with an underscore.
_CALLED: Final = frozenset(("tensorlike._tensor", "tensorlike._utils", "tensorlike.serialization"))


class StorageCollector:
    """Collects the storages that an object holds while it is pickled, with their types, by keys in the order met.

    `tag` returns the place of a storage, such as "cpu". In the first format a reference says too of which part of
    another storage it is: of none.

    # Note [Several dtypes on one storage]
    PyTorch takes the type of a storage from the first reference to it. So tensors of other dtypes on that storage are
    written with their dtype beside it, which the first format cannot do. Nor can PyTorch read storages without a type
    in that format: there, dtypes that have no type of storage are written with that of bytes.
    """

    def __init__(self, tag: Callable[[Any], str], first_format: bool) -> None:
        self.tag, self.first_format = tag, first_format
        self.storages: dict[int, tuple[str, UntypedStorage, Any]] = {}

    def reference(self, obj: object) -> Any:
        """Return the reference to a storage, and None for anything else, which is pickled."""
        if not isinstance(obj, (TypedStorage, UntypedStorage)):
            return None
        kind, storage, count = storage_reference(obj)
        key, _, first = self.storages.setdefault(id(storage), (str(len(self.storages)), storage, kind))
        if kind is not first and (self.first_format or kind is not UntypedStorage):
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types")
        found = "storage", kind, key, self.tag(storage), count
        return (*found, None) if self.first_format else found

    def rebuilt(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        """Return how a tensor is made again: see Note [Several dtypes on one storage]."""
        if function is _tensor._rebuild_from_type_v2:
            inner, kind, given, state = arguments
            inner, given = self.rebuilt(inner, given)
            return function, (inner, kind, given, state)
        if function is _utils._rebuild_tensor_v2 and not self.first_format:
            typed = arguments[0]
            before = self.storages.get(id(typed.untyped()))
            if before is not None and getattr(before[2], "dtype", None) is not typed.dtype:
                return _utils._rebuild_tensor_v3, (typed.untyped(), *arguments[1:], typed.dtype)
        if function is _utils._rebuild_tensor_v3 and self.first_format:
            return function, (typed_storage(arguments[0], uint8), *arguments[1:])
        return function, arguments


#: The pickler in Python, whose methods its type stubs leave out.
_PythonPickler: Any = pickle._Pickler


class _InstalledPickler(pickle.Pickler):
    """Python's own pickler, for functions and classes that have PyTorch's names already."""

    def __init__(self, file: IO[bytes], protocol: int, storages: StorageCollector) -> None:
        super().__init__(file, protocol)
        self.storages = storages

    def persistent_id(self, obj: object) -> Any:
        """Return the reference to a storage; None for anything else, which is pickled."""
        return self.storages.reference(obj)


def _name_in_pytorch(obj: object, name: str | None = None) -> tuple[str, str, str] | None:
    """Return the module of a class, function or dtype, its name and PyTorch's module; None where it keeps its own."""
    own = name or getattr(obj, "__qualname__", None)
    module = getattr(obj, "__module__", None)
    if not isinstance(module, str) or not isinstance(own, str) or type(obj) is layouts.memory_format:
        return None
    found = home_of(module, own) if own[:1] != "_" or module in _CALLED else None
    return None if found is None else (module, own, found)


class _Naming:
    """The base of both picklers below: tensors and storages are written by persistent id."""

    storages: StorageCollector

    def persistent_id(self, obj: object) -> Any:
        """Return the reference to a storage; None for anything else, which is pickled."""
        return self.storages.reference(obj)

    def reduced(self, obj: object, protocol: int) -> Any:
        """Return how a tensor or a layout is made again, and NotImplemented for what Python's rules say that of."""
        if isinstance(obj, TensorBase):
            token = FOR_FILES.set(True)
            try:
                found = obj.__reduce_ex__(protocol)
            finally:
                FOR_FILES.reset(token)
            if isinstance(found, tuple) and len(found) == 2:
                return self.storages.rebuilt(*found)
            return found
        if type(obj) is layouts.layout:
            return _get_layout, (f"torch.{repr(obj).rpartition('.')[2]}",)
        return NotImplemented


class _RenamingPickler(_Naming, pickle.Pickler):
    """Python's own pickler, whose names are replaced afterwards: see Note [Names in files]."""

    def __init__(self, file: IO[bytes], protocol: int, storages: StorageCollector) -> None:
        super().__init__(file, protocol)
        self.storages, self.protocol = storages, protocol
        self.names: dict[bytes, bytes] = {}

    def reducer_override(self, obj: object) -> Any:
        """Return how an object is made again, and note what has a name of PyTorch's."""
        found = self.reduced(obj, self.protocol)
        if found is not NotImplemented:
            return found
        kind = type(obj)
        name = None
        if not (kind in function_types or issubclass(kind, type)):
            # Such as a dtype, which is pickled by its name.
            if kind.__module__.partition(".")[0] != "tensorlike" or kind in copyreg.dispatch_table:
                return NotImplemented
            found = obj.__reduce_ex__(self.protocol)
            if not isinstance(found, str):
                return found
            name = found
        named = _name_in_pytorch(obj, name)
        if named is not None:
            module, own, there = named
            self.names[f"c{module}\n{own}\n".encode()] = f"c{there}\n{own}\n".encode()
        return found

    def renamed(self, text: bytes) -> bytes | None:
        """Return a pickle with PyTorch's names; None where the place of one is in doubt."""
        places = []
        for name in self.names:
            place = text.find(name)
            # A class within a class is not written by its name.
            if place >= 0:
                if text.find(name, place + 1) >= 0:
                    return None
                places.append((place, name))
        parts: list[bytes] = []
        end = 0
        for place, name in sorted(places):
            parts += (text[end:place], self.names[name])
            end = place + len(name)
        return b"".join((*parts, text[end:]))


class _TorchPickler(_Naming, _PythonPickler):  # type: ignore[misc]
    """Writes PyTorch's names: see Note [Names in files]."""

    def __init__(self, file: IO[bytes], protocol: int, storages: StorageCollector) -> None:
        super().__init__(file, protocol)
        self.storages = storages

    def reducer_override(self, obj: object) -> Any:
        """Return how an object is made again."""
        return self.reduced(obj, self.proto)

    def save_global(self, obj: object, name: str | None = None) -> None:
        """Write the name of a class, a function or a dtype."""
        named = _name_in_pytorch(obj, name)
        if named is None:
            super().save_global(obj, name)
            return
        _, own, found = named
        if self.proto >= 4:
            self.save(found)
            self.save(own)
            self.write(pickle.STACK_GLOBAL)
        else:
            self.write(pickle.GLOBAL + f"{found}\n{own}\n".encode())
        self.memoize(obj)

    dispatch = {**_PythonPickler.dispatch, **dict.fromkeys(function_types, save_global)}


def dump(obj: object, file: IO[bytes], protocol: int, storages: StorageCollector) -> None:
    """Write the pickle of an object to a file, and leave its storages to `storages`."""
    if LIBRARY.name == "torch":
        _InstalledPickler(file, protocol, storages).dump(obj)
        return
    if 0 < protocol < 4:
        written = io.BytesIO()
        pickler = _RenamingPickler(written, protocol, storages)
        pickler.dump(obj)
        text = pickler.renamed(written.getvalue())
        if text is not None:
            file.write(text)
            return
    _TorchPickler(file, protocol, storages).dump(obj)


def _get_layout(name: str) -> Any:
    """Return the layout that PyTorch's pickles name, such as "torch.strided"."""
    return getattr(tl, name.removeprefix("torch."))


_get_layout.__module__ = "tensorlike.serialization"  # Where PyTorch has it, and where files name it.


def storage_reference(storage: TypedStorage | UntypedStorage) -> tuple[Any, UntypedStorage, int]:
    """Return what a file says of a storage: its type, its bytes, and its number of elements."""
    if isinstance(storage, TypedStorage):
        types = legacy_types.STORAGES
        name = next(name for name, kind in types.items() if "." not in name and kind.dtype is storage.dtype)
        return types[name], storage.untyped(), len(storage)
    return UntypedStorage, storage, len(storage)
