"""Write the tutorials as notebooks: `python tools/build_notebooks.py FOLDER`. It needs the extra `docs`.

A notebook has the page's text and its listings, in its order; what a listing prints is left for the notebook to show.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
#: C++ needs a compiler, so that its page is no notebook.
TUTORIALS = (DOCS / "writing-a-tensor-like-type.md", *sorted((DOCS / "tutorials").glob("*-*.md")))

_OUTPUT = re.compile(r"(^```python\n.*?^```\n)\n^```text\n.*?^```\n", re.DOTALL | re.MULTILINE)
#: The last line of a listing that prints a log's tree, or what a notebook shows: a notebook shows the object itself.
_TREE = re.compile(r"^print\((.+)\.(?:tree\(times=False\)|_repr_html_\(\))\)$", re.MULTILINE)


def notebook(page: Path) -> Any:
    """Return a page as a notebook without outputs."""
    import jupytext

    text = _OUTPUT.sub(r"\1", page.read_text(encoding="utf-8"))
    text = _TREE.sub(r"\1", text)
    found = jupytext.reads(text, fmt="md")
    found.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return found


def main(arguments: list[str]) -> int:
    """Write the notebooks and return the exit status."""
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    import jupytext

    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    for page in TUTORIALS:
        jupytext.write(notebook(page), folder / f"{page.stem}.ipynb")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
