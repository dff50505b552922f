"""A precompiled header for the extensions that are built with the same flags.

# Note [When a precompiled header pays]
To make one takes 1.5 times as long as to compile a file that includes the header, and saves a third of each file that
is compiled with it. So one is made for five files or more, and used by every build for which there is one. It lies in
a folder that is searched before the package's: g++ takes it for the first `#include` of a file, if that is the one
that was precompiled. The name of the folder is a hash of all that goes into it, so that another header is another
folder. It takes 100 to 220 MB; the four that were used last are kept. What a file is made of is the same with and
without.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

__all__ = ["LISTED", "precompiled_folder"]

#: The file with the list of what went into a precompiled header, in its folder.
LISTED = "listed.d"

#: The first thing in a source that is no comment, if it includes one of these headers.
_FIRST_INCLUDE = re.compile(
    r"\s*(?:(?://[^\n]*\n|/\*.*?\*/)\s*)*#\s*include\s*[<\"](torch/(?:extension|torch|all|library|script)\.h)[>\"]",
    re.DOTALL,
)
_WORTHWHILE = 5
_KEPT = 4


def _header_of(source: Path) -> str | None:
    with open(source, encoding="utf-8", errors="replace") as file:
        found = _FIRST_INCLUDE.match(file.read(10_000))
    return None if found is None else found[1]


def _content(folders: Sequence[str]) -> list[str]:
    """Return a line for each header of the folders: its name and its content."""
    return [
        f"{path} {hashlib.sha256(path.read_bytes()).hexdigest()}"
        for folder in folders
        for path in sorted(Path(folder).rglob("*.h"))
    ]


def precompiled_folder(
    sources: Sequence[Path],
    compiler: Sequence[str],
    flags: Sequence[str],
    folders: Sequence[str],
    root: Path,
    wanted: bool | None,
    make: Callable[[list[str], Path], None],
) -> Path | None:
    """Return the folder to search first, None where a precompiled header does not pay.

    - `flags`: the flags of the files, which decide whether a precompiled header fits them.
    - `folders`: folders of headers that go into it.
    - `wanted`: whether to make one that is not there; None makes it if there are files enough.
    - `make`: makes a file by a command.

    See Note [When a precompiled header pays].
    """
    if wanted is False or os.environ.get("TENSORLIKE_PRECOMPILED_HEADER") == "0":
        return None
    headers = Counter(h for source in sources if (h := _header_of(source)) is not None)
    # The extension's own folder may have such headers, too.
    own = [f[2:] for f in flags if f.startswith("-I") and (Path(f[2:]) / "torch").exists()]
    if not headers or own:
        return None
    ((header, count),) = headers.most_common(1)
    kept = root / "precompiled"
    if wanted is None and count < _WORTHWHILE and not any(kept.iterdir()):
        return None
    version = subprocess.run([*compiler, "--version"], capture_output=True, text=True).stdout
    if "Free Software Foundation" not in version:
        return None  # Other compilers want it named on the command line.
    fitting = [f for f in flags if not f.startswith(("-I", "-DTORCH_EXTENSION_NAME="))]
    parts = [version, header, *compiler, *fitting, *_content(folders)]
    folder = kept / hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
    target = folder / f"{header}.gch"
    if not target.exists():
        if wanted is None and count < _WORTHWHILE:
            return None
        source = folder / header
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(f"#pragma once\n#include_next <{header}>\n")
        unfinished = target.with_name(f"{target.name}.{os.getpid()}")
        try:
            # The header itself would be a main file, whose `#pragma once` is warned of.
            listed = ["-MD", "-MF", str(folder / LISTED)]
            make(
                [*compiler, *listed, *fitting, "-w", "-x", "c++-header", str(source), "-o", str(unfinished)], unfinished
            )
            unfinished.replace(target)
        finally:
            unfinished.unlink(missing_ok=True)
    os.utime(folder)
    by_use = sorted(kept.iterdir(), key=lambda p: p.stat().st_mtime, reverse=True)
    for old in by_use[_KEPT:]:
        shutil.rmtree(old, ignore_errors=True)
    return folder
