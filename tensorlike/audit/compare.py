"""`tensorlike compare TYPE_A TYPE_B`: the functions that one type answers and the other does not."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import IO, Any, NamedTuple

from . import cli
from .continuous import check_writable
from .errors import AuditError
from .foreign import text_of_error
from .model import AuditReport, AuditRow
from .outputs import kind_of
from .terminal import counted

FORMAT = "tensorlike-audit-comparison"
VERSION = 2
_LISTED = 12

_DESCRIPTION = """\
Audit two types and say what one answers and the other does not. A report that `tensorlike audit --json FILE.json` has
written may stand for a type.
"""

_EPILOG = """\
examples:
  tensorlike compare units.tensors:Metres units.tensors:Seconds --make "Metres(tl.ones(2))" --make "Seconds(tl.ones(2))"
  tensorlike compare before.json lazy/tensors.py:LazyTensor --api torch

--make, --from-dense and --to-dense may be given twice: for the first type and for the second.
"""


class Difference(NamedTuple):
    """One function and operand with which both types were called."""

    first: AuditRow
    second: AuditRow


class Comparison:
    """The calls that both reports have, by which of the two types answered with nothing wrong."""

    def __init__(self, first: AuditReport, second: AuditReport) -> None:
        self.first = first
        self.second = second
        rows = {row.key: row for row in second.rows if row.called}
        pairs = [Difference(row, rows[row.key]) for row in first.rows if row.called and row.key in rows]
        if not pairs:
            raise AuditError(
                f"nothing was compared: {first.type_name} ({first.api}) and {second.type_name} ({second.api}) have no "
                f"call in common"
            )
        self.both = [pair for pair in pairs if pair.first.passed and pair.second.passed]
        self.first_alone = [pair for pair in pairs if pair.first.passed and not pair.second.passed]
        self.second_alone = [pair for pair in pairs if pair.second.passed and not pair.first.passed]
        self.neither = [pair for pair in pairs if not (pair.first.passed or pair.second.passed)]

    @property
    def names(self) -> tuple[str, str]:
        """The names of the types, with their modules when they would be the same."""
        names = self.first.type_name, self.second.type_name
        short = names[0].rpartition(".")[2], names[1].rpartition(".")[2]
        if short[0] != short[1]:
            return short
        return names if names[0] != names[1] else (f"{names[0]} (first)", f"{names[1]} (second)")

    def to_json(self) -> str:
        """Return the comparison as JSON text."""
        data = {
            "format": FORMAT,
            "format_version": VERSION,
            "first": _head(self.first),
            "second": _head(self.second),
            "counts": {
                "both": len(self.both),
                "first_alone": len(self.first_alone),
                "second_alone": len(self.second_alone),
                "neither": len(self.neither),
            },
            "first_alone": [_pair(pair) for pair in self.first_alone],
            "second_alone": [_pair(pair) for pair in self.second_alone],
            "neither": [_pair(pair) for pair in self.neither],
        }
        return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def _head(report: AuditReport) -> dict[str, Any]:
    return {
        "type": report.type_name,
        "target": report.target,
        "api": report.api,
        "version": report.version,
        "instances": report.instances,
        "totals": report.totals.to_dict(),
    }


def _pair(pair: Difference) -> dict[str, Any]:
    found: dict[str, Any] = {"function": pair.first.function, "operand": pair.first.operand}
    for name, row in (("first", pair.first), ("second", pair.second)):
        found[name] = {"outcome": row.outcome.value, "passed": row.passed, "faults": row.faults, "call": row.call}
    return found


def print_comparison(comparison: Comparison, file: IO[str], *, every: bool = False) -> None:
    """Print the numbers of calls that both, one or neither of two types answer, and the functions of each."""
    first, second = comparison.names
    lines = [
        ("both", comparison.both),
        (f"{first} alone", comparison.first_alone),
        (f"{second} alone", comparison.second_alone),
        ("neither", comparison.neither),
    ]
    print("Answered with nothing wrong by", file=file)
    width = max(len(name) for name, _ in lines)
    for name, pairs in lines:
        functions = len({pair.first.function for pair in pairs})
        print(f"  {name.ljust(width)}  {len(pairs):6,} calls of {functions:5,} functions", file=file)
    _print_alone(f"{first} alone, by what is wrong with {second}", comparison.first_alone, 1, file, every)
    _print_alone(f"{second} alone, by what is wrong with {first}", comparison.second_alone, 0, file, every)


def _print_alone(title: str, pairs: list[Difference], faulty: int, file: IO[str], every: bool) -> None:
    if not pairs:
        return
    print(f"\n{title}:", file=file)
    kinds: dict[str, dict[str, list[str]]] = {}
    for pair in pairs:
        row = pair[faulty]
        kinds.setdefault(kind_of(row), {}).setdefault(row.function, []).append(row.operand)
    for kind, functions in sorted(kinds.items(), key=lambda item: -len(item[1])):
        names = [f"{function} ({', '.join(operands)})" for function, operands in functions.items()]
        shown = names if every else names[:_LISTED]
        print(f"  {kind}, {counted(len(names), 'function')}:", file=file)
        for name in shown:
            print(f"    {name}", file=file)
        if len(shown) < len(names):
            print(f"    … and {len(names) - len(shown)} more: --full lists them", file=file)


# --------------------------------------------------------------------------------------------------------- command line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tensorlike compare` to a parser."""
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("first", metavar="TYPE_A", help="FILE_OR_MODULE:TYPE, or REPORT.json")
    parser.add_argument("second", metavar="TYPE_B", help="the same for the second type")
    for option, help_text in (
        ("make", "an expression that makes an instance"),
        ("from-dense", "a function that makes an instance from a plain tensor"),
        ("to-dense", "a function that makes a plain tensor of an instance"),
    ):
        parser.add_argument(f"--{option}", action="append", default=[], metavar="EXPR", help=help_text)
    parser.add_argument(
        "--api",
        metavar="{tensorlike,torch}",
        default="tensorlike",
        help="the library that the types are written against; torch needs PyTorch",
    )
    parser.add_argument(
        "--only", action="append", default=[], metavar="GLOB", help="functions to call; may be given more than once"
    )
    parser.add_argument("--full", action="store_true", help="list all functions")
    parser.add_argument(
        "--json", nargs="?", const="-", metavar="FILE", help="write JSON to a file, or instead of the lists"
    )


