"""`tensorlike audit FILE_OR_MODULE:TYPE`: exit status 0, 1 when a limit is missed, 2 when nothing can be audited."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from . import continuous
from .errors import AuditError
from .foreign import described, interrupts_noted, let_through, one_line, process_restored, text_of_error
from .html import require_jinja, to_html
from .making import api_named, evaluated, instances_of, target
from .model import AuditReport
from .next_steps import advice
from .options import CHOICES, Project, checked_choice, project_options
from .outcomes import legend
from .outputs import Audited, Results, html_index
from .packages import PackageReport, audit_package, print_package
from .parallel import available_jobs
from .readers import readers
from .repro import Making, repro
from .run import Auditor
from .sources import Source, source_of
from .terminal import print_report, progress_bar

if TYPE_CHECKING:
    from .baseline import Baseline

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
  tensorlike audit units.tensors:UnitTensor --baseline audit-baseline.json --github --markdown "$GITHUB_STEP_SUMMARY"
  tensorlike audit --all units --api torch

instances are made with --from-dense or a classmethod __tensorlike_from_dense__(cls, tensor) on the type, else with
--make, else with the constructor without arguments; a subclass of Tensor needs none of these. Values are compared when
there is --to-dense or a method __tensorlike_to_dense__(self). An expression sees the names of the module that defines
the type, and tensorlike as tl.

Options may be kept in pyproject.toml, in the table [tool.tensorlike.audit] for all types and in
[tool.tensorlike.audit."FILE_OR_MODULE:TYPE"] for one. Without a type, all that have a table there are audited.

Each call is counted under one word:
{words}

The percentage is of the calls that are answered with nothing wrong: the words down to "inherited". With --refusals ok
it is of the calls that the type does not refuse.
exit status: 0; 1 below --fail-under, or with regressions against --baseline; 2 when nothing could be audited, or
nothing was compared with --baseline.
"""


