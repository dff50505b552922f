"""`tensorlike audit FILE_OR_MODULE:TYPE`: exit status 0, 1 when a limit is missed, 2 when nothing can be audited."""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import sys
import threading
from collections.abc import Iterator
from typing import Any

from .foreign import described, interrupts_noted, let_through, one_line, process_restored, text_of_error
from .making import AuditError, evaluated, instances_of, target
from .model import AuditReport, Regression

__all__ = ["add_arguments", "run"]

_DESCRIPTION = """\
Call every function that a type can override with an instance of the type in each operand position, and report what the
type answers, what it leaves out and what it gets wrong.
"""

_EPILOG = """\
examples:
  tensorlike audit examples/scalar_tensor.py:ScalarTensor --make "ScalarTensor(2, 2.0)"
  tensorlike audit units.tensors:UnitTensor --from-dense "lambda t: UnitTensor(t, 'm')" --to-dense "lambda u: u.value"
  tensorlike audit lazy/tensors.py:LazyTensor --api torch
  tensorlike audit units.tensors:UnitTensor --only "tensorlike.linalg.*" --html audit.html --fail-under 90

instances are made with --from-dense or a classmethod __tensorlike_from_dense__(cls, tensor) on the type, else with
--make, else with the constructor without arguments; a subclass of Tensor needs none of these. Values are compared when
there is --to-dense or a method __tensorlike_to_dense__(self). An expression sees the names of the module that defines
the type, and tensorlike as tl.

The percentage counts calls that are answered, by the type or by falling back to plain tensors, with nothing wrong.
exit status: 0; 1 below --fail-under, or with regressions against --baseline; 2 when nothing could be audited.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tensorlike audit` to a parser."""
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("target", nargs="?", metavar="FILE_OR_MODULE:TYPE", help="the type to audit")
    parser.add_argument("--make", metavar="EXPR", help="an expression that makes an instance")
    parser.add_argument("--from-dense", metavar="EXPR", help="a function that makes an instance from a plain tensor")
    parser.add_argument("--to-dense", metavar="EXPR", help="a function that makes a plain tensor of an instance")
    parser.add_argument(
        "--api",
        metavar="{tensorlike,torch}",
        default="tensorlike",
        help="the library that the type is written against; torch needs PyTorch",
    )
    parser.add_argument(
        "--only", action="append", default=[], metavar="GLOB", help="functions to call; may be given more than once"
    )
    parser.add_argument(
        "--json", nargs="?", const="-", metavar="FILE", help="write JSON to a file, or instead of the table"
    )
    parser.add_argument("--html", metavar="FILE", help="write an HTML report")
    parser.add_argument("--fail-under", metavar="PCT", help="exit with 1 below this percentage")
    parser.add_argument("--baseline", metavar="FILE", help="a report of --json: exit with 1 when something got worse")


