"""`tensorlike audit --all PACKAGE`: every tensor-like type of an installed package in one report."""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import importlib.util
import json
import os
import pkgutil
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import IO, TYPE_CHECKING, Any

from .errors import AuditError
from .foreign import described, let_through, module_of, mro_of, name_of, one_line, process_restored, qualified_name
from .making import api_named, evaluated, instances_of
from .model import AuditReport
from .options import CHOICES
from .outputs import Audited, LeftOut, Results, table_of
from .parallel import available_jobs, in_children
from .readers import readers
from .run import Auditor
from .sources import source_of
from .terminal import counted

if TYPE_CHECKING:
    from .api import AuditedApi

FORMAT = "tensorlike-audit-package"
VERSION = 2

#: Parts of the names of modules that are no part of what a package offers: programs, and tests with their types.
_NOT_OFFERED = {"__main__": "a program", "conftest": "tests", "test": "tests", "tests": "tests", "_tests": "tests"}
_DISABLED = ("_disabled_torch_function_impl", "disabled_torch_function")
_EXPRESSIONS = ("make", "from_dense", "to_dense")


class PackageReport:
    """The audits of a package's types, the types that could not be audited, and the modules that were not imported."""

    def __init__(self, package: str, version: str, api: AuditedApi, results: Results) -> None:
        self.package = package
        self.version = version
        self.api = api.name
        self.api_version = api.version
        self.results = results

    @property
    def reports(self) -> list[AuditReport]:
        """The reports of the types, by name."""
        return [audited.report for audited in self.results.audited]

    def to_json(self) -> str:
        """Return the report as JSON text."""
        data = {
            "format": FORMAT,
            "format_version": VERSION,
            "api": self.api,
            "api_version": self.api_version,
            "package": self.package,
            "version": self.version,
            "reports": [report.to_dict() for report in self.reports],
            "types_left_out": [left_out._asdict() for left_out in self.results.types],
            "modules_left_out": [left_out._asdict() for left_out in self.results.modules],
        }
        return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def audit_package(
    package: str,
    *,
    api: AuditedApi | str = "tensorlike",
    only: Sequence[str] = (),
    options: Mapping[str, Mapping[str, Any]] | None = None,
    plain_results: str | None = None,
    refusals: str | None = None,
    methods: str | None = None,
    metadata: Sequence[Any] | None = None,
    jobs: int | None = None,
    seconds: float = 300.0,
    progress: Callable[[int, int, str], None] | None = None,
) -> PackageReport:
    """Audit every tensor-like type of an installed package: subclasses of Tensor and classes with `__torch_function__`.

    Args:
        package: The name that the package, or module, is imported by.
        api: The library that the types are written against, `"tensorlike"` or `"torch"`.
        only: Globs of the functions to call.
        options: For a type, by its full or its short name: `make`, `from_dense` and `to_dense`, each a function or an
            expression as on the command line, and what the arguments below say of all types.
        plain_results: `"ok"` where types mean to answer with plain tensors.
        refusals: `"ok"` where types mean to refuse what they refuse.
        methods: `"none"` where instances have no methods and operators, on purpose.
        metadata: What results must share with their operand: attributes, functions of an instance, or expressions.
        jobs: The number of types to audit at a time; the number of processors by default.
        seconds: The time after which the audit of one type is stopped.
        progress: Called with the number of types that are done, the number of all, and a name.

    Raises AuditError when the package cannot be imported.
    """
    chosen = api_named(api) if isinstance(api, str) else api
    modules, modules_left_out = _imported(package)
    kinds, types_left_out = _types(package, modules, chosen)
    # Samples are imported before the processes are made, so that each has them.
    next(iter(chosen.calls(chosen.functions()[0])), None)
    given = _by_type(options or {}, kinds)
    common = {"plain_results": plain_results, "refusals": refusals, "methods": methods, "metadata": metadata}
    work = [_work(kind, chosen, only, {**common, **given.get(kind, {})}) for kind in kinds]
    audited: list[Audited] = []
    with _one_thread(chosen):
        for done, ended in enumerate(in_children(work, jobs=jobs or available_jobs(), seconds=seconds), 1):
            kind = kinds[ended.number]
            if progress is not None:
                progress(done, len(kinds), name_of(kind))
            found = json.loads(ended.result) if ended.result else {"reason": ended.reason}
            if "reason" in found:
                types_left_out.append(LeftOut(qualified_name(kind), found["reason"]))
            else:
                audited.append(Audited(AuditReport.from_dict(found), source_of(kind)))
    audited.sort(key=lambda found: found.report.type_name)
    results = Results(package, audited, sorted(types_left_out), modules_left_out)
    return PackageReport(package, _version(package), chosen, results)


