"""The listings of the guide run in its order, in one namespace, and print what stands below them."""

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "writing-a-tensor-like-type.md"
LISTING = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:\n^```text\n(?P<printed>.*?)^```\n)?", re.DOTALL | re.MULTILINE
)


def test_listings() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    listings = list(LISTING.finditer(text))
    # Nothing that looks like a listing or its output is left out.
    assert len(listings) == text.count("```python") >= 10
    assert sum(listing["printed"] is not None for listing in listings) == text.count("```text")
    namespace: dict[str, Any] = {"__name__": "guide"}
    for listing in listings:
        # Lines count from the top of the guide, so that a traceback points into it.
        code = "\n" * text[: listing.start("code")].count("\n") + listing["code"]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, GUIDE, "exec"), namespace)
        assert printed.getvalue() == (listing["printed"] or ""), listing["code"]


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", LISTING.sub("", GUIDE.read_text(encoding="utf-8")))
    assert len(links) >= 3
    assert [link for link in links if not (GUIDE.parent / link).is_file()] == []


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
