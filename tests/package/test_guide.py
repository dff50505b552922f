"""The suite that the guide shows passes in a file of its own; that its listings run is tested in tests/docs."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.helpers.listings import LISTING

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "writing-a-tensor-like-type.md"


def test_suite_passes(tmp_path: Path) -> None:
    """The suite of the guide, in a file of its own as it says."""
    listings = [listing["code"] for listing in LISTING.finditer(GUIDE.read_text(encoding="utf-8"))]
    wanted = ("import tensorlike as tl", "class Noted(", "class TestNoted(")
    needed = [next(code for code in listings if name in code) for name in wanted]
    # Without what prints or audits: only definitions go into the file.
    needed = [re.split(r"\n\n\n(?=rain)", code)[0] + "\n\n\n" for code in needed]
    (tmp_path / "test_noted.py").write_text("".join(needed), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_noted.py"]
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stdout
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed, done.stdout
    assert int(passed[1]) >= 30
