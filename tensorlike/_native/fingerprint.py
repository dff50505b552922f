"""The fingerprint of the sources of the native core, by which a core that was built from others is noticed.

setup.py runs this file by itself, before anything is installed: it imports nothing of the library.
"""

from __future__ import annotations

import zlib
from pathlib import Path

__all__ = ["fingerprint"]


def fingerprint(folder: Path) -> str:
    """Return a checksum of the C files and headers in a folder, "" where there are none, as in an installed wheel.

    A checksum is enough against mistakes, and zlib is loaded faster than a cryptographic hash.
    """
    value = 0
    names = sorted(path.name for path in folder.iterdir() if path.suffix in (".c", ".h"))
    for name in names:
        # Line ends may differ between checkouts.
        content = (folder / name).read_bytes().replace(b"\r\n", b"\n")
        value = zlib.crc32(content, zlib.crc32(name.encode(), value))
    return f"{value:08x}" if names else ""
