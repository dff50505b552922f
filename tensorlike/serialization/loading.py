"""Read objects, and the tensors in them, from files that need not be trusted."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import sys
import zipfile
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Final

import numpy as np

from tensorlike.tensor import Parameter, Tensor, dtypes, layouts
from tensorlike.tensor.backends import cuda_device_count
from tensorlike.tensor.device import device as Device
from tensorlike.tensor.serialization import rebuild_tensor
from tensorlike.tensor.size import Size
from tensorlike.tensor.storage import UntypedStorage, rebuild_storage

from .saving import check_pickle_module

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals"]

_safe: list[Any] = []


def add_safe_globals(safe_globals: Sequence[Any]) -> None:
    """Let `load` make instances of these classes, and call these functions, when a file names them.

    Takes classes and functions, or pairs of one and the dotted name by which files know it.

    >>> import tensorlike as tl
    >>> class Marked(tl.Tensor):
    ...     pass
    >>> tl.serialization.add_safe_globals([Marked])
    >>> tl.serialization.get_safe_globals() == [Marked]
    True
    >>> tl.serialization.clear_safe_globals()

    Same as PyTorch's function of that name.
    """
    _safe.extend(safe_globals)


def get_safe_globals() -> list[Any]:
    """Return what `add_safe_globals` was given.

    Same as PyTorch's function of that name.
    """
    return list(_safe)


def clear_safe_globals() -> None:
    """Forget what `add_safe_globals` was given.

    Same as PyTorch's function of that name.
    """
    _safe.clear()


@contextlib.contextmanager
def safe_globals(safe_globals: Sequence[Any]) -> Iterator[None]:
    """Do inside a `with` what `add_safe_globals` does for good.

    Same as PyTorch's class of that name.
    """
    before = list(_safe)
    _safe.extend(safe_globals)
    try:
        yield
    finally:
        _safe[:] = before


def _encode(text: str, encoding: str) -> bytes:
    """Return the bytes that protocol 2 writes as a text; other encodings would load code to find them."""
    if encoding.replace("-", "").replace("_", "").lower() not in ("latin1", "iso88591"):
        raise pickle.UnpicklingError(f"load(): a file asks for the encoding {encoding!r}, and only latin1 is allowed")
    return text.encode("latin1")


class _Typed:
    """A storage as PyTorch's files have it: with the dtype of its elements."""

    def __init__(self, storage: UntypedStorage, dtype: Any, location: str) -> None:
        self.storage, self.dtype, self.location = storage, dtype, location


_STORAGE_DTYPES: Final = {
    "FloatStorage": "float32", "DoubleStorage": "float64", "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
    "LongStorage": "int64", "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8",
    "ByteStorage": "uint8", "BoolStorage": "bool", "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
}  # fmt: skip

#: The names of dtypes, in files of both libraries.
_DTYPES: Final = (*_STORAGE_DTYPES.values(), "uint16", "uint32", "uint64")


