"""The options of `tensorlike audit` for continuous integration: reports for other programs, and baselines."""

from __future__ import annotations

import argparse
import errno
import importlib.resources
import json
import os
from typing import IO, TYPE_CHECKING, Protocol

from . import outputs
from .answering_code import AnsweringCode, Recorder, circumstances_of, code_file, kept_rows, project_of
from .baseline import Baseline, print_changes
from .errors import AuditError
from .foreign import module_of, qualified_name
from .outcomes import legend
from .outputs import Results

if TYPE_CHECKING:
    from .answering_code import CodeFile
    from .run import Auditor

#: The options that name a file to write.
FILES = ("junit", "sarif", "markdown", "badge")


class Write(Protocol):
    """Writes a text to a file, or to standard output for `-`."""

    def __call__(self, path: str, text: str, *, append: bool = False) -> None: ...


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options to the parser of `tensorlike audit`."""
    group = parser.add_argument_group("for continuous integration")
    group.add_argument("--all", metavar="PACKAGE", help="audit every tensor-like type of an installed package")
    group.add_argument("--baseline", metavar="FILE", help="exit with 1 when something got worse since FILE was written")
    group.add_argument("--update-baseline", action="store_true", help="write FILE of --baseline as things are now")
    group.add_argument(
        "--changed", action="store_true", help="call only functions whose answering code changed since FILE was written"
    )
    group.add_argument("--junit", metavar="FILE", help="write JUnit's XML, a case for each function and operand")
    group.add_argument("--sarif", metavar="FILE", help="write SARIF 2.1.0, for code scanning")
    group.add_argument("--github", action="store_true", help="print annotations of a GitHub workflow")
    group.add_argument(
        "--markdown", metavar="FILE", help="write a summary; the file of $GITHUB_STEP_SUMMARY is added to"
    )
    group.add_argument(
        "--badge",
        action="append",
        metavar="FILE",
        help="write a badge: FILE.svg is drawn, FILE.json is for shields.io; may be given more than once",
    )
    group.add_argument("--json-schema", action="store_true", help="print the JSON Schema of --json and --baseline")


def json_schema() -> str:
    """Return the JSON Schema of what `--json` writes, of comparisons and of baselines."""
    folder = importlib.resources.files("tensorlike.audit")
    schema = json.loads(folder.joinpath("schema", "audit-2.json").read_text(encoding="utf-8"))
    schema["$defs"]["outcome"] = {
        "description": "A word that calls are counted under.",
        "oneOf": [{"const": o.value, "title": label, "description": meaning} for o, label, meaning in legend()],
    }
    return json.dumps(schema, indent=2) + "\n"


def _files(options: argparse.Namespace, option: str) -> list[str]:
    """Return the files that one option names: `--badge` may be given more than once."""
    given: str | list[str] | None = getattr(options, option)
    return [] if given is None else [given] if isinstance(given, str) else given


def check_writable(path: str, option: str) -> None:
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


def settle_files(options: argparse.Namespace) -> None:
    """Check that the files of all options can be written, and note their paths without regard to the folder.

    The code of a type may change the folder.
    """
    for option in ("html", "json", *FILES):
        given = _files(options, option)
        for path in given:
            if path != "-":
                check_writable(path, f"--{option}")
        paths = [path if path == "-" else os.path.abspath(path) for path in given]
        if given:
            setattr(options, option, paths if isinstance(getattr(options, option), list) else paths[0])


def takes_output(options: argparse.Namespace) -> bool:
    """Return whether a report goes to standard output in place of the table."""
    return any("-" in _files(options, option) for option in ("json", *FILES))


def checked(options: argparse.Namespace) -> Baseline | None:
    """Return the baseline to compare with; raise AuditError for options that do not go together.

    A baseline that is to be written and does not exist yet is empty.
    """
    printed = [option for option in ("json", *FILES) for path in _files(options, option) if path == "-"]
    if len(printed) > 1:
        raise AuditError(f"--{printed[0]} and --{printed[1]} cannot both go to standard output")
    for path in _files(options, "badge"):
        if not path.endswith((".json", ".svg")):
            raise AuditError(f"--badge takes the name of a file that ends with .json or .svg, not {path!r}")
    if options.baseline is None:
        if options.update_baseline:
            raise AuditError("--update-baseline needs --baseline FILE, the file to write")
        if options.changed:
            raise AuditError("--changed needs --baseline FILE: what changed since that was written")
        return None
    if options.changed and options.all is not None:
        raise AuditError("--changed is for one type, --all for all types of a package: give one of them")
    if options.update_baseline:
        check_writable(options.baseline, "--baseline")
        if not os.path.exists(options.baseline):
            return Baseline(options.baseline)
    return Baseline.read(options.baseline)


class Selection:
    """Leaves out of an audit what did not change, for `--changed`, and keeps the code that answered till then."""

    def __init__(self, options: argparse.Namespace, auditor: Auditor, baseline: Baseline) -> None:
        self.auditor = auditor
        self.key = qualified_name(auditor.kind), auditor.api.name
        self.note = ""
        self.file: CodeFile | None = None
        if not (options.changed or options.update_baseline):
            return
        self.file = code_file(options.baseline)
        self.project = project_of(auditor.kind)
        if module_of(auditor.kind) not in self.project.values():
            self.file = None
            self.note = "All functions were called: the type belongs to a library." if options.changed else ""
            return
        names = ("make", "from_dense", "to_dense", "plain_results", "refusals", "methods", "positions", "metadata")
        given = {name: getattr(options, name) for name in names}
        self.circumstances = circumstances_of(auditor.api.name, auditor.api.version, given)
        if options.update_baseline:
            auditor.recorder = Recorder()
        if not options.changed:
            return
        code, former = self.file.types.get(self.key), baseline.former(*self.key)
        if code is None or former is None:
            self.note = (
                f"All functions were called: {self.file.path if code is None else options.baseline} does not know "
                f"{self.key[0]} ({self.key[1]}); --update-baseline enters it."
            )
            return
        same, reason = code.unchanged(self.project, self.circumstances)
        auditor.kept_rows = {f.name: kept_rows(former, f) for f in auditor.functions if f.name in same}
        self.note = f"All functions were called: {reason}." if reason else (
            f"{len(auditor.functions) - len(auditor.kept_rows)} of {len(auditor.functions)} functions were called, "
            "whose answering code changed; the rows of the others are those of the baseline."
        )  # fmt: skip

    def write(self, write: Write) -> None:
        """Write the file of code, if the baseline is written."""
        if self.file is None or self.auditor.recorder is None:
            return
        former = self.file.types.get(self.key)
        self.file.types[self.key] = AnsweringCode.of(self.project, self.auditor.ran, self.circumstances, former)
        write(self.file.path, self.file.text)


def compared(results: Results, baseline: Baseline | None, *, update: bool) -> Results:
    """Return the results with the changes since a baseline; raise AuditError when nothing was compared.

    Of several types some may be missing in the baseline; of a baseline that is updated, all.
    """
    if baseline is None:
        return results
    audited, errors = [], []
    for each in results.audited:
        try:
            audited.append(each._replace(changes=baseline.changes(each.report)))
        except AuditError as error:
            errors.append(error)
            audited.append(each)
    if not update and len(errors) == len(audited):
        no_type = AuditError(f"nothing was compared with the baseline {baseline.path}: no type was audited")
        raise errors[0] if errors else no_type
    return results._replace(audited=audited)


def finish(
    options: argparse.Namespace, results: Results, baseline: Baseline | None, output: IO[str], write: Write
) -> bool:
    """Write the files that the options ask for; return whether something got worse than in the baseline."""
    if options.junit is not None:
        write(options.junit, outputs.junit(results))
    if options.sarif is not None:
        write(options.sarif, outputs.sarif(results))
    if options.markdown is not None:
        write(options.markdown, outputs.markdown(results), append=_is_summary(options.markdown))
    for path in _files(options, "badge"):
        write(path, outputs.badge_svg(results) if path.endswith(".svg") else outputs.badge(results))
    if options.github:
        for line in outputs.workflow_commands(results):
            print(line, file=output)
    failed = False
    for audited in results.audited:
        if audited.changes is not None:
            several = audited.report.type_name if len(results.audited) > 1 else ""
            print_changes(audited.changes, output, what=several)
            failed = failed or bool(audited.changes.regressions)
        elif baseline is not None and not options.update_baseline:
            print(f"{audited.report.type_name} is not in {baseline.path}: --update-baseline enters it", file=output)
    if baseline is None or not options.update_baseline:
        return failed
    updated = baseline.updated([audited.report for audited in results.audited], partial=bool(options.only))
    write(options.baseline, updated.text)
    print(f"Wrote {options.baseline}.", file=output)
    return False


def _is_summary(path: str) -> bool:
    """Return whether a file is the summary of a GitHub job, which several steps write to."""
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    return bool(summary) and os.path.abspath(path) == os.path.abspath(summary or "")
