"""Write objects, and the tensors in them, to files.

# Note [Files are replaced]
A path is written through a temporary file in the same directory, `.tensorlike-<16 hexadecimal digits>.tmp`, which takes
the place of the target when it is complete and on the disk. So a process that is killed, a full disk or an error leaves
the old file whole, and a reader has either the old file or the new one. A killed process may leave its temporary file
behind; it is never taken for the target, and may be deleted when no process is saving.

The file that takes the target's place has the target's permissions, extended attributes and, where the system allows
it, owner; a new file has those that `open(path, "wb")` gives. Symbolic links stay, and the file that they lead to is
replaced. Other hard links to the target keep the old file, as do processes that have it open or mapped.

Without a regular file to replace (a pipe, a device, an entry of /proc such as the one behind /dev/stdout), or the
directory cannot take another file although the target can be written (a directory without write permission, a mount
point), the target is written in place, as `open(path, "wb")` does: there, an interruption leaves part of a file.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import pickle
import stat
import sys
import zipfile
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import IO, Any, Final

import numpy as np

from tensorlike.dispatch.tracebacks import named_errors
from tensorlike.tensor.storage import UntypedStorage

from .options import OPTIONS
from .pickling import StorageCollector, dump
from .places import location_tag

#: PyTorch's, for files that old versions of Python can read.
DEFAULT_PROTOCOL: Final = 2

#: The beginning of a stream of PyTorch's first format: pickles of this number, and of the version.
MAGIC_NUMBER: Final = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION: Final = 1001

#: The bytes to which the start of each storage is aligned in a file, as in PyTorch's, for files that are mapped.
_ALIGNMENT: Final = 64

#: The bytes of a storage that are copied at a time. A chunk is copied first, so that its checksum matches the bytes
#: written even while another thread writes to the tensor.
_PIECE: Final = 1 << 22

#: Errors of a directory in which no file can be created, though the target may be writable.
_NO_OTHER_FILE: Final = frozenset(
    (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENAMETOOLONG, errno.ENOENT, errno.ENOTDIR)
)

#: Errors of a target that cannot be replaced: a mount point, or another user's file in a sticky directory.
_NO_OTHER_PLACE: Final = frozenset((errno.EACCES, errno.EPERM, errno.EBUSY, errno.EXDEV))


@named_errors
def save(
    obj: object,
    f: Any,
    pickle_module: ModuleType | None = None,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write an object, and all tensors in it, to a file: a path, or an object with `write`.

    Tensors on the same memory are on the same memory again when they are loaded. Other objects are pickled. The file is
    one that PyTorch reads: what has a counterpart there has PyTorch's name in it. Without
    `_use_new_zipfile_serialization` it has the format of PyTorch before 1.6.

    A file at that path is replaced when the new one is complete and on the disk: an error, a full disk, a killed
    process or a reader at the same moment find the old file or the new one, never part of one. Its permissions are
    kept, and symbolic links are followed; other hard links, and processes that have it open, keep the old file. A
    killed process may leave a file `.tensorlike-*.tmp` beside the target. A target that cannot be replaced, such as a
    pipe, a device, or a file in a directory without write permission, is written in place. Raises the OSError of
    `open(path, "wb")`.

    >>> import io
    >>> file = io.BytesIO()
    >>> tl.save({"weight": tl.ones(2)}, file)
    >>> _ = file.seek(0)
    >>> tl.load(file)
    {'weight': tensor([1., 1.])}

    Same as PyTorch's function of that name, but for `pickle_module`, which must be None or Python's `pickle`.
    """
    check_pickle_module(pickle_module, "save")
    path = os.fsdecode(f) if isinstance(f, (str, os.PathLike)) else None
    if path is None and not hasattr(f, "write"):
        raise AttributeError(
            "save(): expected 'f' to be string, path, or a file-like object with a 'write' attribute, got "
            f"{type(f).__name__}"
        )
    # Everything is pickled before a file is opened.
    pickled = io.BytesIO()
    first_format = not _use_new_zipfile_serialization
    collector = StorageCollector(location_tag, first_format)
    dump(obj, pickled, pickle_protocol, collector)
    storages = list(collector.storages.values())
    skipping = OPTIONS.skipping

    def write(file: Any) -> None:
        if first_format:
            _write_first_format(file, pickled, storages, pickle_protocol)
        else:
            _write_archive(file, pickled, storages, not _disable_byteorder_record, skipping)

    if path is None:
        write(f)
    else:
        _write_path(path, write)


