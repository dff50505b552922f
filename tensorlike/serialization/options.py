"""Options of `load` and `save` beyond their arguments, under PyTorch's names."""

from __future__ import annotations

import contextlib
import enum
import mmap
from collections.abc import Iterator
from types import TracebackType
from typing import Final


class LoadEndianness(enum.Enum):
    """The order of bytes in files that do not tell theirs."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


#: Windows has no such constants, and there maps are copied on writing, as with MAP_PRIVATE.
_PRIVATE: Final = getattr(mmap, "MAP_PRIVATE", 2)
_SHARED: Final = getattr(mmap, "MAP_SHARED", 1)


class _Options:
    """The options of this process."""

    def __init__(self) -> None:
        self.endianness: LoadEndianness | None = None
        self.mapping = _PRIVATE
        self.skipping = False

    @property
    def shared(self) -> bool:
        """Whether writing to a mapped tensor changes the file."""
        return self.mapping == _SHARED


OPTIONS: Final = _Options()


def get_default_load_endianness() -> LoadEndianness | None:
    """Return the order of bytes that `load` assumes for archives that do not tell theirs; None for little-endian."""
    return OPTIONS.endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Set the order of bytes that `load` assumes for archives that do not tell theirs.

    >>> tl.serialization.set_default_load_endianness(tl.serialization.LoadEndianness.BIG)
    >>> tl.serialization.get_default_load_endianness()
    <LoadEndianness.BIG: 3>
    >>> tl.serialization.set_default_load_endianness(None)
    """
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError(f"set_default_load_endianness(): expected LoadEndianness or None, got {endianness!r}")
    OPTIONS.endianness = endianness


def get_default_mmap_options() -> int:
    """Return the flag with which `load(mmap=True)` maps files: `mmap.MAP_PRIVATE` unless set otherwise."""
    return OPTIONS.mapping


class set_default_mmap_options:
    """Set the flag with which `load(mmap=True)` maps files, until changed or for a block.

    With `mmap.MAP_PRIVATE` writing to a tensor does not change its file; with `mmap.MAP_SHARED` it does. Raises
    ValueError for other flags.
    """

    def __init__(self, flags: int) -> None:
        if flags not in (_PRIVATE, _SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, "
                f"but got {flags}"
            )
        self._before, OPTIONS.mapping = OPTIONS.mapping, flags

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        OPTIONS.mapping = self._before


@contextlib.contextmanager
def skip_data(materialize_fake_tensors: bool = False) -> Iterator[None]:
    """Have `save`, inside a `with` block, leave room for the elements of tensors in its file without writing them.

    The elements are zeros in the file, to be filled in by another program. There are no fake tensors here, so that
    `materialize_fake_tensors` changes nothing.
    """
    before, OPTIONS.skipping = OPTIONS.skipping, True
    try:
        yield
    finally:
        OPTIONS.skipping = before