def _by_type(options: Mapping[str, Mapping[str, Any]], kinds: Sequence[type]) -> dict[type, Mapping[str, Any]]:
    """Return the options of each type, which may be named by any module that has it, or by its short name alone."""
    found: dict[type, Mapping[str, Any]] = {}
    for name, given in options.items():
        space, _, short = name.rpartition(".")
        named = vars(sys.modules[space]).get(short) if space in sys.modules else None
        for kind in kinds:
            if kind is named or name in (qualified_name(kind), name_of(kind)):
                found[kind] = given
    return found


def _version(package: str) -> str:
    names = importlib.metadata.packages_distributions().get(package.partition(".")[0], [])
    return importlib.metadata.version(names[0]) if names else ""


@contextlib.contextmanager
def _one_thread(api: AuditedApi) -> Iterator[None]:
    """Let PyTorch compute in one thread: forks of a process with its threads would wait for them without end."""
    torch = sys.modules.get("torch") if api.name == "torch" else None
    if torch is None:
        yield
        return
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _work(kind: type, api: AuditedApi, only: Sequence[str], options: Mapping[str, Any]) -> Callable[[], str]:
    """Return the function that audits a type in its process and returns JSON: the report, or why there is none."""
    def work() -> str:
        try:
            _, maker = instances_of(kind, api=api, **_given(kind, options))
            meant: dict[str, Any] = {name: options.get(name) for name in CHOICES}
            if options.get("metadata"):
                meant["metadata"] = readers(options["metadata"], sys.modules[module_of(kind)], kind)
            # In a process of its own, so that a call that ends it is a row of the report.
            return Auditor(kind, maker, only=only, api=api, **meant).run(min(1, available_jobs())).to_json()
        except AuditError as error:
            return json.dumps({"reason": one_line(str(error))})
        except BaseException as error:
            let_through(error)
            return json.dumps({"reason": f"the audit raises {described(error)}"})

    return work


