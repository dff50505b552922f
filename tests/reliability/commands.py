"""Running the measuring modules: each in a process of its own, which has imported nothing else and has no threads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

__all__ = ["results"]

ROOT = Path(__file__).parents[2]


def results(module: str, *arguments: str, timeout: float = 600.0) -> list[Any]:
    """Return what `python -m tests.reliability.<module> --json <arguments>` prints: the values of its lines."""
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    ended = subprocess.run(
        [sys.executable, "-m", f"tests.reliability.{module}", "--json", *arguments],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True, text=True, timeout=timeout, check=False,
    )  # fmt: skip
    lines = [line for line in ended.stdout.splitlines() if line[:1] in "[{"]
    if ended.returncode not in (0, 1) or not lines:
        raise RuntimeError(f"{module} {' '.join(arguments)} ended with {ended.returncode}: {ended.stderr[-2000:]}")
    return [json.loads(line) for line in lines]