class _Allowed:
    """What a file may name: by default, with what the user added."""

    #: Looked up when a file names them: bound methods kept in `found` would make a cycle.
    METHODS: ClassVar[dict[str, str]] = {
        "tensorlike.tensor.serialization.rebuild_tensor": "rebuild",
        "torch._utils._rebuild_tensor_v2": "rebuild_v2",
        "torch._utils._rebuild_tensor_v3": "rebuild_v3",
    }

    def __init__(self, place: Callable[[Any, str], str]) -> None:
        self.place = place
        self.found: dict[str, Any] = {
            "builtins.set": set, "builtins.frozenset": frozenset, "builtins.complex": complex,
            "builtins.bytearray": bytearray, "builtins.slice": slice, "builtins.range": range,
            "collections.OrderedDict": OrderedDict, "collections.Counter": Counter, "_codecs.encode": _encode,
            "tensorlike.tensor.tensor.Tensor": Tensor, "tensorlike.tensor.parameter.Parameter": Parameter,
            "tensorlike.tensor.size.Size": Size, "tensorlike.tensor.device.device": Device,
            "tensorlike.tensor.storage.rebuild_storage": rebuild_storage,
            "torch.Size": Size, "torch.device": Device, "torch.Tensor": Tensor, "torch._tensor.Tensor": Tensor,
            "torch.nn.parameter.Parameter": Parameter,
            "torch._utils._rebuild_parameter": _parameter,
            "torch._utils._rebuild_parameter_with_state": _parameter,
            "torch._tensor._rebuild_from_type_v2": _retyped,
            "torch.storage.UntypedStorage": "uint8",
        }  # fmt: skip
        self.found |= {f"torch.{name}": dtype for name, dtype in _STORAGE_DTYPES.items()}
        #: The classes that the user allowed.
        self.users = {item[0] if isinstance(item, tuple) else item for item in _safe}
        for item in _safe:
            value, name = item if isinstance(item, tuple) else (item, f"{item.__module__}.{item.__qualname__}")
            self.found[name] = value

    def find(self, name: str) -> Any:
        """Return what the dotted `name` stands for; raise UnpicklingError when a file must not ask for it."""
        # Protocol 2 has the names of Python 2.
        name = name.replace("__builtin__.", "builtins.")
        if name in self.found:
            return self.found[name]
        if name in self.METHODS:
            return getattr(self, self.METHODS[name])
        space, _, last = name.rpartition(".")
        if space in ("tensorlike.tensor.dtypes", "torch") and last in _DTYPES:
            return getattr(dtypes, last)
        if space == "tensorlike.tensor.layouts" and isinstance(
            getattr(layouts, last, None), (layouts.memory_format, layouts.layout)
        ):
            return getattr(layouts, last)
        raise pickle.UnpicklingError(
            f"Weights only load failed: the file names {name}, which is not an allowed global by default. If you trust "
            "the file, load it with weights_only=False, which can run any code that it holds; or allow this one with "
            "tensorlike.serialization.add_safe_globals([...])"
        )

    def rebuild(self, kind: Any, storage: Any, *place: Any) -> Any:
        """Return a tensor of our own files, on the device that it is to be on."""
        *geometry, device, requires_grad, attributes = place
        dtype, offset, shape, strides = geometry
        where = self.place(storage, device)
        return rebuild_tensor(kind, storage, dtype, offset, shape, strides, where, requires_grad, attributes)

    def rebuild_v2(
        self, storage: _Typed, offset: int, size: Any, stride: Any, requires_grad: bool, hooks: Any,
        metadata: Any = None,
    ) -> Any:  # fmt: skip
        """Return a tensor of PyTorch's files."""
        return self.rebuild_v3(storage, offset, size, stride, requires_grad, hooks, storage.dtype, metadata)

    def rebuild_v3(
        self, storage: _Typed, offset: int, size: Any, stride: Any, requires_grad: bool, hooks: Any, dtype: Any,
        metadata: Any = None,
    ) -> Any:  # fmt: skip
        """Return a tensor of PyTorch's files whose dtype is not that of its storage."""
        if metadata:
            raise pickle.UnpicklingError(f"load(): tensors with metadata {metadata!r} cannot be represented")
        width = dtype.itemsize
        where = self.place(storage.storage, storage.location)
        strides = tuple(int(n) * width for n in stride)
        return rebuild_tensor(
            Tensor, storage.storage, dtype, int(offset) * width, tuple(size), strides, where, bool(requires_grad), {}
        )


def _parameter(data: Any, requires_grad: bool, hooks: Any, state: Any = None) -> Any:
    result = Parameter(data, requires_grad)
    if state:
        result.__setstate__(dict(state))
    return result


def _retyped(function: Any, kind: type, args: tuple[Any, ...], state: Any) -> Any:
    result = function(*args)
    if kind is not type(result):
        result = result.as_subclass(kind)
    if isinstance(state, dict) and state:
        result.__setstate__(state)
    return result


class _Reader:
    """The files in an archive that the references of its pickle mean."""

    def __init__(self, archive: zipfile.ZipFile, root: str) -> None:
        self.archive, self.root = archive, root
        self.storages: dict[str, UntypedStorage] = {}

    def storage(self, pid: Any) -> Any:
        """Return the storage that a reference of the pickle means."""
        if not isinstance(pid, tuple) or pid[:1] != ("storage",) or len(pid) not in (3, 5):
            raise pickle.UnpicklingError(f"load(): the file refers to {pid!r}, which is no storage")
        key = pid[1] if len(pid) == 3 else pid[2]
        storage = self.storages.get(key)
        if storage is None:
            data = bytearray(self.archive.read(f"{self.root}/data/{key}"))
            storage = self.storages[key] = rebuild_storage(np.frombuffer(data, np.uint8))
        if len(pid) == 3:
            return storage
        name = pid[1] if isinstance(pid[1], str) else "uint8"
        return _Typed(storage, getattr(dtypes, name), str(pid[3]))


