"""The hooks and fixtures of the pytest plugin: `pytest --override-coverage=pkg.mod:Type`, for tensor-like types.

`_tensorlike_pytest.py` imports this file when an option or a fixture is used. Counting is in `override_coverage.py`.
"""

from __future__ import annotations

import functools
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tensorlike._library_name import pytorch
from tensorlike.audit.errors import AuditError
from tensorlike.audit.making import api_named, target
from tensorlike.audit.outcomes import Outcome
from tensorlike.audit.public import audit
from tensorlike.overrides import resolve_name

from .coverage_html import is_file, require_jinja, write_html
from .coverage_report import CoverageReport, HandlerCoverage, TypeCoverage, matches
from .covered_functions import functions_for
from .handler_lines import LineTracer, line_tracer
from .override_coverage import Recorder, inherits_default

_PLUGIN = "tensorlike-override-coverage"
_WORKER_KEY = "tensorlike_override_coverage"


def start(config: pytest.Config) -> None:
    """Start counting for `--override-coverage`."""
    option = config.option
    if option.override_coverage_context not in (None, "test"):
        raise pytest.UsageError(f"--override-coverage-context is test, not {option.override_coverage_context!r}")
    _check_writable("--override-coverage-json", option.override_coverage_json)
    _check_html(option.override_coverage_html)
    coverage = OverrideCoverage(config)
    config.pluginmanager.register(coverage, _PLUGIN)
    config.add_cleanup(coverage.stop)


def _limits(asked: list[str], types: Iterable[str], option: str) -> dict[str, float]:
    """Return the percentage that each type has to reach; "" stands for those that are not named."""
    limits = {}
    for part in (part.strip() for text in asked for part in text.split(",")):
        name, _, percentage = part.rpartition("=")
        found = [full for full in types if name in (full, full.rpartition(":")[2])] if name else [""]
        if not found:
            raise pytest.UsageError(f"{option}: --override-coverage names no type {name!r}, only {', '.join(types)}")
        limits.update(dict.fromkeys(found, _percentage(percentage, option)))
    return limits


