"""Running code in processes of its own, which have no torch yet."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[2]


def environment(**more):
    """The environment with this checkout importable, and without an installation from outside."""
    found = {name: value for name, value in os.environ.items() if name != "TENSORLIKE_AS_TORCH"}
    return found | {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"} | more


def python(*arguments, cwd=None, status=0, **more):
    """Run Python, and return what it printed: to stdout, or to both where it was to fail."""
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment(**more), timeout=120)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout if status == 0 else done.stdout + done.stderr


def code(text, *arguments, status=0, **more):
    """Run code in a new process."""
    return python("-c", textwrap.dedent(text), *arguments, status=status, **more)
