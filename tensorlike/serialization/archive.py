"""Read ZIP archives that need not be trusted.

Python's `zipfile` is for trusted archives: its checks, and its errors for broken ones, depend on its version. This
module reads the archives that PyTorch and this library write (and tools that unpack and pack such files again), and
raises RuntimeError for others.
"""

from __future__ import annotations

import struct
import zlib
from bisect import bisect_left
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, NoReturn

import numpy as np

#: All compressed records together may hold this many times the bytes that they take in the archive, beyond the first
#: `MIN_EXPANSION` bytes. Files of PyTorch and of this library are not compressed.
MAX_EXPANSION: Final = 100
MIN_EXPANSION: Final = 2**24

_END: Final = struct.Struct("<4s4H2LH")
_END_64_LOCATOR: Final = struct.Struct("<4sLQL")
_END_64: Final = struct.Struct("<4sQ2H2L4Q")
_ENTRY: Final = struct.Struct("<4s6H3L5H2L")
_LOCAL: Final = struct.Struct("<4s5H3L2H")

_STORED: Final = 0
_DEFLATED: Final = 8
_ENCRYPTED: Final = 0x1
_UTF_8: Final = 0x800


def _wrong(what: str) -> NoReturn:
    raise RuntimeError(f"failed reading zip archive: {what}")


class Record(NamedTuple):
    """An entry of the directory: the position of its local header, and the sizes and checksum of its data."""

    header: int
    raw_name: bytes
    method: int
    flags: int
    crc: int
    packed: int
    size: int


def read_exactly(file: Any, at: int, size: int) -> np.ndarray[Any, Any]:
    """Return `size` bytes of a file from the position `at` on, as an array; RuntimeError if there are fewer."""
    found = np.empty(size, np.uint8)
    view = found.data
    file.seek(at)
    done = 0
    while done < size:
        count = file.readinto(view[done:])
        if not count:
            _wrong(f"the file ends {size - done} bytes early")
        done += count
    return found