def _percentage(text: str, option: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise pytest.UsageError(f"{option} takes a percentage from 0 to 100, not {text!r}")
    return value


def _check_html(file: str | None) -> None:
    """Raise UsageError when the report cannot be written as HTML."""
    if file is None:
        return
    folder = Path(file).absolute()
    if not file or is_file(folder):
        _check_writable("--override-coverage-html", file)
    else:
        existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
        if not existing.is_dir() or not os.access(existing, os.W_OK):
            raise pytest.UsageError(f"--override-coverage-html: cannot write to {file}")
    try:
        require_jinja()
    except ImportError as error:
        raise pytest.UsageError(str(error)) from None


def _check_writable(option: str, file: str | None) -> None:
    """Raise UsageError when a report cannot be written, before the tests run rather than after."""
    if file is None:
        return
    path = Path(file).absolute()
    if not file or path.is_dir():
        raise pytest.UsageError(f"{option} takes a file, not {'a folder: ' + file if file else repr(file)}")
    if not path.parent.is_dir():
        raise pytest.UsageError(f"{option}: there is no folder {Path(file).parent} to write {file} to")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise pytest.UsageError(f"{option}: cannot write {file}: permission denied")


def _recorders(asked: list[str], api: str | None) -> Iterator[tuple[str, Recorder]]:
    if api not in (None, "tensorlike", "torch"):
        raise pytest.UsageError(f"--override-coverage-api is tensorlike or torch, not {api!r}")
    try:
        functions_for(object, api or "tensorlike")
    except ImportError as error:
        raise pytest.UsageError(str(error)) from None
    where = ""
    for part in (part.strip() for text in asked for part in text.split(",")):
        module, _, name = part.rpartition(":")
        where = module or where
        if not where or not name:
            raise pytest.UsageError(
                f"--override-coverage takes FILE_OR_MODULE:TYPE[,TYPE], such as mypackage/units.py:Units, not {part!r}"
            )
        try:
            with target(f"{_module_of(where)}:{name}") as (_, kind):
                yield f"{where}:{name}", Recorder(kind, api or "tensorlike")
        except (AuditError, ValueError) as error:
            raise pytest.UsageError(f"--override-coverage={where}:{name}: {error}") from None


def _module_of(where: str) -> str:
    """Return the name of a module that is named by its file, and make sure that tests import the same one.

    The name is that by which pytest and tests import it: with the packages that the file lies in. The folder of the
    outermost one is on the import path from then on, as pytest does with those of tests.
    """
    if not where.endswith(".py"):
        if "/" in where:
            raise pytest.UsageError(f"--override-coverage: {where} is no Python file: its name must end with .py")
        return where
    path = Path(where).resolve()
    if not path.is_file():
        raise pytest.UsageError(f"--override-coverage: there is no file {where}")
    names, folder = [path.stem], path.parent
    while (folder / "__init__.py").is_file():
        names, folder = [folder.name, *names], folder.parent
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    return ".".join(names)


class OverrideCoverage:
    """The hooks that work while coverage is on: in one process, or in the controller and the workers of xdist."""

    def __init__(self, config: pytest.Config) -> None:
        option = config.option
        self.config = config
        self.recorders: dict[str, Recorder] = dict(_recorders(option.override_coverage, option.override_coverage_api))
        self.fail_under, self.fail_under_implemented = (
            _limits(asked, self.recorders, f"--override-coverage-{name}")
            for asked, name in (
                (option.override_coverage_fail_under, "fail-under"),
                (option.override_coverage_fail_under_implemented, "fail-under-implemented"),
            )
        )
        self.handlers = {name: recorder.handlers() for name, recorder in self.recorders.items()}
        self.lines: LineTracer | None = self._line_tracer() if option.override_coverage_html else None
        self.watching: list[Recorder | LineTracer] = [*self.recorders.values(), *filter(None, [self.lines])]
        self.installed: list[Recorder] = []
        self.from_workers: list[dict[str, Any]] = []
        self.lost: list[str] = []
        self.report: CoverageReport | None = None
        self.problems: list[str] = []
        if option.override_coverage_only:
            self._check_only(option.override_coverage_only)
        if self.lines is not None:
            self.lines.start()
        for recorder in self.recorders.values():
            recorder.lines = self.lines
            recorder.install()
            self.installed.append(recorder)

    def _line_tracer(self) -> LineTracer:
        def named(function: Any) -> str:
            names = [recorder.functions.parameters(function) for recorder in self.recorders.values()]
            found = next(filter(None, names), None)
            return found[0] if found is not None else next(iter(self.recorders.values())).functions.named(function)

        return line_tracer([handler for found in self.handlers.values() for handler in found], named)

    def _check_only(self, only: list[str]) -> None:
        for glob in only:
            listed = (recorder.functions.operands(recorder.kind) for recorder in self.recorders.values())
            if not any(matches(function, [glob]) for found in listed for function, _ in found):
                raise pytest.UsageError(f"--override-coverage-only: no function is called {glob!r}")

    def stop(self) -> None:
        """Restore the types."""
        while self.installed:
            self.installed.pop().uninstall()
        if self.lines is not None:
            self.lines.stop()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Do not count the tests that are marked so."""
        self._set("paused", item.get_closest_marker("no_override_coverage") is not None)
        try:
            return (yield)
        finally:
            self._set("paused", False)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        """Count calls under the name of the test and the phase, as pytest-cov does."""
        yield from self._phase(item, "setup")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Count calls under the name of the test and the phase."""
        yield from self._phase(item, "run")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Iterator[None]:
        """Count calls under the name of the test and the phase."""
        yield from self._phase(item, "teardown")

    def _phase(self, item: pytest.Item, phase: str) -> Iterator[None]:
        if self.config.option.override_coverage_context:
            self._set("context", f"{item.nodeid}|{phase}")
        try:
            yield
        finally:
            self._set("context", "")

    def _set(self, attribute: str, value: object) -> None:
        for one in self.watching:
            setattr(one, attribute, value)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object | None) -> None:
        """Add the counts of an xdist worker."""
        counts = getattr(node, "workeroutput", {}).get(_WORKER_KEY)
        if counts is None:
            self.lost.append(node.gateway.id)
        else:
            self.from_workers.append(counts)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Send the counts to the controller, or report them."""
        found: dict[str, Any] = {
            "counts": {name: recorder.counts() for name, recorder in self.recorders.items()},
            "lines": [] if self.lines is None else self.lines.hits(),
            "blocked": [] if self.lines is None else sorted(self.lines.blocked),
        }
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput[_WORKER_KEY] = found
            return
        if self.config.option.collectonly:
            return
        self.report = self._report([found, *self.from_workers])
        self._write(self.report)
        self.problems += self.report.failures(self.fail_under, self.fail_under_implemented)
        if self.problems and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _report(self, found: list[dict[str, Any]]) -> CoverageReport:
        """Return the report on what this process and the workers found."""
        only = self.config.option.override_coverage_only
        hits = [tuple(hit) for part in found for hit in part["lines"]]
        blocked = [tracer for part in found for tracer in part["blocked"]]
        types = []
        for name, recorder in self.recorders.items():
            counts = [tuple(count) for part in found for count in part["counts"][name]]
            handlers = [HandlerCoverage(handler, hits, complete=not blocked) for handler in self.handlers[name]]
            types.append(TypeCoverage(name, recorder, counts, only, handlers))
        return CoverageReport(types, blocked)

    def _write(self, report: CoverageReport) -> None:
        files: list[tuple[str | None, Callable[[Path], object]]] = [
            (self.config.option.override_coverage_html, lambda path: write_html(report, path)),
            (
                self.config.option.override_coverage_json,
                lambda path: path.write_text(report.to_json(), encoding="utf-8"),
            ),
        ]
        for file, write in files:
            if file:
                try:
                    write(Path(file))
                except OSError as error:
                    self.problems.append(f"cannot write {file}: {error.strerror}")

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print what was exercised and what was not."""
        if self.report is None:
            return
        terminalreporter.section("override coverage")
        option = self.config.option
        width = shutil.get_terminal_size().columns
        for line in self.report.lines(
            every=option.verbose > 0, show_missing=option.override_coverage_show_missing, width=width
        ):
            terminalreporter.line(line)
        for worker in self.lost:
            terminalreporter.line(f"the counts of worker {worker}, which crashed, are missing", yellow=True)
        for problem in self.problems:
            terminalreporter.line(f"ERROR: {problem}", red=True)


