"""Read objects, and the tensors in them, from files that need not be trusted."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any, Final, NamedTuple, NoReturn

import numpy as np

from tensorlike._library_name import LIBRARY
from tensorlike.dispatch.tracebacks import explained, named_errors
from tensorlike.tensor.device import device as Device

from .allowed import Allowed, Bound
from .archive import Archive, read_exactly
from .options import OPTIONS, LoadEndianness
from .places import default_restore_location, has_packages, validate_cuda_device
from .saving import MAGIC_NUMBER, PROTOCOL_VERSION, check_pickle_module
from .storages import ArchiveStorages, LegacyStorages, globals_of, plain_rules, survey
from .trusted import own_global, warn_of_change
from .unpickler import Unpickler

_safe: list[Any] = []


@named_errors
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


def _placing(
    map_location: Callable[..., Any] | dict[str, str] | Device | str | int | None,
) -> Callable[[Any, str], str]:
    """Convert `map_location` to a function (storage, location) -> device."""

    def place(storage: Any, location: str) -> str:
        if map_location is None:
            where = str(default_restore_location(storage, location).device) if has_packages() else location
        elif isinstance(map_location, dict):
            where = str(map_location.get(location, location))
        elif callable(map_location) and not isinstance(map_location, Device):
            found = map_location(storage, location)
            where = location if found is None else str(found.device)
        else:
            where = str(map_location)
        if where.startswith("cuda"):
            validate_cuda_device(where)
        return where

    return place


class _AnyUnpickler(pickle.Unpickler):
    """The unpickler of a trusted file."""

    def __init__(self, data: bytes, allowed: Allowed, at: int = 0, **options: Any) -> None:
        file = io.BytesIO(data)
        file.seek(at)
        super().__init__(file, **options)
        self.allowed = allowed

    def find_class(self, module: str, name: str) -> Any:
        found = self.allowed.known(f"{module}.{name}")
        if found is None or (isinstance(found, type) and not module.startswith("torch")):
            own = own_global(module, name)
            return super().find_class(module, name) if own is None else own
        return Bound(found, self.allowed) if type(found).__name__ == "_Function" else found

    def persistent_load(self, pid: object) -> Any:
        # PyTorch's first format stores the source of a module's class with it, to warn of changes.
        if isinstance(pid, tuple) and len(pid) == 4 and pid[0] == "module":
            warn_of_change(*pid[1:])
            return pid[1]
        return self.allowed.persistent(pid)


class _Options(NamedTuple):
    """The options of one call of `load`: allowed globals, the places of storages, and the unpickler's own options."""

    users: Sequence[Any]
    place: Any
    trusting: bool
    pickle: dict[str, Any]

    def rules(self, storages: Any) -> Allowed:
        """Return the rules of a file with these storages."""
        return Allowed(self.users, self.place, storages.persistent, storages.location, self.trusting)


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


def _load_archive(source: _Source, options: _Options, mapped: bool) -> Any:
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
    if OPTIONS.endianness is not None:
        order = sys.byteorder if OPTIONS.endianness is LoadEndianness.NATIVE else OPTIONS.endianness.name.lower()
    if f"{root}/byteorder" in names:
        order = archive.array(f"{root}/byteorder").tobytes()[:80].decode("latin1")
        if order not in ("little", "big"):
            raise RuntimeError(f"Unknown endianness type: {order!r}")
    mapping = _mapping(source) if mapped and source.path is not None else None
    storages = ArchiveStorages(archive, root, order, mapping)
    allowed = options.rules(storages)
    data = archive.array(f"{root}/data.pkl").tobytes()
    return _unpickled(data, allowed, 0, options.pickle)


def _mapping(source: _Source) -> np.ndarray[Any, Any]:
    """Map a file into memory. Writing to the bytes does not change the file, unless `set_default_mmap_options` says so.
    """
    import mmap  # noqa: PLC0415 - not in every Python

    if OPTIONS.shared:
        with open(source.path, "r+b") as file:
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_WRITE), np.uint8)
    return np.frombuffer(mmap.mmap(source.file.fileno(), 0, access=mmap.ACCESS_COPY), np.uint8)


def _load_legacy(source: _Source, options: _Options) -> Any:
    data = read_exactly(source.file, source.start, source.stop - source.start).tobytes()
    machine = Unpickler(data, plain_rules())
    magic = version = None
    with contextlib.suppress(pickle.UnpicklingError):
        magic = machine.load()
        version = machine.load()
    if type(magic) is not int or magic != MAGIC_NUMBER:
        raise RuntimeError(f"{_NO_FILE}: Invalid magic number; corrupt file?")
    if type(version) is not int or version != PROTOCOL_VERSION:
        raise RuntimeError(f"{_NO_FILE}: Invalid protocol version: {str(version)[:20]}")
    # The sizes of integers on the machine that wrote the file, which are not needed.
    machine.load()
    at = machine.at
    tables = Allowed((), options.place, _no_storage, lambda storage: "cpu")
    places, end = survey(data, at, tables.known, options.pickle.get("encoding", "utf-8"))
    storages = LegacyStorages(data, places)
    allowed = options.rules(storages)
    found = _unpickled(data, allowed, at, options.pickle)
    # The next object of the stream can be loaded from here.
    source.file.seek(source.start + end)
    return found


