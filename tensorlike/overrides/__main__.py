"""The command line: `python -m tensorlike.overrides missing`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from .missing import report

__all__ = ["main", "parser"]


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tensorlike.overrides", description="What can be overridden, compared with PyTorch."
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    missing = commands.add_parser("missing", help="which of PyTorch's public names are absent, and why")
    missing.add_argument("--names", action="store_true", help="name them all")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    options = parser().parse_args(arguments)
    try:
        print(report(options.names))
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader, such as `head`, has closed the pipe: avoid an error when Python flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