def _given(kind: type, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the functions that make and read instances, of which `options` may have expressions."""
    found: dict[str, Any] = {}
    for name in _EXPRESSIONS:
        value = options.get(name)
        if isinstance(value, str):
            value = evaluated(value, f"--{name.replace('_', '-')}", sys.modules[module_of(kind)], kind)
        if value is not None:
            found[name] = value
    return found


# -------------------------------------------------------------------------------------------------------------- finding


def _imported(package: str) -> tuple[list[ModuleType], list[LeftOut]]:
    """Import a package with its modules; return those, and the ones that were left out with the reason."""
    left_out: dict[str, str] = {}
    with _quiet():
        try:
            top = importlib.import_module(package)
        except BaseException as error:
            let_through(error)
            text = f"cannot import {package}: {described(error)}"
            raise AuditError(f"{text}; --all takes the name that a package is imported by") from error
        for name in _submodules(top, left_out):
            try:
                importlib.import_module(name)
            except BaseException as error:
                let_through(error)
                left_out[name] = described(error)
    modules = [m for name, m in sorted(sys.modules.items()) if m is not None and _is_within(name, package)]
    return modules, [LeftOut(*item) for item in sorted(left_out.items())]


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Run the code of modules with its output and warnings unheard, and what it changes in the process undone."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere, process_restored(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
            yield


def _submodules(module: ModuleType, left_out: dict[str, str]) -> Iterator[str]:
    """Yield the names of a package's modules, each after the one that it is in; note those that are not offered."""
    for found in pkgutil.iter_modules(getattr(module, "__path__", ())):
        name = f"{module.__name__}.{found.name}"
        if found.name in _NOT_OFFERED:
            left_out[name] = f"not looked into: {_NOT_OFFERED[found.name]}"
            continue
        yield name
        if found.ispkg and name in sys.modules:
            yield from _submodules(sys.modules[name], left_out)


def _is_within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def _types(package: str, modules: Sequence[ModuleType], api: AuditedApi) -> tuple[list[type], list[LeftOut]]:
    """Return the types of a package that functions may ask, and those that they never do with the reason."""
    candidates: dict[type, None] = {}
    for module in modules:
        # Modules with a `__getattr__` of their own, or a `__dict__` that lies, are objects like others.
        for value in list(getattr(module, "__dict__", {}).values()):
            # An object may lie about its class, `type` does not.
            if issubclass(type(value), type) and _is_within(module_of(value), package):
                candidates[value] = None
    kinds, left_out = [], []
    for kind in sorted(candidates, key=qualified_name):
        implementation = _implementation(kind)
        if implementation is None or _is_of_another_library(kind, api) or kind is api.tensor:
            continue
        if any(name_of(base) == "TorchFunctionMode" for base in mro_of(kind)):
            continue  # A mode has a `__torch_function__` and is no operand.
        disabled = getattr(implementation, "__name__", "") in _DISABLED
        # PyTorch asks `__torch_dispatch__` for what its functions are made of.
        if disabled and _owner(kind, "__torch_dispatch__") in (None, api.tensor):
            left_out.append(LeftOut(qualified_name(kind), "its __torch_function__ is disabled, so no function asks it"))
        else:
            kinds.append(kind)
    return kinds, left_out


def _implementation(kind: type) -> Any:
    """Return what the class or a base class has as `__torch_function__`, bypassing the metaclass; None for none."""
    owner = _owner(kind, "__torch_function__")
    if owner is None:
        return None
    raw = vars(owner)["__torch_function__"]
    return getattr(raw, "__func__", raw)


def _owner(kind: type, name: str) -> type | None:
    """Return the class that defines a name for a type, or None."""
    return next((owner for owner in mro_of(kind) if name in vars(owner)), None)


def _is_of_another_library(kind: type, api: AuditedApi) -> bool:
    """Return whether a type is a subclass of the other library's tensor."""
    torch = sys.modules.get("torch")
    tensors = [sys.modules["tensorlike"].Tensor] + ([torch.Tensor] if torch is not None else [])
    return any(tensor is not api.tensor and tensor in mro_of(kind) for tensor in tensors)


# ------------------------------------------------------------------------------------------------------------- printing


def print_package(report: PackageReport, file: IO[str]) -> None:
    """Print a line for each type, then those that were not audited with the reason."""
    version = f" {report.version}" if report.version else ""
    print(f"Audit of {report.package}{version} against {report.api} {report.api_version}\n", file=file)
    lines = table_of(report.results)
    widths = [max(map(len, column)) for column in zip(*lines)]
    if len(lines) > 1:
        for line in (lines[0], ["-" * width for width in widths], *lines[1:]):
            cells = [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:]))]
            print("  ".join(cells).rstrip(), file=file)
        print(file=file)
    for left_out, what in ((report.results.types, "type"), (report.results.modules, "module")):
        if left_out:
            print(f"{counted(len(left_out), what)} left out:", file=file)
            for name, reason in left_out:
                print(f"  {name}: {reason}", file=file)
    totals = report.results.totals
    if not totals.called:  # A percentage of no calls would say that all is well.
        print(f"{report.package}: nothing was audited", file=file)
        return
    print(
        f"{report.package}: {counted(len(report.reports), 'type')}, {totals.passed} of "
        f"{counted(totals.called, 'call')} answered with nothing wrong: {totals.coverage:.1f} %",
        file=file,
    )