def _no_storage(pid: object) -> NoReturn:
    raise pickle.UnpicklingError("a reference where none can be")


def _unpickled(data: bytes, allowed: Allowed, at: int, options: dict[str, Any]) -> Any:
    if not allowed.trusting:
        return Unpickler(data, allowed, at, **options).load()
    try:
        return _AnyUnpickler(data, allowed, at, **options).load()
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
            f"arrays, and make tensors of them with {LIBRARY}.from_numpy"
        )


@named_errors
def load(
    f: Any,
    map_location: Callable[..., Any] | dict[str, str] | Device | str | int | None = None,
    pickle_module: ModuleType | None = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Load the object that `save`, or PyTorch's `torch.save`, wrote to a file: a path, or an object with `read`.

    `map_location` chooses the devices of tensors: a device, a dict from devices to devices, or a function of (storage,
    device) that returns a storage. With `weights_only`, as it is unless given as False, a file may hold only tensors,
    Python's containers and the globals allowed by `add_safe_globals`; without it, a file can run any code. With `mmap`,
    the file of a path is mapped into memory: elements are read when they are first used, and writing to them does not
    change the file.

    `encoding` is that of the texts in files of Python 2, "bytes" to leave them bytes; with `weights_only=False` other
    options of Python's `pickle.Unpickler` are taken, too.

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
    weights_only = weights_only is None or bool(weights_only)
    unknown = sorted(
        pickle_load_args.keys() - ({"encoding"} if weights_only else {"encoding", "errors", "fix_imports"})
    )
    if unknown:
        raise TypeError(f"load() got an unexpected keyword argument '{unknown[0]}'")
    options = _Options(get_safe_globals(), _placing(map_location), not weights_only, pickle_load_args)
    with _opened(f) as source:
        try:
            size = source.stop - source.start
            beginning = read_exactly(source.file, source.start, max(0, min(size, 512))).tobytes()
            if not beginning:
                raise RuntimeError(f"{_NO_FILE}: there is nothing to read from position {source.start} on")
            if beginning[:4] in (b"PK\3\4", b"PK\5\6"):
                return _load_archive(source, options, bool(mmap))
            _check_other(beginning, size)
            if mmap:
                raise RuntimeError(f"{_NO_FILE} that mmap can be used with: they are ZIP archives")
            return _load_legacy(source, options)
        # ImportError: bfloat16 comes from another package.
        except (pickle.UnpicklingError, RuntimeError, ImportError) as error:
            # A new error that names the file: the cause may name only a device, or the user's class.
            what = str(error)[:4000]
            if not isinstance(error, pickle.UnpicklingError):
                raise RuntimeError(f"load(): {source.name}: {what}") from error.__cause__
            if weights_only:
                text = f"load(): {source.name}: Weights only load failed: {what}"
                raise explained(pickle.UnpicklingError, "weights-only", text) from error.__cause__
            raise pickle.UnpicklingError(f"load(): {source.name}: {what}") from error.__cause__


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """Return the globals that a file names and that `load(weights_only=True)` does not allow now.

    Nothing of the file is made. Raises ValueError for files that are no archives of `save`.

    >>> import io
    >>> file = io.BytesIO()
    >>> tl.save({"ids": tl.arange(2), "model": tl.nn.Linear}, file)
    >>> _ = file.seek(0)
    >>> tl.serialization.get_unsafe_globals_in_checkpoint(file)
    ['torch.nn.modules.linear.Linear']
    """
    with _opened(f) as source:
        if read_exactly(source.file, source.start, min(source.stop - source.start, 4)).tobytes() != b"PK\3\4":
            raise ValueError("get_unsafe_globals_in_checkpoint(): expected a file that save() wrote")
        archive = Archive(source.file, source.start, source.stop)
        name = next((name for name in archive.records if name.endswith("/data.pkl")), None)
        if name is None:
            raise ValueError("get_unsafe_globals_in_checkpoint(): expected a file that save() wrote")
        data = archive.array(name).tobytes()
    allowed = Allowed(get_safe_globals(), _placing(None), _no_storage, lambda storage: "cpu")
    return globals_of(data, allowed.allows)
