"""The listings of a page in Markdown: its code, and what the page says that it prints."""

from __future__ import annotations

import contextlib
import io
import re
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

#: A listing in Python and, directly below it, the text that it prints.
LISTING = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:\n^```text\n(?P<printed>.*?)^```\n)?", re.DOTALL | re.MULTILINE
)
#: A listing of commands for a shell.
COMMANDS = re.compile(r"^```sh\n(?P<commands>.*?)^```\n", re.DOTALL | re.MULTILINE)


def run_listings(page: Path) -> Iterator[tuple[str, str, str]]:
    """Run the listings of a page in its order in one namespace; yield (code, expected, printed) of each.

    A listing may end in an error, if the page says so: the lines that tell of it then count as printed.
    """
    text = page.read_text(encoding="utf-8")
    # A module that can be imported, so that what the listings define can be pickled as it can where readers run them.
    module = sys.modules[page.stem.replace("-", "_")] = ModuleType(page.stem.replace("-", "_"))
    namespace: dict[str, Any] = vars(module)
    for listing in LISTING.finditer(text):
        # Lines count from the top of the page, so that a traceback points into it.
        code = "\n" * text[: listing.start("code")].count("\n") + listing["code"]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            try:
                exec(compile(code, page, "exec"), namespace)
            except Exception as error:
                if f"{type(error).__name__}: " not in (listing["printed"] or ""):
                    raise
                printed.write("".join(traceback.format_exception_only(error)))
        yield listing["code"], listing["printed"] or "", printed.getvalue()


def commands(page: Path) -> Iterator[str]:
    """Yield the commands of a page's shell listings, without comments; continued lines are joined."""
    for listing in COMMANDS.finditer(page.read_text(encoding="utf-8")):
        for line in re.sub(r"\\\n\s*", "", listing["commands"]).splitlines():
            command = line.partition(" #")[0].strip()
            if command and not command.startswith("#"):
                yield command
