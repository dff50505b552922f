"""Read objects, and the tensors in them, from files that need not be trusted."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import stat
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple, NoReturn

import numpy as np

from tensorlike.tensor.backends import cuda_device_count
from tensorlike.tensor.device import device as Device

from .allowed import Allowed, Bound
from .archive import Archive, read_exactly
from .saving import check_pickle_module
from .storages import ArchiveStorages, LegacyStorages, plain_rules, survey
from .unpickler import Unpickler

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals"]

_safe: list[Any] = []


def add_safe_globals(safe_globals: Sequence[Any]) -> None:
    """Allow `load` to make instances of these classes, and to call these functions, when a file names them.

    Takes classes and functions, or pairs of one and the dotted name by which files know it.

    >>> class Marked(tl.Tensor):
    ...     pass
    >>> tl.serialization.add_safe_globals([Marked])
    >>> tl.serialization.get_safe_globals() == [Marked]
    True
    >>> tl.serialization.clear_safe_globals()
    """
    _safe.extend(map(_checked, safe_globals))


def _checked(item: Any) -> Any:
    if isinstance(item, tuple):
        if len(item) != 2:
            raise ValueError(f"Expected tuple of length 2 (global, str of callable full path), got length {len(item)}")
        if type(item[1]) is not str:
            raise TypeError(f"Expected second item in tuple to be str of callable full path, got: {type(item[1])}")
    elif not (hasattr(item, "__module__") and hasattr(item, "__qualname__")):
        raise TypeError(f"add_safe_globals(): expected classes and functions, got {item!r}; pass (it, its name)")
    return item


def get_safe_globals() -> list[Any]:
    """Return the globals passed to `add_safe_globals`."""
    return list(_safe)


def clear_safe_globals() -> None:
    """Remove the globals passed to `add_safe_globals`."""
    _safe.clear()


@contextlib.contextmanager
def safe_globals(safe_globals: Sequence[Any]) -> Iterator[None]:
    """Allow these globals, as `add_safe_globals` does, inside a `with` block."""
    before = list(_safe)
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        _safe[:] = before


def _placing(map_location: Any) -> Callable[[Any, str], str]:
    """Convert `map_location` to a function (storage, location) -> device."""

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


class _AnyUnpickler(pickle.Unpickler):
    """The unpickler of a trusted file."""

    def __init__(self, data: bytes, allowed: Allowed, at: int = 0) -> None:
        file = io.BytesIO(data)
        file.seek(at)
        super().__init__(file)
        self.allowed = allowed

    def find_class(self, module: str, name: str) -> Any:
        found = self.allowed.known(f"{module}.{name}")
        if found is None or (isinstance(found, type) and not module.startswith("torch")):
            return super().find_class(module, name)
        return Bound(found, self.allowed) if type(found).__name__ == "_Function" else found

    def persistent_load(self, pid: Any) -> Any:
        # PyTorch's first format stores the source of a module's class with it, to warn of changes.
        if isinstance(pid, tuple) and len(pid) == 4 and pid[0] == "module":
            return pid[1]
        return self.allowed.persistent(pid)


class _Source(NamedTuple):
    """The file to load: a seekable binary file, the start and end of the data in it, and its name for messages.

    `path` is that of a file that can be mapped, or None.
    """

    file: Any
    start: int
    stop: int
    name: str
    path: Any


@contextlib.contextmanager
def _opened(f: Any) -> Iterator[_Source]:
    """Open a path, or read a file object from its position on."""
    if isinstance(f, (str, os.PathLike)):
        path = os.fspath(f)
        with open(path, "rb") as file:
            found = os.fstat(file.fileno())
            if stat.S_ISREG(found.st_mode):
                yield _Source(file, 0, found.st_size, str(path), path)
            else:
                data = file.read()
                yield _Source(io.BytesIO(data), 0, len(data), str(path), None)
        return
    name = getattr(f, "name", None)
    shown = name if isinstance(name, str) else f"<{type(f).__name__}>"
    if isinstance(f, (io.BytesIO, io.BufferedReader, io.BufferedRandom, io.FileIO)) and f.seekable():
        start = f.tell()
        stop = f.seek(0, os.SEEK_END)
        f.seek(start)
        yield _Source(f, start, stop, shown, None)
        return
    if isinstance(f, io.TextIOBase):
        raise TypeError(f"load(): {shown} is a file of text: open it as binary, with the mode 'rb'")
    # Pipes cannot seek, and compressed files seek by reading everything again: read such a stream once, to its end.
    try:
        data = f.read()
    except OSError as error:
        if error.errno is not None:
            raise
        raise RuntimeError(f"load(): {shown}: cannot be read: {error}") from None
    except ValueError:
        raise  # A closed file.
    except Exception as error:
        raise RuntimeError(f"load(): {shown}: cannot be read: {type(error).__name__}: {error}") from None
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"load(): {shown}: read() returned {type(data).__name__} instead of bytes; open it as binary")
    yield _Source(io.BytesIO(data), 0, len(data), shown, None)


#: The first bytes of other file formats, and how to read these.
_OTHERS: Final = (
    (b"\x93NUMPY", "an array of NumPy's: read it with tensorlike.from_numpy(numpy.load(file))"),
    (b"\x89HDF\r\n", "a file of HDF5: read it with h5py"),
    (b"\x1f\x8b", "compressed with gzip: load(gzip.open(file))"),
    (b"BZh", "compressed with bzip2: load(bz2.open(file))"),
    (b"\xfd7zXZ", "compressed with xz: load(lzma.open(file))"),
)

_NO_FILE: Final = "this is no file of tensorlike.save or of PyTorch's"

#: The beginning of a stream of PyTorch's first format: pickles of this number, and of the version.
_MAGIC_NUMBER: Final = 0x1950A86A20F9469CFC6C
_PROTOCOL_VERSION: Final = 1001


def _load_archive(source: _Source, users: Sequence[Any], place: Any, trusting: bool, mapped: bool) -> Any:
    archive = Archive(source.file, source.start, source.stop)
    names = archive.records
    root = next((name.removesuffix("/data.pkl") for name in names if name.endswith("/data.pkl")), None)
    if root is None:
        if any(name.endswith(".npy") for name in names):
            raise RuntimeError("arrays of NumPy's (.npz): read them with numpy.load(file)")
        raise RuntimeError(f"{_NO_FILE}: the archive holds no data.pkl, but {[name[:80] for name in names][:4]}")
    if f"{root}/constants.pkl" in names:
        raise RuntimeError("a TorchScript archive, which holds code: load it with torch.jit.load")
    order = "little"
    if f"{root}/byteorder" in names:
        order = archive.array(f"{root}/byteorder").tobytes()[:80].decode("latin1")
        if order not in ("little", "big"):
            raise RuntimeError(f"Unknown endianness type: {order!r}")
    mapping = _mapping(source) if mapped and source.path is not None else None
    storages = ArchiveStorages(archive, root, order, mapping)
    allowed = Allowed(users, place, storages.persistent, storages.location, trusting)
    data = archive.array(f"{root}/data.pkl").tobytes()
    return _unpickled(data, allowed, 0)


def _mapping(source: _Source) -> np.ndarray[Any, Any]:
    """Map a file into memory, copy-on-write: writing to the bytes does not change the file."""
    import mmap

    return np.frombuffer(mmap.mmap(source.file.fileno(), 0, access=mmap.ACCESS_COPY), np.uint8)


def _load_legacy(source: _Source, users: Sequence[Any], place: Any, trusting: bool) -> Any:
    data = read_exactly(source.file, source.start, source.stop - source.start).tobytes()
    machine = Unpickler(data, plain_rules())
    magic = version = None
    with contextlib.suppress(pickle.UnpicklingError):
        magic = machine.load()
        version = machine.load()
    if type(magic) is not int or magic != _MAGIC_NUMBER:
        raise RuntimeError(f"{_NO_FILE}: Invalid magic number; corrupt file?")
    if type(version) is not int or version != _PROTOCOL_VERSION:
        raise RuntimeError(f"{_NO_FILE}: Invalid protocol version: {str(version)[:20]}")
    # The sizes of integers on the machine that wrote the file, which are not needed.
    machine.load()
    at = machine.at
    tables = Allowed((), place, _no_storage, lambda storage: "cpu")
    places, end = survey(data, at, tables.known)
    storages = LegacyStorages(data, places)
    allowed = Allowed(users, place, storages.persistent, storages.location, trusting)
    found = _unpickled(data, allowed, at)
    # The next object of the stream can be loaded from here.
    source.file.seek(source.start + end)
    return found


def _no_storage(pid: Any) -> NoReturn:
    raise pickle.UnpicklingError("a reference where none can be")


def _unpickled(data: bytes, allowed: Allowed, at: int) -> Any:
    if not allowed.trusting:
        return Unpickler(data, allowed, at).load()
    try:
        return _AnyUnpickler(data, allowed, at).load()
    except (pickle.UnpicklingError, RuntimeError):
        raise
    except Exception as error:
        raise pickle.UnpicklingError(f"{type(error).__name__}: {error}") from error


def _check_other(beginning: bytes, size: int) -> None:
    """Raise RuntimeError for a file of another format, naming it."""
    for mark, what in _OTHERS:
        if beginning.startswith(mark):
            raise RuntimeError(f"{_NO_FILE}, but {what}")
    if beginning[257:262] == b"ustar":
        raise RuntimeError(
            "this is a file of PyTorch's tar format, which its versions before 0.1.10 wrote: load it with PyTorch, "
            "weights_only=False, and save it again"
        )
    if beginning[8:9] == b"{" and int.from_bytes(beginning[:8], "little") <= size - 8:
        raise RuntimeError(
            "this is a file of the safetensors format: read it with safetensors.numpy.load_file(file), which returns "
            "arrays, and make tensors of them with tensorlike.from_numpy"
        )


def load(
    f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool = True, mmap: bool | None = None
) -> Any:
    """Load the object that `save`, or PyTorch's `torch.save`, wrote to a file: a path, or an object with `read`.

    `map_location` chooses the devices of tensors: a device, a dict from devices to devices, or a function of (storage,
    device) that returns a storage. With `weights_only`, a file may hold only tensors, Python's containers and the
    globals allowed by `add_safe_globals`; without it, a file can run any code. With `mmap`, the file of a path is
    mapped into memory: elements are read when they are first used, and writing to them does not change the file.

    A file object is read from its position on. One that cannot seek, such as a pipe, is read to its end.

    Raises UnpicklingError or RuntimeError, naming the file and what is wrong, for a file that is broken, names globals
    that are not allowed, or has another format; `open`'s errors for a path that cannot be read; ValueError for `mmap`
    with a file object.

    >>> import io
    >>> file = io.BytesIO()
    >>> tl.save([tl.ones(2), "text"], file)
    >>> _ = file.seek(0)
    >>> tl.load(file)
    [tensor([1., 1.]), 'text']

    Same as PyTorch's function of that name, for files of its ZIP format and of the format before that.
    """
    check_pickle_module(pickle_module, "load")
    is_path = isinstance(f, (str, os.PathLike))
    if not is_path and not hasattr(f, "read"):
        raise AttributeError(
            "load(): expected 'f' to be string, path, or a file-like object with a 'read' attribute, got "
            f"{type(f).__name__}"
        )
    if mmap and not is_path:
        raise ValueError("load(): f must be a file path in order to use the mmap argument")
    place, users, trusting = _placing(map_location), get_safe_globals(), not weights_only
    with _opened(f) as source:
        try:
            size = source.stop - source.start
            beginning = read_exactly(source.file, source.start, max(0, min(size, 512))).tobytes()
            if not beginning:
                raise RuntimeError(f"{_NO_FILE}: there is nothing to read from position {source.start} on")
            if beginning[:4] in (b"PK\3\4", b"PK\5\6"):
                return _load_archive(source, users, place, trusting, bool(mmap))
            _check_other(beginning, size)
            if mmap:
                raise RuntimeError(f"{_NO_FILE} that mmap can be used with: they are ZIP archives")
            return _load_legacy(source, users, place, trusting)
        # ImportError: bfloat16 comes from another package.
        except (pickle.UnpicklingError, RuntimeError, ImportError) as error:
            # A new error that names the file: the cause may name only a device, or the user's class.
            what = str(error)[:4000]
            if not isinstance(error, pickle.UnpicklingError):
                raise RuntimeError(f"load(): {source.name}: {what}") from error.__cause__
            if weights_only:
                what = f"Weights only load failed: {what}"
            raise pickle.UnpicklingError(f"load(): {source.name}: {what}") from error.__cause__