def run(options: argparse.Namespace) -> int:
    """Run `tensorlike compare` and return its exit status: 0, or 2 when nothing could be compared."""
    try:
        for option in ("make", "from_dense", "to_dense"):
            if len(getattr(options, option)) > 2:
                raise AuditError(f"--{option.replace('_', '-')} is given once for both types, or once for each")
        if options.json not in (None, "-"):
            check_writable(options.json, "--json")
            options.json = os.path.abspath(options.json)
        reports = [_report(options, index) for index in (0, 1)]
        comparison = Comparison(*reports)
        if options.json is not None:
            cli.write(options.json, comparison.to_json())
        if options.json != "-":
            print_comparison(comparison, sys.stdout, every=options.full)
    except AuditError as error:
        print(f"tensorlike compare: {text_of_error(error)}", file=sys.stderr)
        return 2
    return 0


def _report(options: argparse.Namespace, index: int) -> AuditReport:
    """Return the report of the first type or the second: read from a file, or of an audit."""
    what = (options.first, options.second)[index]
    if what.endswith(".json"):
        try:
            with open(what, encoding="utf-8") as file:
                return AuditReport.from_json(file.read())
        except OSError as error:
            raise AuditError(f"cannot read the report {what}: {error.strerror or error}") from error
        except (ValueError, RecursionError) as error:
            raise AuditError(f"the report {what} is not usable: {error}") from error
    given = argparse.Namespace(target=what, api=options.api, only=options.only, jobs=None)
    given.plain_results = given.refusals = given.methods = given.positions = given.metadata = None
    for option in ("make", "from_dense", "to_dense"):
        expressions = getattr(options, option)
        setattr(given, option, expressions[min(index, len(expressions) - 1)] if expressions else None)
    return cli.audited(given)[0]
