"""The command line: `tensorlike audit ...`, or `python -m tensorlike audit ...`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

import tensorlike
from tensorlike import _native
from tensorlike.as_torch import runner

__all__ = ["main", "parser"]


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    from tensorlike.audit import cli, compare, starting_point  # noqa: PLC0415 - not for `run`
    from tensorlike.utils import error_pages  # noqa: PLC0415 - not for `run`

    parser = argparse.ArgumentParser(prog="tensorlike", description="Tools for the authors of tensor-like types.")
    parser.add_argument("--version", action="version", version=f"tensorlike {tensorlike.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, module, text in (
        ("audit", cli, "what a type answers, leaves out and gets wrong"),
        ("compare", compare, "what one type answers and another one does not"),
        ("new", starting_point, "write a starting point for a tensor-like type, with its tests"),
        ("error", error_pages, "explain an error, by the name that its last line has"),
    ):
        command = commands.add_parser(name, help=text)
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    info = commands.add_parser("info", help="what is computed with, and whether the native core is used")
    info.set_defaults(run=_info)
    info.add_argument(
        "--require-native", action="store_true", help="end with status 1 where the native core is not used"
    )
    commands.add_parser("run", help="run a program written for PyTorch, with tensorlike as its torch", add_help=False)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["run"]:
        # Most of what follows is the program's, options too.
        return runner.run(given[1:])
    options = parser().parse_args(given)
    try:
        status: int = options.run(options)
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
    tensorlike.show_config()
    return 1 if options.require_native and _native.core is None else 0


if __name__ == "__main__":
    sys.exit(main())
