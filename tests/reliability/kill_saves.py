"""Kill processes that save, load while one saves, and count the files that are lost.

    python tests/reliability/kill_saves.py tensorlike --kills 2000 --loads 2000
    python tests/reliability/kill_saves.py torch --kills 2000 --loads 2000

A child process saves to the same path over and over, each time another version, until it is killed with SIGKILL at a
random moment. The file is lost when it cannot be loaded afterwards, or holds part of one version. The counts are
printed as JSON: `landed` counts kills in the middle of a save, which leave a temporary file or lose the target.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

#: Float32 elements of what is saved.
ELEMENTS = 1 << 18

#: The longest that a child saves before it is killed, in seconds: several saves.
LONGEST = 0.03


def write(library: Any, path: str, version: int) -> None:
    library.save({"version": version, "weight": library.full((ELEMENTS,), float(version)), "last": version}, path)


def is_whole(library: Any, path: str) -> bool:
    """Return whether a file can be loaded and holds one version."""
    try:
        found = library.load(path)
        weight = found["weight"]
        return (
            found["version"] == found["last"]
            and weight.shape == (ELEMENTS,)
            and bool((weight == float(found["version"])).all())
        )
    except Exception:
        return False


def saving_child(library: Any, path: str) -> int:
    """Return the id of a process that saves to a path until it is killed."""
    child = os.fork()
    if child:
        return child
    try:
        version = 0
        while True:
            version += 1
            write(library, path, version)
    finally:
        os._exit(1)


def kill(child: int) -> None:
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        raise RuntimeError(f"the child that saves ended by itself, with status {status}")


def count(library: Any, folder: str, kills: int, loads: int) -> dict[str, int]:
    """Kill, load, and return how often what happened."""
    path = os.path.join(folder, "saved.pt")
    moments = random.Random(0)
    write(library, path, 0)
    lost = landed = 0
    for _ in range(kills):
        child = saving_child(library, path)
        time.sleep(moments.uniform(0, LONGEST))
        kill(child)
        whole = is_whole(library, path)
        temporaries = [name for name in os.listdir(folder) if name != "saved.pt"]
        for name in temporaries:
            os.unlink(os.path.join(folder, name))
        lost += not whole
        landed += bool(temporaries) or not whole
        if not whole:
            write(library, path, 0)
    failed = 0
    if loads:
        child = saving_child(library, path)
        try:
            failed = sum(not is_whole(library, path) for _ in range(loads))
        finally:
            kill(child)
    return {"kills": kills, "landed": landed, "lost": lost, "loads": loads, "failed": failed}


def main() -> int:
    parser = argparse.ArgumentParser(description="Count the files that killed saves and simultaneous loads lose.")
    parser.add_argument("library", choices=("tensorlike", "torch"))
    parser.add_argument("--kills", type=int, default=2000)
    parser.add_argument("--loads", type=int, default=2000)
    parser.add_argument("--folder", help="where to write; a temporary directory by default")
    options = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parents[2]))
    library = importlib.import_module(options.library)
    library.set_num_threads(1)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        print(json.dumps(count(library, folder, options.kills, options.loads)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
