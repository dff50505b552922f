"""`python -m tensorlike run SCRIPT ARGS...`: run a program whose `torch` is this library.

The program sees what it would see if Python ran it: `sys.argv`, `sys.path`, `__main__`, and its own lines first in the
traceback of an error.
"""

from __future__ import annotations

import argparse
import builtins
import io
import os
import runpy
import sys
from collections.abc import Sequence
from types import ModuleType, TracebackType

from .absent import MODES, gaps_report
from .installation import install


def parser() -> argparse.ArgumentParser:
    """Return the parser of what stands before the program."""
    parser = argparse.ArgumentParser(
        prog="python -m tensorlike run",
        usage="%(prog)s [--missing {raise,placeholder}] [--gaps] (SCRIPT | -m MODULE) [ARGUMENTS ...]",
        description="Run a program written for PyTorch, with tensorlike as its torch.",
    )
    parser.add_argument("--missing", choices=MODES, default="raise", help="what names do that tensorlike lacks")
    parser.add_argument("--gaps", action="store_true", help="list at the end the names that were asked for and lack")
    parser.add_argument("-m", dest="module", metavar="MODULE", help="run a module")
    parser.add_argument(
        "script", metavar="SCRIPT", nargs="?", help="the script, a folder or archive with a __main__, or - for stdin"
    )
    return parser


def _parse(arguments: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    # All that follows the script or the module is the program's, options too.
    n = 0
    while n < len(arguments):
        word = arguments[n]
        if word in ("-m", "--missing"):
            n += 2
            if word == "-m":
                break
        elif word.startswith("-m") and not word.startswith("--"):
            n += 1
            break
        elif word.startswith("-") and word != "-":
            n += 1
        else:
            n += 1
            break
    known = parser()
    options = known.parse_args(arguments[:n])
    if options.module is None and options.script is None:
        known.error("name the script to run, or -m and a module")
    return options, list(arguments[n:])


def _own_lines(traceback: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames that lead to the program."""
    here = (os.path.dirname(__file__), os.path.dirname(os.path.dirname(__file__)))
    while traceback is not None:
        name = traceback.tb_frame.f_code.co_filename
        if not (os.path.dirname(name) in here or name.startswith("<frozen ") or name == runpy.__file__):
            return traceback
        traceback = traceback.tb_next
    return None


def _run_script(path: str) -> None:
    source = _source(path)
    if source is None:
        runpy.run_path(path, run_name="__main__")
        return
    code = compile(source, "<stdin>" if path == "-" else path, "exec")
    # A module of its own, which stays: threads and functions registered with atexit may look for it later.
    main = ModuleType("__main__")
    vars(main).update(__builtins__=builtins, __spec__=None)
    if path != "-":
        vars(main).update(__file__=path, __cached__=None)
    # By its second name, multiprocessing finds what children send that the program defines.
    sys.modules["__main__"] = sys.modules["__mp_main__"] = main
    exec(code, vars(main))


def _source(path: str) -> bytes | None:
    """Return the text of a script, which may be a pipe; None for a folder, an archive or a compiled file."""
    if path == "-":
        return sys.stdin.buffer.read()
    if os.path.isdir(path) or path.endswith(".pyc"):
        return None
    with io.open_code(os.path.abspath(path)) as file:
        found = file.read()
    return None if found.startswith(b"PK\x03\x04") else found


def run(arguments: Sequence[str]) -> int:
    """Run the program that the words of a command line name."""
    options, rest = _parse(arguments)
    script = options.script
    if script not in (None, "-") and not os.path.exists(script):
        print(f"python -m tensorlike run: can't open file {script!r}: there is no such file", file=sys.stderr)
        return 2
    sys.argv = [script or "-m", *rest]
    folder = os.path.dirname(os.path.abspath(script)) if script else os.getcwd()
    if not sys.flags.safe_path:
        # In place of the folder of the command itself, or the current one, which `python -m` puts there.
        sys.path[:1] = [folder]
    elif script is None:
        sys.path.insert(0, folder)
    install(options.missing)
    try:
        if script is None:
            runpy.run_module(options.module, run_name="__main__", alter_sys=True)
        else:
            _run_script(script)
    except SystemExit:
        raise
    except BaseException as error:
        _show(error)
        raise
    finally:
        if options.gaps:
            sys.stdout.flush()
            print(gaps_report(), file=sys.stderr)
    return 0


def _show(error: BaseException) -> None:
    """Show an error as Python shows that of a program, and have Python not show it again; it sets the exit status."""
    shown = sys.excepthook
    error.__traceback__ = _own_lines(error.__traceback__)
    if error.__traceback__ is None:  # Of the search for the program: what led to it is no line of a program either.
        error.__suppress_context__, error.__cause__ = True, None
    shown(type(error), error, error.__traceback__)

    def show(kind: type[BaseException], value: BaseException, traceback: TracebackType | None) -> None:
        if value is not error:
            shown(kind, value, traceback)

    sys.excepthook = show
