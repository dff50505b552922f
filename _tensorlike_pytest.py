"""The pytest plugin's entry point: options, markers and fixtures of tensorlike, declared without importing it.

Every run of pytest in an environment loads this file, also where tensorlike is only installed. The library, and NumPy
with it, is imported when an option or a fixture is used. What they do is in `tensorlike/testing/pytest_hooks.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tensorlike.overrides.trace_log import TraceLog


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    if "tensorlike.as_torch.finder" in sys.modules:  # As under `tensorlike run -m pytest`: pytest has a finder, too.
        sys.modules["tensorlike.as_torch.finder"].come_first()
    group = parser.getgroup("tensorlike", "overrides of tensor-like types")
    group.addoption(
        "--override-coverage",
        action="append",
        default=[],
        metavar="FILE_OR_MODULE:TYPE[,TYPE]",
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
    group.addoption(
        "--override-coverage-show-missing",
        action="store_true",
        help="list in the summary what no test exercised, the first names of each namespace; all with -v",
    )
    group.addoption(
        "--override-coverage-context",
        metavar="test",
        help="note which test made each call, for the reports as HTML and JSON",
    )
    group.addoption(
        "--override-coverage-html",
        metavar="FILE_OR_DIR",
        help="write the report as HTML, with the source of __torch_function__ and the calls that took each line. Needs "
        "Jinja2",
    )
    group.addoption("--override-coverage-json", metavar="FILE", help="write the report as JSON")
    group.addoption(
        "--override-coverage-fail-under",
        action="append",
        default=[],
        metavar="[TYPE=]PCT",
        help="exit with status 1 when less than this share of the operands was exercised, for any of the types or for "
        "the one that is named",
    )
    group.addoption(
        "--override-coverage-fail-under-implemented",
        action="append",
        default=[],
        metavar="[TYPE=]PCT",
        help="the same for the share of what a type implements",
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
        names = ("html", "json", "fail_under", "fail_under_implemented", "api", "only", "show_missing", "context")
        for name in names:
            if getattr(option, f"override_coverage_{name}") not in (None, [], False):
                asked = f"--override-coverage-{name.replace('_', '-')}"
                raise pytest.UsageError(f"{asked} needs --override-coverage=FILE_OR_MODULE:TYPE")
        return
    from tensorlike.testing.pytest_hooks import start

    start(config)


@pytest.fixture
def assert_overridden() -> Callable[..., None]:
    """A function `assert_overridden(func, Type, **how)` that fails unless the type itself answers `func`.

    `func` is a function of tensorlike, or one of PyTorch's for a type that is written against it. It makes real calls
    with an instance in each operand position, as `tensorlike.overrides.audit` does, whose keywords `make`, `from_dense`
    and `to_dense` it takes. Falling back to plain tensors, inheriting Tensor's own implementation, NotImplemented and
    exceptions are failures; `operand=` checks one position alone.
    """
    from tensorlike.testing.pytest_hooks import fail_unless_overridden

    return fail_unless_overridden


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
