"""Picklers that name this library's functions and classes as PyTorch does: each library reads the other's files.

# Note [Names in files]
A pickle names a class by its module, `tensorlike.nn.modules.linear` here, and Python's own pickler writes only names
under which it can import. While this library is installed as torch it can; otherwise a pickler written in Python writes
PyTorch's names. What PyTorch has no name for keeps its own.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final

from tensorlike._library_name import LIBRARY
from tensorlike._tensor import _rebuild_from_type_v2
from tensorlike._utils import _rebuild_tensor_v2, _rebuild_tensor_v3
from tensorlike.as_torch.naming import home_of
from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.tensor import layouts
from tensorlike.tensor.dtypes import uint8
from tensorlike.tensor.serialization import FOR_FILES
from tensorlike.tensor.storage import TypedStorage, UntypedStorage, typed_storage
from tensorlike.tensor.torch_pickles import storage_reference

__all__ = ["StorageCollector", "pickler_for"]

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

    def reference(self, obj: Any) -> Any:
        """Return the reference to a storage, and None for anything else, which is pickled."""
        if not isinstance(obj, (TypedStorage, UntypedStorage)):
            return None
        kind, storage, count = storage_reference(obj)
        key, _, first = self.storages.setdefault(id(storage), (str(len(self.storages)), storage, kind))
        if kind is not first and (self.first_format or kind is not UntypedStorage):
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types")
        found = "storage", kind, key, self.tag(storage), count
        return (*found, None) if self.first_format else found

    def rebuilt(self, function: Any, arguments: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        """Return how a tensor is made again: see Note [Several dtypes on one storage]."""
        if function is _rebuild_from_type_v2:
            inner, kind, given, state = arguments
            inner, given = self.rebuilt(inner, given)
            return function, (inner, kind, given, state)
        if function is _rebuild_tensor_v2 and not self.first_format:
            typed = arguments[0]
            before = self.storages.get(id(typed.untyped()))
            if before is not None and getattr(before[2], "dtype", None) is not typed.dtype:
                return _rebuild_tensor_v3, (typed.untyped(), *arguments[1:], typed.dtype)
        if function is _rebuild_tensor_v3 and self.first_format:
            return function, (typed_storage(arguments[0], uint8), *arguments[1:])
        return function, arguments


#: The pickler in Python, whose methods its type stubs leave out.
_PythonPickler: Any = pickle._Pickler


class _InstalledPickler(pickle.Pickler):
    """Python's own pickler, for functions and classes that have PyTorch's names already."""

    def __init__(self, file: Any, protocol: int, storages: StorageCollector) -> None:
        super().__init__(file, protocol)
        self.storages = storages

    def persistent_id(self, obj: Any) -> Any:
        """Return the reference to a storage; None for anything else, which is pickled."""
        return self.storages.reference(obj)


class _TorchPickler(_PythonPickler):  # type: ignore[misc]
    """Writes PyTorch's names: see Note [Names in files]."""

    def __init__(self, file: Any, protocol: int, storages: StorageCollector) -> None:
        super().__init__(file, protocol)
        self.storages = storages

    def persistent_id(self, obj: Any) -> Any:
        """Return the reference to a storage; None for anything else, which is pickled."""
        return self.storages.reference(obj)

    def reducer_override(self, obj: Any) -> Any:
        """Return how a tensor or a layout is made again, and NotImplemented for what Python's rules say that of."""
        if isinstance(obj, TensorBase):
            token = FOR_FILES.set(True)
            try:
                found = obj.__reduce_ex__(self.proto)
            finally:
                FOR_FILES.reset(token)
            if isinstance(found, tuple) and len(found) == 2:
                return self.storages.rebuilt(*found)
            return found
        if type(obj) is layouts.layout:
            from tensorlike.serialization import _get_layout

            return _get_layout, (f"torch.{repr(obj).rpartition('.')[2]}",)
        return NotImplemented

    def save_global(self, obj: Any, name: str | None = None) -> None:
        """Write the name of a class, a function or a dtype."""
        own = name or getattr(obj, "__qualname__", None)
        module = getattr(obj, "__module__", None)
        found = None
        if isinstance(module, str) and isinstance(own, str) and type(obj) is not layouts.memory_format:
            found = home_of(module, own) if own[:1] != "_" or module in _CALLED else None
        if found is None or own is None:
            super().save_global(obj, name)
            return
        if self.proto >= 4:
            self.save(found)
            self.save(own)
            self.write(pickle.STACK_GLOBAL)
        else:
            self.write(pickle.GLOBAL + f"{found}\n{own}\n".encode())
        self.memoize(obj)

    dispatch = {**_PythonPickler.dispatch, FunctionType: save_global}


def pickler_for(file: Any, protocol: int, storages: StorageCollector) -> _InstalledPickler | _TorchPickler:
    """Return a pickler that writes to `file` and leaves the storages of an object to `storages`."""
    kind = _InstalledPickler if LIBRARY.name == "torch" else _TorchPickler
    return kind(file, protocol, storages)
