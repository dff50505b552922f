"""Pages about the errors that users meet most: `tensorlike error NAME` prints one, and the site has them too.

An error names its page in a note: `explained` in `dispatch/tracebacks.py`. The examples on the pages are run by the
tests.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from pathlib import Path

__all__ = ["add_arguments", "names", "run", "text", "title"]

_FOLDER = Path(__file__).parent


def names() -> list[str]:
    """Return the names of the pages.

    >>> from tensorlike.utils import error_pages
    >>> "matmul-shapes" in error_pages.names()
    True
    """
    return sorted(page.stem for page in _FOLDER.glob("*.md"))


def text(name: str) -> str:
    """Return a page, in Markdown. Raises KeyError for a name that no page has.

    >>> from tensorlike.utils import error_pages
    >>> error_pages.text("matmul-shapes").splitlines()[0]
    '# The shapes of a product do not fit'
    """
    if name not in names():
        raise KeyError(name)
    return (_FOLDER / f"{name}.md").read_text(encoding="utf-8")


def title(name: str) -> str:
    """Return the title of a page.

    >>> from tensorlike.utils import error_pages
    >>> error_pages.title("matmul-shapes")
    'The shapes of a product do not fit'
    """
    return text(name).partition("\n")[0].removeprefix("# ")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tensorlike error`."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="as an error names it; without, all are listed")


def run(options: argparse.Namespace) -> int:
    """Print a page, or the list of all, and return the exit status."""
    if options.name is None:
        width = max(map(len, names()))
        for name in names():
            print(f"{name:{width}}  {title(name)}")
        return 0
    if options.name not in names():
        near = difflib.get_close_matches(options.name, names(), 3, 0.4)
        hint = f"did you mean {' or '.join(near)}?" if near else "`tensorlike error` lists the pages"
        print(f"tensorlike error: there is no page {options.name!r}; {hint}", file=sys.stderr)
        return 2
    print(text(options.name), end="")
    return 0
