"""Build the site of the documentation, with warnings as errors: `python tools/build_docs.py [FOLDER]`.

It needs the extra `docs`. The pages lie in `docs/_build` unless another folder is given; open `index.html` there.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main(arguments: list[str]) -> int:
    """Run Sphinx on `docs/` and return its exit status."""
    try:
        from sphinx.cmd.build import build_main
    except ModuleNotFoundError:
        print('tools/build_docs.py: Sphinx is missing: python -m pip install -e ".[docs]"', file=sys.stderr)
        return 2
    folder = Path(arguments[0]) if arguments else ROOT / "docs" / "_build"
    return build_main(["-b", "html", "-W", "--keep-going", "-q", "-j", "2", str(ROOT / "docs"), str(folder)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