class Archive:
    """The records of an archive that is in `file` from the position `start` to the position `stop`.

    Raises RuntimeError for other files, and for an archive that contradicts itself.
    """

    def __init__(self, file: Any, start: int, stop: int) -> None:
        self.file, self.start, self.size = file, start, stop - start
        self.records: dict[str, Record] = {}
        #: The bounds of the records read so far, sorted: overlapping records could hold more than the file.
        self.read: list[tuple[int, int]] = []
        self.packed = self.expanded = 0
        self._read_directory()

    def _bytes(self, at: int, size: int) -> bytes:
        if at < 0 or size < 0 or at + size > self.size:
            _wrong(f"{size} bytes at position {at} are not in the archive, which has {self.size}")
        return read_exactly(self.file, self.start + at, size).tobytes()

    def _read_directory(self) -> None:
        # The end of the directory is followed by a comment of at most 65535 bytes.
        tail_at = max(0, self.size - _END.size - 0xFFFF)
        tail = self._bytes(tail_at, self.size - tail_at)
        end = tail.rfind(b"PK\5\6", 0, max(0, len(tail) - _END.size + 4))
        if end < 0:
            _wrong("the directory at its end is missing; is the file truncated?")
        _, disk, first_disk, _, count, size, at, _ = _END.unpack_from(tail, end)
        limit = tail_at + end
        if 0xFFFF in (disk, count) or 0xFFFFFFFF in (size, at):
            disk, first_disk, count, size, at, limit = self._read_end_64(limit, disk, first_disk, count, size, at)
        if disk or first_disk:
            _wrong("it consists of several files")
        if at + size > limit:
            _wrong(f"its directory of {size} bytes at position {at} is not within the archive")
        self.directory = at
        entries = list(self._entries(self._bytes(at, size)))
        if len(entries) != count:
            _wrong(f"its directory has {len(entries)} entries instead of {count}")
        for name, record in entries:
            if name in self.records:
                _wrong(f"it holds two records of the name {name[:200]!r}")
            self.records[name] = record

    def _read_end_64(self, end: int, *fields: int) -> tuple[int, ...]:
        at = end - _END_64_LOCATOR.size
        if at < 0:
            return *fields, end
        mark, disk, position, disks = _END_64_LOCATOR.unpack(self._bytes(at, _END_64_LOCATOR.size))
        if mark != b"PK\6\7":
            return *fields, end
        if disk or disks > 1:
            _wrong("it consists of several files")
        found = _END_64.unpack(self._bytes(position, _END_64.size))
        if found[0] != b"PK\6\6" or position + _END_64.size > at:
            _wrong("the end of its directory is malformed")
        _, _, _, _, disk, first_disk, _, count, size, start = found
        return disk, first_disk, count, size, start, position

    def _entries(self, data: bytes) -> Iterator[tuple[str, Record]]:
        at = 0
        while at < len(data):
            if at + _ENTRY.size > len(data):
                _wrong("its directory ends within an entry")
            (
                mark, _, _, flags, method, _, _, crc, packed, size, name_size, extra_size, comment_size, _, _, _,
                header,
            ) = _ENTRY.unpack_from(data, at)  # fmt: skip
            name_at = at + _ENTRY.size
            extra_at = name_at + name_size
            at = extra_at + extra_size + comment_size
            if mark != b"PK\1\2" or at > len(data):
                _wrong("its directory is malformed")
            raw_name = data[name_at:extra_at]
            size, packed, header = _wide(data[extra_at : extra_at + extra_size], size, packed, header)
            # The names needed are ASCII. Old tools use code page 437, which Python would have to import.
            name = raw_name.decode("utf-8" if flags & _UTF_8 else "latin1", "backslashreplace")
            yield name, Record(header, raw_name, method, flags, crc, packed, size)

    def place(self, name: str) -> int:
        """Check the local header of a record; return the position of its data in the file."""
        record = self.records[name]
        header = self._bytes(record.header, _LOCAL.size + len(record.raw_name))
        mark, _, flags, method, _, _, _, _, _, name_size, extra_size = _LOCAL.unpack_from(header)
        begin = record.header + _LOCAL.size + name_size + extra_size
        shown = name[:200]
        if mark != b"PK\3\4" or (name_size, header[_LOCAL.size :]) != (len(record.raw_name), record.raw_name):
            _wrong(f"the record {shown!r} is not where the directory says")
        if (record.flags | flags) & _ENCRYPTED:
            _wrong(f"the record {shown!r} is encrypted")
        if record.method not in (_STORED, _DEFLATED) or method != record.method:
            _wrong(f"the record {shown!r} is compressed by method {record.method}; only stored and deflated are read")
        if begin + record.packed > self.directory or (record.method == _STORED and record.packed != record.size):
            _wrong(f"the record {shown!r} of {record.packed} bytes does not fit in")
        self._claim(record.header, begin + record.packed, shown)
        return self.start + int(begin)

    def _claim(self, begin: int, end: int, shown: str) -> None:
        at = bisect_left(self.read, (begin, end))
        if at < len(self.read) and self.read[at] == (begin, end):
            return
        if (at and self.read[at - 1][1] > begin) or (at < len(self.read) and self.read[at][0] < end):
            _wrong(f"the record {shown!r} overlaps another one")
        self.read.insert(at, (begin, end))

    def is_stored(self, name: str) -> bool:
        """Return whether the data of a record is stored uncompressed."""
        return self.records[name].method == _STORED

    def array(self, name: str) -> np.ndarray[Any, Any]:
        """Return the data of a record, verified by its checksum."""
        record = self.records[name]
        begin = self.place(name)
        found = read_exactly(self.file, begin, record.packed)
        if record.method == _DEFLATED:
            found = self._expanded(found, record, name[:200])
        # PyTorch writes 0 when checksums are switched off.
        if record.crc and zlib.crc32(found.data) != record.crc:
            _wrong(f"the record {name[:200]!r} is damaged: its checksum is wrong")
        return found

    def _expanded(self, packed: np.ndarray[Any, Any], record: Record, shown: str) -> np.ndarray[Any, Any]:
        self.packed += record.packed
        self.expanded += record.size
        if self.expanded > MIN_EXPANSION + MAX_EXPANSION * self.packed:
            _wrong(
                f"the record {shown!r} expands to {record.size} bytes from {record.packed}, beyond the limit of "
                f"{MAX_EXPANSION} times; unpack the archive and pack it again without compression"
            )
        machine = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            # Ask for one byte more, to detect excess data. A limit of 0 would mean none.
            data = machine.decompress(packed.data, record.size + 1)
        except zlib.error as error:
            _wrong(f"the record {shown!r} is damaged: {error}")
        if len(data) != record.size or not machine.eof:
            _wrong(f"the record {shown!r} does not expand to the {record.size} bytes that it declares")
        return np.array(np.frombuffer(data, np.uint8))


def _wide(extra: bytes, *fields: int) -> tuple[int, ...]:
    """Return (size, packed size, position), reading values of 32 ones from the ZIP64 extra field."""
    if 0xFFFFFFFF not in fields:
        return fields
    at = 0
    while at + 4 <= len(extra):
        kind, size = struct.unpack_from("<2H", extra, at)
        if kind == 1:
            numbers = iter(struct.unpack_from(f"<{min(size, len(extra) - at - 4) // 8}Q", extra, at + 4))
            return tuple(next(numbers, field) if field == 0xFFFFFFFF else field for field in fields)
        at += 4 + size
    return fields