#: The options that pyproject.toml may have, with the types of their values, and those of them that are files.
_KEPT = {
    "make": str, "from_dense": str, "to_dense": str, "api": str, "plain_results": str, "refusals": str, "methods": str,
    "positions": str, "metadata": list, "only": list, "json": str,
    "html": str, "fail_under": str, "baseline": str, **dict.fromkeys(continuous.FILES, str), "badge": list,
}  # fmt: skip
_FILES = ("json", "html", "baseline", *continuous.FILES)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tensorlike audit` to a parser."""
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG.replace("{words}", _words())
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("target", nargs="?", metavar="FILE_OR_MODULE:TYPE", help="the type to audit")
    parser.add_argument("--make", metavar="EXPR", help="an expression that makes an instance")
    parser.add_argument("--from-dense", metavar="EXPR", help="a function that makes an instance from a plain tensor")
    parser.add_argument("--to-dense", metavar="EXPR", help="a function that makes a plain tensor of an instance")
    parser.add_argument(
        "--api",
        metavar="{tensorlike,torch}",
        help="the library that the type is written against: tensorlike unless given; torch needs PyTorch",
    )
    parser.add_argument(
        "--plain-results",
        metavar="{lost,ok}",
        help="ok: the type means to answer with plain tensors; otherwise it is lost there",
    )
    parser.add_argument(
        "--refusals",
        metavar="{fault,ok}",
        help="ok: the type means to refuse what it refuses, which is listed and does not count",
    )
    parser.add_argument(
        "--methods",
        metavar="{expected,none}",
        help="none: instances have no methods and operators, on purpose; the percentage is of functions alone",
    )
    parser.add_argument(
        "--positions",
        metavar="{tensors,all}",
        help="all: instances stand in place of numbers, dims and sizes too; what the type refuses there does not count",
    )
    parser.add_argument(
        "--metadata",
        action="append",
        metavar="EXPR",
        help="an attribute, or a function of an instance, that results must share with their operand; may be given "
        "more than once",
    )
    parser.add_argument(
        "--only", action="append", metavar="GLOB", help="functions to call; may be given more than once"
    )
    parser.add_argument(
        "--json", nargs="?", const="-", metavar="FILE", help="write JSON to a file, or instead of the table"
    )
    parser.add_argument(
        "--jobs", type=_jobs, metavar="N", help="processes that make the calls, by default one for each processor"
    )
    parser.add_argument("--html", metavar="FILE", help="write an HTML report")
    parser.add_argument(
        "--repro", metavar="FUNCTION", help="print the smallest program that shows what is wrong with a function"
    )
    parser.add_argument(
        "--advise",
        action=argparse.BooleanOptionalAction,
        help="after the report, say what to do next with a type that answers next to nothing; takes up to two seconds, "
        "and is done unasked in a terminal where nothing is written to a file",
    )
    parser.add_argument("--fail-under", metavar="PCT", help="exit with 1 below this percentage")
    continuous.add_arguments(parser)


def _words() -> str:
    """Return the words of the table, a line or two each."""
    width = max(len(label) for _, label, _ in legend())
    lines = []
    for _, label, meaning in legend():
        first, *more = textwrap.wrap(meaning, 115 - width)
        lines += [f"  {label.ljust(width)}  {first}", *(f"  {' ' * width}  {line}" for line in more)]
    return "\n".join(lines)


def _jobs(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"a number of processes is expected, or 0 for this one alone, not {text!r}")
    return int(text)


def _percentage(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise AuditError(f"--fail-under must be a percentage from 0 to 100, not {text!r}")
    return value


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


@contextlib.contextmanager
def _running_code_of(what: str) -> Iterator[None]:
    """Run the code of types: the process is as before afterwards, and an exception is an AuditError."""
    with _streams_kept(), interrupts_noted(), process_restored():
        try:
            yield
        except AuditError:
            raise
        except BaseException as error:
            # A type whose introspection raises.
            let_through(error)
            raise AuditError(f"{what} cannot be audited: {described(error)}") from None
        let_through()


def _unheard(error: Any) -> None:
    """Ignore an exception without a caller: a replacement of `threading.excepthook` and `sys.unraisablehook`."""


def _run(options: argparse.Namespace) -> int:
    if options.json_schema:
        sys.stdout.write(continuous.json_schema())
        return 0
    if options.target is None and options.json not in (None, "-") and ":" in options.json:
        # `--json FILE_OR_MODULE:TYPE`: the option's file may be left out, so argparse took the target for it.
        options.target, options.json = options.json, "-"
    project = project_options(_KEPT, _FILES) or Project(os.getcwd(), {}, {})
    if options.all is not None:
        _check_all(options)
    elif options.target is None:
        if not project.types:
            raise AuditError("what to audit is missing: FILE_OR_MODULE:TYPE, such as units/tensors.py:UnitTensor")
        every = [argparse.Namespace(**{**vars(options), "target": name}) for name in project.types]
        return max([_audit_one(each, project) for each in every])
    return _audit_one(options, project)


def _audit_one(options: argparse.Namespace, project: Project) -> int:
    """Audit one type, or all of a package, and return the exit status."""
    for name, value in project.options(options.target or "").items():
        if not getattr(options, name) and not (options.all is not None and name in ("make", "from_dense", "to_dense")):
            setattr(options, name, value)
    for name in CHOICES:
        if getattr(options, name) is not None:
            checked_choice(name, getattr(options, name), f"--{name.replace('_', '-')}")
    # Errors of the options are raised at once, not after the audit.
    fail_under = None if options.fail_under is None else _percentage(options.fail_under)
    if options.html is not None:
        require_jinja()
    continuous.settle_files(options)
    if options.repro is not None:
        return _repro(options)
    baseline = continuous.checked(options)
    advice: list[str] = []
    if options.all is not None:
        with _running_code_of(options.all):
            package = _audited_package(options, project)
        results = package.results
    else:
        report, source, advice = audited(options, advise=_is_advised(options), baseline=baseline)
        results = Results(report.target, [Audited(report, source)])
    results = continuous.compared(results, baseline, update=options.update_baseline)
    if options.json is not None:
        write(options.json, package.to_json() if options.all is not None else report.to_json())
    if options.html is not None:
        if options.all is not None:
            _write_pages(options.html, results)
        else:
            write(options.html, to_html(report))
    shown = not continuous.takes_output(options)
    output = sys.stdout if shown else sys.stderr
    if shown and options.all is not None:
        print_package(package, output)
    elif shown:
        print_report(report, output)
        for line in advice:
            print(line, file=output)
    failed = continuous.finish(options, results, baseline, output, write)
    if options.all is not None and not results.totals.called:
        print(f"tensorlike audit: nothing of {options.all} was audited", file=sys.stderr)
        return 2
    if fail_under is not None:
        for report in [each.report for each in results.audited]:
            if report.coverage < fail_under:
                what = f"{report.type_name}: " if options.all is not None else ""
                text = f"{what}{report.coverage:.2f} % is under the {fail_under:g} % of --fail-under"
                print(text, file=sys.stderr)
                failed = True
    return 1 if failed else 0


def _is_advised(options: argparse.Namespace) -> bool:
    """Return whether next steps are looked for: when asked for, or by someone who reads a first audit in a terminal."""
    if continuous.takes_output(options):
        return False
    if options.advise is not None:
        return bool(options.advise)
    for_programs = (options.json, options.html, options.fail_under, options.baseline, options.github)
    wanted = any(for_programs) or any(getattr(options, option) for option in continuous.FILES)
    return not wanted and sys.stdout is not None and sys.stdout.isatty()


def _audited_package(options: argparse.Namespace, project: Project) -> PackageReport:
    with progress_bar() as progress:
        return audit_package(
            options.all,
            api=options.api or "tensorlike",
            only=options.only or (),
            options={name.replace(":", "."): given for name, given in project.types.items()},
            plain_results=options.plain_results,
            refusals=options.refusals,
            methods=options.methods,
            metadata=options.metadata,
            # A type is audited in a process of its own, so that 0 for none is one at a time.
            jobs=None if options.jobs is None else max(1, options.jobs),
            progress=progress,
        )


def audited(
    options: argparse.Namespace, *, advise: bool = False, baseline: Baseline | None = None
) -> tuple[AuditReport, Source | None, list[str]]:
    """Audit the type that `options` name; return the report, where its `__torch_function__` is, and what to do next."""
    with _running_code_of(options.target):
        report, source, advice = _audited(options, advise, baseline)
    report.target = one_line(options.target)
    return report, source, advice


@contextlib.contextmanager
def _auditor(options: argparse.Namespace, progress: Callable[[int, int, str], None] | None) -> Iterator[Any]:
    """Yield the module of the type and the Auditor that the options ask for."""
    api = api_named(options.api or "tensorlike")
    with target(options.target) as (module, kind):
        given: dict[str, Any] = {}
        for option, name in (("--make", "make"), ("--from-dense", "from_dense"), ("--to-dense", "to_dense")):
            expression = getattr(options, name)
            if expression is not None:
                given[name] = evaluated(expression, option, module, kind)
        _, maker = instances_of(kind, api=api, **given)
        # The first makes instances, the second where that raises.
        expressions = [one_line(how) for how in (options.from_dense, options.make) if how is not None]
        maker.how = ", else ".join(expressions) or maker.how
        yield (
            module,
            kind,
            Auditor(
                kind,
                maker,
                only=options.only or (),
                progress=progress,
                api=api,
                plain_results=options.plain_results,
                refusals=options.refusals,
                methods=options.methods,
                positions=options.positions,
                metadata=readers(options.metadata, module, kind) if options.metadata else None,
            ),
        )


def _audited(
    options: argparse.Namespace, advise: bool, baseline: Baseline | None
) -> tuple[AuditReport, Source | None, list[str]]:
    """Return the report, the type's source, and what to do next with a type that answers next to nothing."""
    with progress_bar() as progress, _auditor(options, progress) as (_, kind, auditor):
        jobs = available_jobs() if options.jobs is None else options.jobs
        selection = None if baseline is None else continuous.Selection(options, auditor, baseline)
        report: AuditReport = auditor.run(jobs)
        if selection is not None:
            selection.write(write)
            return report, source_of(kind), [selection.note] if selection.note else []
        if not advise:
            return report, source_of(kind), []
        return report, source_of(kind), advice(auditor, report, options.to_dense)


def _repro(options: argparse.Namespace) -> int:
    with _running_code_of(options.target), _auditor(options, None) as (module, _, auditor):
        file = os.path.abspath(getattr(module, "__file__", None) or "")
        folder = next((p for p in sys.path if p and file.startswith(os.path.join(os.path.abspath(p), ""))), "")
        name = options.target.rpartition(":")[2]
        making = Making(module, folder, name, options.make, options.from_dense, options.to_dense)
        program, others = repro(auditor, making, options.repro)
    print(program, end="")
    if others:
        print(f"Also wrong, each with a program of its own: {', '.join(others)}", file=sys.stderr)
    return 0


def _check_all(options: argparse.Namespace) -> None:
    """Raise AuditError for options of one type that are given together with --all."""
    given = [option for option in ("target", "make", "from_dense", "to_dense") if getattr(options, option) is not None]
    if given:
        what = "FILE_OR_MODULE:TYPE" if given[0] == "target" else f"--{given[0].replace('_', '-')}"
        raise AuditError(f"{what} is for one type, --all for all types of a package: give one of them")


def _write_pages(path: str, results: Results) -> None:
    """Write an HTML page that lists the types, and beside it a folder with the page of each."""
    folder = f"{os.path.splitext(path)[0]}-types"
    os.makedirs(folder, exist_ok=True)
    for report in (each.report for each in results.audited):
        write(os.path.join(folder, f"{report.type_name}.html"), to_html(report))
    write(path, html_index(results, os.path.basename(folder)))


def write(path: str, text: str, *, append: bool = False) -> None:
    """Write a text to a file, or to standard output for `-`; raise AuditError when it cannot be written."""
    if path == "-":
        sys.stdout.write(text)
        return
    try:
        with open(path, "a" if append else "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise AuditError(f"cannot write {path}: {error.strerror or error}") from error