class _AnyUnpickler(pickle.Unpickler):
    """Unpickles what a trusted file names."""

    def __init__(self, data: bytes, reader: _Reader, allowed: _Allowed) -> None:
        super().__init__(io.BytesIO(data))
        self.reader, self.allowed = reader, allowed

    def find_class(self, module: str, name: str) -> Any:
        try:
            return self.allowed.find(f"{module}.{name}")
        except pickle.UnpicklingError:
            return super().find_class(module, name)

    def persistent_load(self, pid: Any) -> Any:
        return self.reader.storage(pid)


# Python's own implementation, because that of C has no place to check whose attributes a file sets.
_PythonUnpickler: Any = pickle._Unpickler


class _SafeUnpickler(_PythonUnpickler):  # type: ignore[misc]
    """Unpickles what is allowed, and sets no attributes but those of tensors, and of what the user allowed."""

    def __init__(self, data: bytes, reader: _Reader, allowed: _Allowed) -> None:
        super().__init__(io.BytesIO(data))
        self.reader, self.allowed = reader, allowed

    def find_class(self, module: str, name: str) -> Any:
        return self.allowed.find(f"{module}.{name}")

    def persistent_load(self, pid: Any) -> Any:
        return self.reader.storage(pid)

    def load_build(self) -> None:
        owner = self.stack[-2]
        if not isinstance(owner, (Tensor, OrderedDict)) and type(owner) not in self.allowed.users:
            raise pickle.UnpicklingError(
                f"Weights only load failed: the file sets attributes of a {type(owner).__name__}, which is not allowed"
            )
        super().load_build()

    dispatch: ClassVar[dict[int, Any]] = {**_PythonUnpickler.dispatch, pickle.BUILD[0]: load_build}


def _placing(map_location: Any) -> Callable[[Any, str], str]:
    """Return the function (storage, location) -> device that `map_location` stands for."""

    def place(storage: Any, location: str) -> str:
        if map_location is None:
            where = location
        elif isinstance(map_location, dict):
            where = str(map_location.get(location, location))
        elif callable(map_location) and not isinstance(map_location, Device):
            found = map_location(storage, location)
            where = location if found is None else str(found.device)
        else:
            where = str(map_location)
        if where.startswith("cuda") and not cuda_device_count():
            raise RuntimeError(
                "Attempting to deserialize object on a CUDA device but tensorlike.cuda.is_available() is False. If you "
                "are running on a CPU-only machine, please use load with map_location='cpu'"
            )
        return where

    return place


def load(
    f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool = True, mmap: bool | None = None
) -> Any:
    """Return the object that `save` wrote, or PyTorch's `torch.save`, to a file: a path, or an object with `read`.

    `map_location` says where tensors are to be: a device, a dict from devices to devices, or a function of (storage,
    device) that returns a storage. With `weights_only`, what the file names beside tensors, Python's containers and
    what `add_safe_globals` allows is refused with UnpicklingError; without it, a file can run any code.

    >>> import io
    >>> import tensorlike as tl
    >>> file = io.BytesIO()
    >>> tl.save([tl.ones(2), "text"], file)
    >>> _ = file.seek(0)
    >>> tl.load(file)
    [tensor([1., 1.]), 'text']

    Same as PyTorch's function of that name, for files of its ZIP format; `mmap` must not be True.
    """
    check_pickle_module(pickle_module, "load")
    if mmap:
        raise RuntimeError("load(): mmap=True is not supported; the file is read into memory")
    if not isinstance(f, (str, os.PathLike)) and not (hasattr(f, "read") and hasattr(f, "seek")):
        raise AttributeError(
            "load(): expected 'f' to be string, path, or a file-like object with 'read' and 'seek' attributes, got "
            f"{type(f).__name__}"
        )
    try:
        archive = zipfile.ZipFile(f)
    except zipfile.BadZipFile as error:
        raise RuntimeError(f"load(): no file of tensorlike.save or of PyTorch's ZIP format: {error}") from None
    with archive:
        names = archive.namelist()
        root = next((name.removesuffix("/data.pkl") for name in names if name.endswith("/data.pkl")), None)
        if root is None:
            raise RuntimeError(f"load(): no file of tensorlike.save: the archive holds no data.pkl, but {names[:4]}")
        order = f"{root}/byteorder"
        if order in names and archive.read(order).decode() != sys.byteorder:
            raise RuntimeError("load(): the file was written on a machine of another byte order")
        unpickler = _SafeUnpickler if weights_only else _AnyUnpickler
        data = archive.read(f"{root}/data.pkl")
        return unpickler(data, _Reader(archive, root), _Allowed(_placing(map_location))).load()
