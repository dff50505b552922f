"""The code that answered each function, so that an audit can leave out the functions whose code is as it was.

# Note [When a function is audited again]
While a baseline is written, the functions and methods of the project that run during the calls of each audited function
are noted, and digests of their source are kept in a file beside the baseline. With `--changed`, a function is called
again when one of its own has another digest. What no call ran (the module and class level, with its tables of handlers
and decorators, and functions that ran at import alone) may bear on every function: when that differs, or the options,
Python, the libraries or the packages that the type uses, all are called again. A digest leaves out comments, layout and
docstrings. It does not see data files, and not the functions of C extensions.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import functools
import hashlib
import importlib.metadata
import json
import os
import platform
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import AuditError
from .foreign import module_of, mro_of
from .model import AuditReport, AuditRow, ValueCheck
from .outcomes import FAULTY, Outcome
from .sources import shown_path

if TYPE_CHECKING:
    from .api import AuditedFunction

FORMAT = "tensorlike-audit-code"
VERSION = 1
#: The reason of a row that was not called again.
KEPT = "not called again: the code that answers is as it was"
_FILE, _PACKAGE = "file:", "package "
_Definition = ast.FunctionDef | ast.AsyncFunctionDef


class Location(NamedTuple):
    """Where a code object is written."""

    file: str
    line: int


class Recorder:
    """A trace function that notes the code that runs, by its identity: code compares by its contents, slowly.

    It returns None, so that it is asked once for each call: a profile function, which is told of functions in C and of
    returns too, makes an audit 5 times as long instead of 2.
    """

    def __init__(self) -> None:
        self.codes: dict[int, CodeType] = {}

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        self.codes[id(frame.f_code)] = frame.f_code

    def places(self) -> frozenset[Location]:
        """Return where the code that ran is written; the libraries' and code without a file are left out."""
        places = (Location(_real_path(code.co_filename), code.co_firstlineno) for code in self.codes.values())
        return frozenset(place for place in places if place.file and _package_of(place.file) is not None)


class _Function(NamedTuple):
    name: str
    node: _Definition
    first: int
    last: int


class _Module:
    """The source of a module: its functions by name, with their texts; nested functions have entries of their own."""

    def __init__(self, path: str) -> None:
        with open(path, "rb") as file:
            self.tree = ast.parse(file.read())
        self.functions = {function.name: function for function in _functions(self.tree)}

    def at(self, line: int) -> str | None:
        """Return the name of the innermost function around a line, or None at the module or class level."""
        around = [f for f in self.functions.values() if f.first <= line <= f.last]
        return max(around, key=lambda f: f.first).name if around else None

    def digest(self, name: str | None, apart: frozenset[str]) -> str:
        """Return the digest of a function, or of the rest of the module, without the functions named in `apart`."""
        nodes = {self.functions[other].node for other in apart if other in self.functions}
        if name is None:
            return _digest(_without(self.tree, nodes))
        node = self.functions[name].node
        found = _without(node, nodes - {node})
        # The decorators run at the level around it.
        found.decorator_list = []
        return _digest(found)


def _functions(tree: ast.AST, prefix: str = "") -> Iterator[_Function]:
    """Yield the functions below a node with their qualified names; one that is defined again gets a number."""
    seen: dict[str, int] = {}
    waiting = list(ast.iter_child_nodes(tree))
    while waiting:
        node = waiting.pop(0)
        if not isinstance(node, _Definition | ast.ClassDef):
            waiting[:0] = ast.iter_child_nodes(node)
            continue
        name = prefix + node.name
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            name += f"#{seen[name]}"
        if isinstance(node, _Definition):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            yield _Function(name, node, first, node.end_lineno or node.lineno)
        yield from _functions(node, f"{name}.")


def _without(node: ast.AST, apart: Iterable[_Definition]) -> Any:
    """Return a copy of a node in which the functions `apart` have their names and decorators alone."""
    empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    # The copy is of what is kept: `memo` stands for what was looked at already.
    memo: dict[int, Any] = {}
    for function in apart:
        stand_in = copy.copy(function)
        stand_in.args, stand_in.body, stand_in.returns = empty, [ast.Pass()], None
        memo[id(function)] = stand_in
    return copy.deepcopy(node, memo)


def _digest(node: ast.AST) -> str:
    for inner in ast.walk(node):
        if isinstance(inner, _Definition | ast.ClassDef | ast.Module) and ast.get_docstring(inner, clean=False):
            inner.body = inner.body[1:] or [ast.Pass()]
    return _short(ast.unparse(node))


