"""The command line: `tensorlike audit ...`, or `python -m tensorlike audit ...`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from tensorlike import __version__

__all__ = ["main", "parser"]


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    from tensorlike.audit import cli, compare, starting_point
    from tensorlike.utils import error_pages

    parser = argparse.ArgumentParser(prog="tensorlike", description="Tools for the authors of tensor-like types.")
    parser.add_argument("--version", action="version", version=f"tensorlike {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    audit = commands.add_parser("audit", help="what a type answers, leaves out and gets wrong")
    cli.add_arguments(audit)
    compare.add_arguments(commands.add_parser("compare", help="what one type answers and another one does not"))
    new = commands.add_parser("new", help="write a starting point for a tensor-like type, with its tests")
    starting_point.add_arguments(new)
    info = commands.add_parser("info", help="what is computed with, and whether the native core is used")
    info.add_argument(
        "--require-native", action="store_true", help="end with status 1 where the native core is not used"
    )
    error_pages.add_arguments(commands.add_parser("error", help="explain an error, by the name that its last line has"))
    commands.add_parser("run", help="run a program written for PyTorch, with tensorlike as its torch", add_help=False)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["run"]:
        # Most of what follows is the program's, options too.
        from tensorlike.as_torch.runner import run

        return run(given[1:])
    from tensorlike.audit import cli, compare, starting_point
    from tensorlike.utils import error_pages

    options = parser().parse_args(given)
    try:
        runs = {"audit": cli.run, "compare": compare.run, "error": error_pages.run, "info": _info}
        runs["new"] = starting_point.run
        status = runs[options.command](options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print(f"tensorlike {options.command}: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader, such as `head`, has closed the pipe: avoid an error when Python flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return status


def _info(options: argparse.Namespace) -> int:
    from tensorlike import _native, show_config

    show_config()
    return 1 if options.require_native and _native.core is None else 0


if __name__ == "__main__":
    sys.exit(main())