def fail_unless_overridden(func: Callable[..., Any], kind: type, *, operand: str | None = None, **how: Any) -> None:
    """Fail the test unless the type itself answers `func`: what the fixture `assert_overridden` is."""
    __tracebackhide__ = True
    api, name = _listing(func)
    report = audit(kind, only=name, api=api, **how)
    rows = [row for row in report.rows if row.function == name and (row.operand == operand or operand is None)]
    if not rows:
        raise ValueError(f"assert_overridden(): {name} has no operand {operand!r}")
    called = [row for row in rows if row.outcome is not Outcome.NOT_CALLED]
    good = {Outcome.OWN, Outcome.TYPE_LOST}
    if not inherits_default(kind, api.default_implementation):
        good.add(Outcome.INHERITED)
    bad = [
        f"{row.operand}: {_outcome(row)}{_why(row)}"
        for row in called
        # A handler that unwraps and rewraps everything answers without a rule for this function.
        if row.outcome not in good or row.by_default or (row.on_plain and not row.answered_by)
    ]
    if not called:
        bad = [f"{row.operand}: not called: {row.reason}" for row in rows]
    if bad:
        pytest.fail(f"{kind.__name__} does not override {name}\n" + "\n".join(bad), pytrace=False)


_api = functools.cache(api_named)


def _listing(func: Callable[..., Any]) -> tuple[Any, str]:
    """Return the audited library that `func` belongs to, and the name of `func` in it."""
    name = resolve_name(func)
    if name is not None:
        return _api("tensorlike"), name
    torch = pytorch()
    name = torch.overrides.resolve_name(func) if torch is not None else None
    if name is None or all(listed.name != name for listed in _api("torch").functions()):
        raise TypeError(f"assert_overridden() takes an overridable function such as tl.mul, not {func!r}")
    return _api("torch"), name


def _outcome(row: Any) -> str:
    if row.outcome.value == "own":
        if row.by_default:
            return "Tensor's own implementation computes it"
        return "the function is called again on plain tensors, by code for any function"
    return "NotImplemented" if row.left_out else str(row.outcome.label)


def _why(row: Any) -> str:
    return f": {row.call} raised {row.error_type}: {row.error}" if row.error_type else f": {row.call}"