def _short(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class AnsweringCode:
    """The code that answered the functions of one type: what is kept, and what it is compared with."""

    def __init__(
        self,
        circumstances: Mapping[str, str],
        modules: Mapping[str, str],
        pieces: Mapping[str, str],
        functions: Mapping[str, Sequence[str]],
    ) -> None:
        #: What every call depends on, by name: versions and options.
        self.circumstances = dict(circumstances)
        #: The digests of the modules of the project, without the functions that ran.
        self.modules = dict(modules)
        #: The digests of the functions that ran, by "module:qualified name".
        self.pieces = dict(pieces)
        #: The pieces that ran for each audited function.
        self.functions = {name: list(ran) for name, ran in functions.items()}

    @classmethod
    def of(
        cls,
        project: Mapping[str, str],
        ran: Mapping[str, Iterable[Location]],
        circumstances: Mapping[str, str],
        former: AnsweringCode | None = None,
    ) -> AnsweringCode:
        """Return the code of a type as it is now.

        Args:
            project: The modules of the project, as `project_of` returned them before the calls.
            ran: Where the code is written that ran for each audited function.
            circumstances: What the calls depend on besides.
            former: What was kept before, for functions that were not called this time.
        """
        modules = {path: _Module(path) for path in project}
        apart: dict[str, set[str]] = {path: set() for path in project}
        functions: dict[str, list[str]] = {}
        packages: dict[str, str] = {}
        for function, places in ran.items():
            used = set()
            for place in places:
                if place.file in modules:
                    name = modules[place.file].at(place.line)
                    if name is not None:
                        apart[place.file].add(name)
                        used.add(f"{project[place.file]}:{name}")
                elif package := _package_of(place.file):
                    packages[f"{_PACKAGE}{package}"] = _version(package)
                else:
                    # It was imported by a call.
                    used.add(f"{_FILE}{shown_path(place.file)}")
            functions[function] = sorted(used)
        if former is not None:
            same, _ = former.unchanged(project, circumstances)
            paths = {name: path for path, name in project.items()}
            for function in same - functions.keys():
                functions[function] = former.functions[function]
                for piece in functions[function]:
                    module, _, name = piece.partition(":")
                    if module in paths:
                        apart[paths[module]].add(name)
            if same:
                packages = {**former.circumstances, **packages}
        pieces = {
            f"{project[path]}:{name}": modules[path].digest(name, frozenset(names))
            for path, names in apart.items()
            for name in names
        }
        files = {piece for used in functions.values() for piece in used if piece.startswith(_FILE)}
        return cls(
            {**packages, **circumstances},
            {project[path]: modules[path].digest(None, frozenset(names)) for path, names in apart.items()},
            {**pieces, **{piece: _digest_of_file(piece) for piece in files}},
            functions,
        )

    def unchanged(self, project: Mapping[str, str], circumstances: Mapping[str, str]) -> tuple[frozenset[str], str]:
        """Return the functions whose answering code is as it was, and why there are none, if there are none."""
        packages = {
            name: _version(name.removeprefix(_PACKAGE)) for name in self.circumstances if name.startswith(_PACKAGE)
        }
        differs = _differing(self.circumstances, {**packages, **circumstances})
        if differs:
            return frozenset(), f"{_listed(differs)} changed"
        apart: dict[str, set[str]] = {name: set() for name in project.values()}
        for piece in self.pieces:
            module, _, name = piece.partition(":")
            apart.setdefault(module, set()).add(name)
        modules, pieces = {}, {piece: _digest_of_file(piece) for piece in self.pieces if piece.startswith(_FILE)}
        for path, module in project.items():
            source, names = _Module(path), frozenset(apart[module])
            modules[module] = source.digest(None, names)
            pieces.update({f"{module}:{n}": source.digest(n, names) for n in names if n in source.functions})
        differs = _differing(self.modules, modules)
        if differs:
            return frozenset(), f"code of {_listed(differs)} that may bear on all of them changed"
        same = self.pieces.keys() - _differing(self.pieces, pieces)
        return frozenset(name for name, used in self.functions.items() if same.issuperset(used)), ""

    def to_dict(self) -> dict[str, Any]:
        """Return what the file holds of it: functions that the same pieces answer stand together."""
        groups: dict[tuple[str, ...], list[str]] = {}
        for function, used in self.functions.items():
            groups.setdefault(tuple(used), []).append(function)
        answered = [{"pieces": list(used), "functions": sorted(found)} for used, found in sorted(groups.items())]
        return {
            "circumstances": self.circumstances, "modules": self.modules, "pieces": self.pieces, "answered": answered,
        }  # fmt: skip

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> AnsweringCode:
        """Return what `to_dict` made `data` from."""
        functions = {name: group["pieces"] for group in data["answered"] for name in group["functions"]}
        return cls(data["circumstances"], data["modules"], data["pieces"], functions)


def circumstances_of(api: str, version: str, options: Mapping[str, Any]) -> dict[str, str]:
    """Return what all calls depend on: Python, the libraries, and how the audit makes instances."""
    return {
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "tensorlike": _version("tensorlike"),
        "numpy": _version("numpy"),
        api: version,
        **{f"--{name.replace('_', '-')}": str(value) for name, value in options.items() if value is not None},
    }


def _differing(former: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    return sorted(name for name in former.keys() | now.keys() if former.get(name) != now.get(name))


def _digest_of_file(piece: str) -> str:
    try:
        return _Module(piece.removeprefix(_FILE)).digest(None, frozenset())
    except (OSError, ValueError, SyntaxError):
        return ""


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


@functools.cache
def _folders_of_libraries() -> tuple[str, ...]:
    """Return the folders of Python's library, of installed packages and of tensorlike, the longest first."""
    paths = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    paths += [*site.getsitepackages(), site.getusersitepackages(), *sys.modules["tensorlike"].__path__]
    return tuple(sorted({os.path.join(os.path.realpath(path), "") for path in paths if path}, key=len, reverse=True))


def project_of(kind: type) -> dict[str, str]:
    """Return the modules of the project by their real paths: those of the type's package, and all but libraries'."""
    packages = {module_of(base).partition(".")[0] for base in mro_of(kind)} - {"tensorlike", "torch", "builtins"}
    found: dict[str, str] = {}
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or not file.endswith(".py") or name == "__main__":
            continue
        path = os.path.realpath(file)
        # The file of a module may be gone, or lie in an archive.
        if not os.path.isfile(path):
            continue
        if name.partition(".")[0] in packages or not path.startswith(_folders_of_libraries()):
            found.setdefault(path, name)
    return found


@functools.cache
def _real_path(file: str) -> str:
    return "" if file[:1] == "<" else os.path.realpath(file)


@functools.cache
def _package_of(path: str) -> str | None:
    """Return the installed package that a file belongs to, "" for none, or None for what has a version at all times."""
    folder = next((each for each in _folders_of_libraries() if path.startswith(each)), None)
    if folder is None:
        return ""
    if not folder.rstrip(os.sep).endswith(("site-packages", "dist-packages")):
        return None
    name = path[len(folder) :].partition(os.sep)[0].removesuffix(".py")
    # Names with an underscore are hooks of installers.
    return None if name[:1] == "_" or name in ("torch", "tensorlike", "numpy") else name


@functools.cache
def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


class CodeFile:
    """The file beside a baseline that has the code of its types."""

    def __init__(self, path: str, types: Mapping[tuple[str, str], AnsweringCode] | None = None) -> None:
        self.path = path
        self.types = dict(types or {})

    @property
    def text(self) -> str:
        """The contents of the file."""
        types = [
            {"type": name, "api": api, **code.to_dict()} for (name, api), code in sorted(self.types.items())
        ]  # fmt: skip
        data = {"format": FORMAT, "format_version": VERSION, "types": types}
        return json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def code_file(baseline: str) -> CodeFile:
    """Return the file of code beside a baseline; it is empty where there is none.

    Raises AuditError when there is one that cannot be used.
    """
    path = f"{os.path.splitext(baseline)[0]}.code.json"
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        if not isinstance(data, Mapping) or (data.get("format"), data.get("format_version")) != (FORMAT, VERSION):
            raise ValueError(f'it has no "format": "{FORMAT}" of version {VERSION}')
        return CodeFile(path, {(t["type"], t["api"]): AnsweringCode.from_dict(t) for t in data["types"]})
    except FileNotFoundError:
        return CodeFile(path)
    except OSError as error:
        raise AuditError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise AuditError(f"{path} is not usable: {error}; --update-baseline writes it anew") from error


def kept_rows(former: AuditReport, function: AuditedFunction) -> list[AuditRow]:
    """Return the rows of a function as a baseline has them."""
    known = {row.operand: row for row in former.rows if row.function == function.name}
    rows = []
    for parameter in function.parameters:
        if not parameter.operand:
            continue
        # A baseline has the calls that were made, without the texts of what is wrong.
        row = copy.copy(known.get(parameter.name)) or AuditRow("", "", "", parameter.name, Outcome.NOT_CALLED)
        row.function, row.namespace, row.form, row.reason = function.name, function.namespace, function.form, KEPT
        row.error = KEPT if row.outcome in FAULTY else ""
        row.difference = KEPT if row.value is ValueCheck.DIFFERS else ""
        row.attributes = KEPT if row.attributes else ""
        row.signature = [
            dataclasses.replace(p, text=f"{p.fault.value} parameter {p.parameter!r}; {KEPT}") for p in row.signature
        ]
        rows.append(row)
    return rows