def _write_first_format(
    file: IO[bytes], pickled: io.BytesIO, storages: Iterable[tuple[str, UntypedStorage, Any]], protocol: int
) -> None:
    """Write a stream of pickles, the last one a list of keys, and the storages in that order: size and elements."""
    sizes = {"short": 2, "int": 4, "long": 4}
    system = {"protocol_version": PROTOCOL_VERSION, "little_endian": True, "type_sizes": sizes}
    for head in (MAGIC_NUMBER, PROTOCOL_VERSION, system):
        file.write(pickle.dumps(head, protocol))
    file.write(pickled.getbuffer())
    ordered = sorted(storages, key=lambda item: item[0])
    file.write(pickle.dumps([key for key, _, _ in ordered], protocol))
    for _, storage, kind in ordered:
        width = 1 if kind is UntypedStorage else kind.dtype.itemsize
        data = storage.cpu()._host()
        if sys.byteorder == "big" and kind is not UntypedStorage:
            data = data.view(kind.dtype.numpy_dtype).byteswap().view("u1")
        file.write((len(storage) // width).to_bytes(8, "little"))
        for first in range(0, len(data), _PIECE):
            file.write(bytes(data[first : first + _PIECE]))


def _write_archive(
    file: IO[bytes],
    pickled: io.BytesIO,
    storages: Iterable[tuple[str, UntypedStorage, Any]],
    byte_order: bool,
    skipping: bool,
) -> None:
    """Write the archive: the pickle, and the bytes of the storages, or zeros in their place."""
    # Not compressed, as PyTorch's are: the elements of a trained network hardly compress.
    archive = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED)
    try:
        _write_member(archive, "archive/data.pkl", pickled.getbuffer())
        _write_member(archive, "archive/.storage_alignment", str(_ALIGNMENT).encode())
        if byte_order:
            _write_member(archive, "archive/byteorder", sys.byteorder.encode())
        for key, storage, _ in storages:
            data: Any = np.zeros(len(storage), np.uint8) if skipping else storage.cpu()._host()
            _write_member(archive, f"archive/data/{key}", memoryview(data))
        _write_member(archive, "archive/version", b"3\n")
        archive.close()
    except BaseException:
        # Not closed, neither here nor when it is freed: an error raised by closing an archive in the middle of a member
        # would replace the original one.
        archive.fp = None
        raise


def _write_member(archive: zipfile.ZipFile, name: str, data: bytes | memoryview) -> None:
    """Write one file of an archive such that its bytes start at a multiple of `_ALIGNMENT`."""
    member = zipfile.ZipInfo(name)
    wide = len(data) > zipfile.ZIP64_LIMIT
    assert archive.fp is not None
    # A header has 30 bytes, the name, 20 bytes for sizes in 64 bits, and 4 bytes before the padding.
    padding = -(archive.fp.tell() + 30 + len(name) + 20 * wide + 4) % _ALIGNMENT
    # PyTorch's field for this, with its identifier.
    member.extra = b"FB" + padding.to_bytes(2, "little") + bytes(padding)
    stream = archive.open(member, "w", force_zip64=wide)
    try:
        for first in range(0, len(data), _PIECE):
            stream.write(bytes(data[first : first + _PIECE]))
    except BaseException:
        # Closed without writing: its own `close` would write, also when it is freed.
        io.BufferedIOBase.close(stream)  # type: ignore[arg-type]
        raise
    stream.close()
    # The directory at the end of the archive has no such field.
    member.extra = b""


def _existing(path: str, flags: int) -> int:
    """Open an existing file as `open(path, "wb")` does, but without truncating it."""
    return os.open(path, flags & ~(os.O_CREAT | os.O_TRUNC))


def _write_path(path: str, write: Callable[[IO[bytes]], None]) -> None:
    """Write to a path: see Note [Files are replaced]. `write` may be called again when a file cannot be replaced."""
    try:
        # A file without write permission is refused here, with the error of `open`.
        file = open(path, "wb", opener=_existing)  # noqa: SIM115
    except FileNotFoundError:
        target, before = _followed(path), None
    else:
        with file:
            before = os.fstat(file.fileno())
            regular = stat.S_ISREG(before.st_mode)
            target = _followed(path) if regular else None
            if target is None:
                if regular:
                    file.truncate(0)
                write(file)
                return
    if target is None or not _replace(target, before, write):
        with open(path, "wb") as file:
            write(file)


def _followed(path: str) -> str | None:
    """Return the target of symbolic links; None where that is no entry of a directory."""
    while True:
        folder, name = os.path.split(path)
        folder = os.path.realpath(folder)
        path = os.path.join(folder, name)
        if not name or folder.startswith("/proc/"):
            # Links in /proc lead to open files, regardless of their text.
            return None
        # `open` has raised already for links that form a cycle.
        if not os.path.islink(path):
            return path
        path = os.path.join(folder, os.readlink(path))


def _replace(target: str, before: os.stat_result | None, write: Callable[[IO[bytes]], None]) -> bool:
    """Replace a file, or make a new one where `before` is None; return False if the directory cannot take another file.
    """
    folder = os.path.dirname(target)
    temporary = os.path.join(folder, f".tensorlike-{os.urandom(8).hex()}.tmp")
    # No other user may open the new file until it has the permissions of the old one.
    mode = 0o666 if before is None else 0o600
    try:
        try:
            file = open(temporary, "xb", opener=lambda path, flags: os.open(path, flags, mode))  # noqa: SIM115
        except OSError as error:
            if error.errno in _NO_OTHER_FILE:
                return False
            error.filename = target
            raise
        with file:
            if before is not None:
                _take_over(file.fileno(), target, before)
            write(file)
            file.flush()
            _to_disk(file.fileno())
        try:
            os.replace(temporary, target)
        except OSError as error:
            if os.name == "nt" or error.errno not in _NO_OTHER_PLACE:
                raise
            os.unlink(temporary)
            return False
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    # The new entry of the directory reaches the disk as well, where directories can be opened.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    return True


def _take_over(descriptor: int, target: str, before: os.stat_result) -> None:
    """Give an open file the owner, permissions and extended attributes of the one that it replaces."""
    if not hasattr(os, "fchown"):
        return
    now = os.fstat(descriptor)
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        try:
            os.fchown(descriptor, before.st_uid, before.st_gid)
        except OSError:
            # Only the superuser can change the owner; the group may be any of the user's.
            with contextlib.suppress(OSError):
                os.fchown(descriptor, -1, before.st_gid)
    # Without the bits for set-user-ID and set-group-ID, which a write clears.
    os.fchmod(descriptor, before.st_mode & 0o777)
    if hasattr(os, "listxattr"):
        # Access control lists are among them. Not every file system has them, and some are for the superuser alone.
        with contextlib.suppress(OSError):
            for name in os.listxattr(target):
                with contextlib.suppress(OSError):
                    os.setxattr(descriptor, name, os.getxattr(target, name))


def _to_disk(descriptor: int) -> None:
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some file systems do not support syncing: ignore that, but raise errors of the disk.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS):
            raise


def check_pickle_module(module: object, function: str) -> None:
    if module is not None and module is not pickle:
        raise ValueError(f"{function}(): argument 'pickle_module' must be None or Python's pickle, got {module!r}")
