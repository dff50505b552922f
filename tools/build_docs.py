"""Build the site of the documentation, with warnings as errors: `python tools/build_docs.py [FOLDER]`.

It needs the extra `docs`. The pages lie in `docs/_build` unless another folder is given; open `index.html` there.
"""

from __future__ import annotations

import argparse
import gc
import io
import os
import re
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILT = ROOT / "docs" / "_build"
#: What Sphinx prints while it reads or writes pages: what it does, and how much of it is done.
_STEP = re.compile(r"(?P<what>reading sources|writing output)\.\.\. *\[ *(?P<percent>\d+)%\]")


class Progress(io.TextIOBase):
    """Shows what Sphinx says of its progress: in one line of a terminal, elsewhere in steps of a quarter."""

    def __init__(self, out: io.TextIOBase) -> None:
        self.out = out
        self.begin = time.monotonic()
        self.shown = ("", -1)

    def write(self, text: str) -> int:
        """Take a piece of Sphinx's messages."""
        for step in _STEP.finditer(re.sub(r"\x1b\[[\d;]*m", "", text)):
            percent = int(step["percent"])
            quarter = (step["what"], percent // 25)
            if self.out.isatty():
                self.out.write(f"\r{step['what']}: {percent:3} %")
            elif quarter != self.shown:
                self.out.write(f"{time.monotonic() - self.begin:4.0f} s  {step['what']}: {25 * quarter[1]} %\n")
            self.shown = quarter
            self.out.flush()
        return len(text)

    def close_line(self) -> None:
        """End the line of a terminal."""
        if self.out.isatty() and self.shown[0]:
            self.out.write("\n")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(prog="tools/build_docs.py", description="Build the site of the documentation.")
    made.add_argument(
        "folder", nargs="?", type=Path, default=BUILT, help="where to write the pages (default: docs/_build)"
    )
    made.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one for each core)")
    return made


def main(arguments: list[str] | None = None) -> int:
    """Run Sphinx on `docs/` and return its exit status."""
    options = parser().parse_args(arguments)
    try:
        from sphinx.application import Sphinx
        from sphinx.errors import SphinxError
        from sphinx.util.console import color_terminal, nocolor
    except ModuleNotFoundError as error:
        print(f'tools/build_docs.py: {error}: python -m pip install -e ".[docs]"', file=sys.stderr)
        return 2
    if not color_terminal():
        nocolor()
    source, folder = ROOT / "docs", options.folder
    progress = Progress(sys.stdout)
    gc.disable()  # The cyclic collector, which walks all pages read so far, takes a third of the time: 72 s for 45.
    print("Building the site; the pages of the reference come from the library itself.", flush=True)
    try:
        site = Sphinx(
            source, source, folder, folder / ".doctrees", "html",
            status=progress, warning=sys.stderr, warningiserror=True, parallel=options.jobs,
        )  # fmt: skip
        site.build()
    except SphinxError as error:
        progress.close_line()
        print(f"tools/build_docs.py: {error}", file=sys.stderr)
        return 1
    progress.close_line()
    if site.statuscode == 0:
        print(f"Built in {time.monotonic() - progress.begin:.0f} s: open {folder / 'index.html'}")
    return site.statuscode


if __name__ == "__main__":
    sys.exit(main())
