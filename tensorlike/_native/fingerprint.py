"""The fingerprint of the sources of the native core, by which a core that was built from others is noticed.

setup.py runs this file by itself, before anything is installed: it imports nothing of the library.
"""

from __future__ import annotations

import zlib
from pathlib import Path

__all__ = ["fingerprint"]

#: What the core shares with the headers of C++, from the folder above its own.
SHARED = Path("include", "tensorlike", "core_api.h")


def fingerprint(folder: Path) -> str:
    """Return a checksum of the C files and headers of the core in a folder, "" where there are none, as in a wheel.

    A checksum is enough against mistakes, and zlib is loaded faster than a cryptographic hash.
    """
    value = 0
    paths = sorted(path for path in folder.iterdir() if path.suffix in (".c", ".h"))
    for path in [*paths, folder.parent / SHARED] if paths else []:
        # Line ends may differ between checkouts.
        content = path.read_bytes().replace(b"\r\n", b"\n")
        value = zlib.crc32(content, zlib.crc32(path.name.encode(), value))
    return f"{value:08x}" if paths else ""
