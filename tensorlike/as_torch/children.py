"""Handing the installation on to Python processes that this one starts.

# Note [How a child starts]
Two environment variables are handed on: TENSORLIKE_AS_TORCH, which says what absent names do, and PYTHONPATH, with a
folder at the front whose `sitecustomize` the child runs when it starts. It runs the one it hides, and puts a finder
on `sys.meta_path` that installs this library when `torch` is first imported: a child that never imports it pays for
nothing. Children that are told to ignore the environment (`python -I`, `-E`) or to leave out `site` (`-S`) do without,
and a child whose Python cannot import this library is left alone.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

VARIABLE: Final = "TENSORLIKE_AS_TORCH"
_FOLDER: Final = str(Path(__file__).parent / "child_start")


def is_handed_on() -> bool:
    """Return whether children are told to install."""
    return _FOLDER in os.environ.get("PYTHONPATH", "").split(os.pathsep)


def hand_on(missing: str) -> None:
    """Make child processes serve the library as torch, too."""
    keep()
    os.environ[VARIABLE] = missing
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = _FOLDER if not before else _FOLDER + os.pathsep + before


def keep(missing: str = "") -> None:
    """Make child processes start without the library served as torch."""
    os.environ.pop(VARIABLE, None)
    if is_handed_on():
        others = [p for p in os.environ["PYTHONPATH"].split(os.pathsep) if p != _FOLDER]
        if others:
            os.environ["PYTHONPATH"] = os.pathsep.join(others)
        else:
            del os.environ["PYTHONPATH"]
