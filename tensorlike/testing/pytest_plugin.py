"""The pytest plugin: `pytest --override-coverage=pkg.mod:Type` and the fixtures for tests of tensor-like types.

Without the option only this file is imported and the hooks do nothing. The rest is in `override_coverage.py`.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tensorlike._library_name import pytorch

if TYPE_CHECKING:
    from tensorlike.overrides.trace_log import TraceLog

    from .override_coverage import CoverageReport, Recorder

_PLUGIN = "tensorlike-override-coverage"
_WORKER_KEY = "tensorlike_override_coverage"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("tensorlike", "overrides of tensor-like types")
    group.addoption(
        "--override-coverage",
        action="append",
        default=[],
        metavar="MODULE:TYPE[,TYPE]",
        help="count which overridable functions reach these types while the tests run, and report what never did. What "
        "cannot be done is said in one line with exit status 4",
    )
    group.addoption(
        "--override-coverage-api",
        metavar="tensorlike|torch",
        help="the library that types are written against which are no subclasses of its Tensor; tensorlike unless "
        "given. torch needs PyTorch",
    )
    group.addoption(
        "--override-coverage-only",
        action="append",
        default=[],
        metavar="GLOB",
        help="look at the functions of these names alone, such as 'linalg.*'",
    )
    for kind in ("html", "json"):
        group.addoption(f"--override-coverage-{kind}", metavar="FILE", help=f"write the report as {kind.upper()}")
    group.addoption(
        "--override-coverage-fail-under",
        metavar="PCT",
        help="exit with status 1 when less than this share of the operands was exercised, for any of the types",
    )
    parser.addini(
        "tensorlike_as_torch",
        "true: `import torch` gives tensorlike in these tests, as with -p tensorlike.as_torch; placeholder: and what "
        "it lacks is a placeholder",
        default="",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Install this library as torch, where the configuration says so, before anything of the tests is imported."""
    asked = str(early_config.getini("tensorlike_as_torch")).lower()
    if asked in ("", "false", "0", "no"):
        return
    missing = {"true": "raise", "1": "raise", "yes": "raise"}.get(asked, asked)
    if missing not in ("raise", "placeholder"):
        raise pytest.UsageError(f"tensorlike_as_torch is true, placeholder or false, not {asked!r}")
    from tensorlike.as_torch.pytest_hooks import Hooks

    Hooks.register(early_config.pluginmanager, missing)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Start counting if the option is given."""
    for line in (
        "no_override_coverage: what this test calls does not count for --override-coverage",
        "override_trace(**options): options of tensorlike.overrides.trace for the fixture, such as api='torch'",
    ):
        config.addinivalue_line("markers", line)
    option = config.option
    if not option.override_coverage:
        for name in ("html", "json", "fail_under", "api", "only"):
            if getattr(option, f"override_coverage_{name}") not in (None, []):
                asked = f"--override-coverage-{name.replace('_', '-')}"
                raise pytest.UsageError(f"{asked} needs --override-coverage=MODULE:TYPE")
        return
    fail_under = _percentage(option.override_coverage_fail_under)
    for kind in ("html", "json"):
        _check_writable(f"--override-coverage-{kind}", getattr(option, f"override_coverage_{kind}"))
    coverage = OverrideCoverage(config, fail_under)
    config.pluginmanager.register(coverage, _PLUGIN)
    config.add_cleanup(coverage.stop)


def _percentage(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise pytest.UsageError(f"--override-coverage-fail-under takes a percentage from 0 to 100, not {text!r}")
    return value


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
    from tensorlike.overrides.audit.making import AuditError, target

    from .covered_functions import functions_for
    from .override_coverage import Recorder

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
        if not where or not name or where.endswith(".py") or "/" in where:
            raise pytest.UsageError(
                f"--override-coverage takes MODULE:TYPE[,TYPE], such as mypackage.units:Units, not {part!r}"
            )
        try:
            with target(f"{where}:{name}") as (_, kind):
                yield f"{where}:{name}", Recorder(kind, api or "tensorlike")
        except (AuditError, ValueError) as error:
            raise pytest.UsageError(f"--override-coverage={where}:{name}: {error}") from None


class OverrideCoverage:
    """The hooks that work while coverage is on: in one process, or in the controller and the workers of xdist."""

    def __init__(self, config: pytest.Config, fail_under: float | None) -> None:
        option = config.option
        self.config = config
        self.fail_under = fail_under
        self.recorders: dict[str, Recorder] = dict(_recorders(option.override_coverage, option.override_coverage_api))
        self.installed: list[Recorder] = []
        self.from_workers: list[dict[str, Any]] = []
        self.lost: list[str] = []
        self.report: CoverageReport | None = None
        self.problems: list[str] = []
        if option.override_coverage_only:
            self._check_only(option.override_coverage_only)
        for recorder in self.recorders.values():
            recorder.install()
            self.installed.append(recorder)

    def _check_only(self, only: list[str]) -> None:
        from .override_coverage import matches

        for glob in only:
            listed = (recorder.functions.operands(recorder.kind) for recorder in self.recorders.values())
            if not any(matches(function, [glob]) for found in listed for function, _ in found):
                raise pytest.UsageError(f"--override-coverage-only: no function is called {glob!r}")

    def stop(self) -> None:
        """Restore the types."""
        while self.installed:
            self.installed.pop().uninstall()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Do not count the tests that are marked so."""
        paused = item.get_closest_marker("no_override_coverage") is not None
        for recorder in self.recorders.values():
            recorder.paused = paused
        try:
            return (yield)
        finally:
            for recorder in self.recorders.values():
                recorder.paused = False

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
        counts = {name: recorder.counts() for name, recorder in self.recorders.items()}
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput[_WORKER_KEY] = counts
            return
        option = self.config.option
        if option.collectonly:
            return
        for found in self.from_workers:
            for name, more in found.items():
                counts[name] += [tuple(count) for count in more]
        from .override_coverage import CoverageReport, TypeCoverage

        only = option.override_coverage_only
        self.report = CoverageReport(
            [TypeCoverage(name, recorder, counts[name], only) for name, recorder in self.recorders.items()]
        )
        for file, written in (
            (option.override_coverage_html, self.report.to_html),
            (option.override_coverage_json, self.report.to_json),
        ):
            if file:
                try:
                    Path(file).write_text(written(), encoding="utf-8")
                except OSError as error:
                    self.problems.append(f"cannot write {file}: {error.strerror}")
        if self.fail_under is not None:
            self.problems += [
                f"{covered.name}: {covered.percent:.2f} % is less than the {self.fail_under:g} % "
                f"of --override-coverage-fail-under"
                for covered in self.report.below(self.fail_under)
            ]
        if self.problems and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print what was exercised and what was not."""
        if self.report is None:
            return
        terminalreporter.section("override coverage")
        for line in self.report.lines(every=self.config.option.verbose > 0):
            terminalreporter.line(line)
        for worker in self.lost:
            terminalreporter.line(f"the counts of worker {worker}, which crashed, are missing", yellow=True)
        for problem in self.problems:
            terminalreporter.line(f"ERROR: {problem}", red=True)


@pytest.fixture
def assert_overridden() -> Callable[..., None]:
    """A function `assert_overridden(func, Type, **how)` that fails unless the type itself answers `func`.

    `func` is a function of tensorlike, or one of PyTorch's for a type that is written against it. It makes real calls
    with an instance in each operand position, as `tensorlike.overrides.audit` does, whose keywords `make`, `from_dense`
    and `to_dense` it takes. Falling back to plain tensors, inheriting Tensor's own implementation, NotImplemented and
    exceptions are failures; `operand=` checks one position alone.
    """

    def check(func: Callable[..., Any], kind: type, *, operand: str | None = None, **how: Any) -> None:
        __tracebackhide__ = True
        from tensorlike.overrides import audit
        from tensorlike.overrides.audit import Outcome

        from .override_coverage import inherits_default

        api, name = _listing(func)
        report = audit(kind, only=name, api=api, **how)
        rows = [row for row in report.rows if row.function == name and (row.operand == operand or operand is None)]
        if not rows:
            raise ValueError(f"assert_overridden(): {name} has no operand {operand!r}")
        called = [row for row in rows if row.outcome is not Outcome.NOT_CALLED]
        good = {Outcome.OWN, Outcome.TYPE_LOST}
        if not inherits_default(kind, api.default_implementation):
            good.add(Outcome.INHERITED)
        bad = [f"{row.operand}: {row.outcome.label}{_why(row)}" for row in called if row.outcome not in good]
        if not called:
            bad = [f"{row.operand}: not called: {row.reason}" for row in rows]
        if bad:
            pytest.fail(f"{kind.__name__} does not override {name}\n" + "\n".join(bad), pytrace=False)

    return check


@functools.cache
def _api(name: str) -> Any:
    from tensorlike.overrides.audit.api import api_named

    return api_named(name)


def _listing(func: Callable[..., Any]) -> tuple[Any, str]:
    """Return the audited library that `func` belongs to, and the name of `func` in it."""
    from tensorlike.overrides import resolve_name

    name = resolve_name(func)
    if name is not None:
        return _api("tensorlike"), name
    torch = pytorch()
    name = torch.overrides.resolve_name(func) if torch is not None else None
    if name is None or all(listed.name != name for listed in _api("torch").functions()):
        raise TypeError(f"assert_overridden() takes an overridable function such as tl.mul, not {func!r}")
    return _api("torch"), name


def _why(row: Any) -> str:
    return f": {row.call} raised {row.error_type}: {row.error}" if row.error_type else f": {row.call}"


@pytest.fixture
def override_trace(request: pytest.FixtureRequest) -> Iterator[TraceLog]:
    """The log of `tensorlike.overrides.trace`: every dispatch while the test runs, the handlers called and their
    answers.

    `@pytest.mark.override_trace(api="torch")` records the calls of PyTorch's functions; the marker takes the keywords
    of `trace`.
    """
    from tensorlike.overrides import trace

    marker = request.node.get_closest_marker("override_trace")
    with trace(**(marker.kwargs if marker is not None else {})) as log:
        yield log