def _percentage(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise AuditError(f"--fail-under must be a percentage from 0 to 100, not {text!r}")
    return value


def _check_writable(path: str, option: str) -> None:
    """Raise AuditError for a file that evidently cannot be written, without touching it."""
    folder = os.path.dirname(path) or os.curdir
    if not path:
        raise AuditError(f"{option} needs the name of a file")
    for wrong, number in (
        (os.path.isdir(path), errno.EISDIR),
        (not os.path.exists(folder), errno.ENOENT),
        (not os.path.isdir(folder), errno.ENOTDIR),
        (not os.access(path if os.path.exists(path) else folder, os.W_OK), errno.EACCES),
    ):
        if wrong:
            raise AuditError(f"cannot write {path}: {os.strerror(number)}")


def run(options: argparse.Namespace) -> int:
    """Run `tensorlike audit` and return its exit status."""
    try:
        return _run(options)
    except AuditError as error:
        print(f"tensorlike audit: {text_of_error(error)}", file=sys.stderr)
        return 2


@contextlib.contextmanager
def _streams_kept() -> Iterator[None]:
    """Keep the standard streams open during an audit, and errors in threads and `__del__` out of them."""
    streams = sys.stdout, sys.stderr
    hooks = threading.excepthook, sys.unraisablehook
    kept: list[int | None] = []
    for number in (1, 2):
        try:
            kept.append(os.dup(number))
        except OSError:
            kept.append(None)
    threading.excepthook = sys.unraisablehook = _unheard
    try:
        yield
    finally:
        threading.excepthook, sys.unraisablehook = hooks
        for number, descriptor, name, stream in zip((1, 2), kept, ("stdout", "stderr"), streams):
            if descriptor is not None:
                os.dup2(descriptor, number)
                os.close(descriptor)
            if stream is not None and stream.closed and descriptor is not None:
                stream = open(number, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)


def _unheard(error: Any) -> None:
    """Ignore an exception without a caller: a replacement of `threading.excepthook` and `sys.unraisablehook`."""


def _run(options: argparse.Namespace) -> int:
    from .terminal import print_regressions, print_report

    if options.target is None and options.json not in (None, "-") and ":" in options.json:
        # `--json FILE_OR_MODULE:TYPE`: the option's file may be left out, so argparse took the target for it.
        options.target, options.json = options.json, "-"
    if options.target is None:
        raise AuditError("what to audit is missing: FILE_OR_MODULE:TYPE, such as units/tensors.py:UnitTensor")
    # Errors of the options are raised at once, not after the audit.
    fail_under = None if options.fail_under is None else _percentage(options.fail_under)
    if options.html is not None:
        from .html import require_jinja

        require_jinja()
        _check_writable(options.html, "--html")
    if options.json not in (None, "-"):
        _check_writable(options.json, "--json")
    baseline = None if options.baseline is None else _baseline(options.baseline)
    # Relative to the folder that the user is in.
    for option in ("html", "json"):
        if getattr(options, option) not in (None, "-"):
            setattr(options, option, os.path.abspath(getattr(options, option)))
    with _streams_kept(), interrupts_noted(), process_restored():
        try:
            report = _audited(options)
        except AuditError:
            raise
        except BaseException as error:
            # A type whose introspection raises.
            let_through(error)
            raise AuditError(f"{options.target} cannot be audited: {described(error)}") from None
        let_through()
    report.target = one_line(options.target)
    regressions: list[Regression] = [] if baseline is None else report.regressions(baseline)
    if options.json is not None:
        _write(options.json, report.to_json())
    if options.html is not None:
        from .html import to_html

        _write(options.html, to_html(report))
    output = sys.stderr if options.json == "-" else sys.stdout
    if options.json != "-":
        print_report(report, output)
    if baseline is not None:
        print_regressions(regressions, options.baseline, output)
    failed = bool(regressions)
    if fail_under is not None and report.coverage < fail_under:
        print(f"{report.coverage:.2f} % is under the {fail_under:g} % of --fail-under", file=sys.stderr)
        failed = True
    return 1 if failed else 0


def _audited(options: argparse.Namespace) -> AuditReport:
    from .api import api_named
    from .run import Auditor
    from .terminal import progress_bar

    api = api_named(options.api)

    with target(options.target) as (module, kind):
        given: dict[str, Any] = {}
        for option, name in (("--make", "make"), ("--from-dense", "from_dense"), ("--to-dense", "to_dense")):
            expression = getattr(options, name)
            if expression is not None:
                given[name] = evaluated(expression, option, module, kind)
        _, maker = instances_of(kind, api=api, **given)
        if options.make is not None:
            maker.how = one_line(options.make)
        elif options.from_dense is not None:
            maker.how = one_line(options.from_dense)
        with progress_bar() as progress:
            return Auditor(kind, maker, only=options.only, progress=progress, api=api).run()


def _baseline(path: str) -> AuditReport:
    try:
        with open(path, encoding="utf-8") as file:
            return AuditReport.from_json(file.read())
    except OSError as error:
        raise AuditError(f"cannot read the baseline {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise AuditError(f"the baseline {path} is not usable: {error}") from error


def _write(path: str, text: str) -> None:
    if path == "-":
        sys.stdout.write(text)
        return
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise AuditError(f"cannot write {path}: {error.strerror or error}") from error
