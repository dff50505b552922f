"""Options of an audit that are kept with a project: in a class, and in pyproject.toml.

A class says what holds wherever it is audited:

    class Boxes(tl.Tensor):
        __tensor_audit__ = {"plain_results": "ok", "make": lambda: Boxes(tl.ones(2, 4), size=(8, 8))}

A project says it for the command, for all types and for each one. The names are those of the command's options:

    [tool.tensorlike.audit]
    api = "torch"

    [tool.tensorlike.audit."boxes.tensors:Boxes"]
    make = "Boxes(torch.ones(2, 4), size=(8, 8))"
    plain-results = "ok"
    baseline = "tests/boxes-audit.json"

What is given in a call or on the command line comes first, then pyproject.toml's line for the type, its line for all,
and what the class says.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .errors import AuditError
from .foreign import described, let_through, name_of
from .metadata import named

#: What a type may mean to do, with the words for it: the first unless another is given.
CHOICES = {
    # A plain tensor where the function returns tensors: the type was lost, or that is meant.
    "plain_results": ("lost", "ok"),
    # What the type refuses: a fault, or meant; then it is listed, and the percentage is of the other calls.
    "refusals": ("fault", "ok"),
    # The methods, operators and properties of tensors: expected of instances, or none, so that functions alone count.
    "methods": ("expected", "none"),
    # Where instances stand: where functions take tensors, or where they take numbers, dims and sizes too.
    "positions": ("tensors", "all"),
}
CLASS_ATTRIBUTE = "__tensor_audit__"


def checked_choice(name: str, value: object, where: str) -> str:
    """Return a word of the option `name`; raise AuditError for all else."""
    words = CHOICES[name]
    if value not in words or not isinstance(value, str):
        raise AuditError(f"{where} is {' or '.join(map(repr, words))}, not {value!r}")
    return value


def _refuse_unknown(found: Iterable[str], known: Iterable[str], where: str) -> None:
    known = list(known)
    for name in found:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            end = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
            raise AuditError(f"{where} has no option {name!r}; {end}")


def _function(value: object, where: str) -> Callable[..., Any]:
    function = getattr(value, "__func__", value)  # staticmethod(...), which a dictionary does not bind
    if not callable(function):
        raise AuditError(f"{where} is a function, not {value!r}")
    return function


def options_of_class(kind: type) -> dict[str, Any]:
    """Return what `__tensor_audit__` of a type says; raise AuditError for what it cannot say."""
    try:
        found = getattr(kind, CLASS_ATTRIBUTE, None)
    except BaseException as error:
        let_through(error)
        raise AuditError(f"{name_of(kind)}.{CLASS_ATTRIBUTE} raises {described(error)}") from error
    if found is None:
        return {}
    where = f"{name_of(kind)}.{CLASS_ATTRIBUTE}"
    if not isinstance(found, Mapping):
        raise AuditError(f"{where} is a dictionary of options, not {found!r}")
    functions = ("make", "from_dense", "to_dense")
    _refuse_unknown(map(str, found), (*functions, *CHOICES, "metadata"), where)
    options: dict[str, Any] = {n: _function(found[n], f"{where}[{n!r}]") for n in functions if n in found}
    for name in CHOICES.keys() & found.keys():
        options[name] = checked_choice(name, found[name], f"{where}[{name!r}]")
    if "metadata" in found:
        options["metadata"] = named(found["metadata"], f"{where}['metadata']")
    return options


def _path(folder: str, value: Any) -> str:
    return "-" if value == "-" else os.path.join(folder, str(value))


class Project(NamedTuple):
    """The table [tool.tensorlike.audit] of a project."""

    #: The project's folder, which files are relative to.
    folder: str
    #: Options for all types, and for each, by the names that `argparse` gives them.
    common: dict[str, Any]
    types: dict[str, dict[str, Any]]

    def options(self, target: str) -> dict[str, Any]:
        """Return the options for one type."""
        return {**self.common, **self.types.get(target, {})}


def project_options(known: Mapping[str, type], files: Iterable[str], start: str | None = None) -> Project | None:
    """Return the table of the nearest pyproject.toml from the folder `start` upwards, None where there is none.

    `known` are the options by their names with underscores, each with the type of its values; `files` are those whose
    values are files. Raises AuditError for a table that is not understood.
    """
    here = Path(start or os.getcwd()).absolute()
    path = next((p for folder in (here, *here.parents) if (p := folder / "pyproject.toml").is_file()), None)
    if path is None:
        return None
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise AuditError(f"cannot read {path}: {error}") from error
    table: Any = data
    for name in ("tool", "tensorlike", "audit"):
        table = table.get(name, {}) if isinstance(table, dict) else {}
    if not isinstance(table, dict):
        raise AuditError(f"{path}: tool.tensorlike.audit is a table")
    if not table:
        return None
    folder, files = str(path.parent), set(files)

    def options(found: Mapping[str, Any], where: str) -> dict[str, Any]:
        _refuse_unknown(found, (name.replace("_", "-") for name in known), where)
        values: dict[str, Any] = {}
        for name, value in found.items():
            name = name.replace("-", "_")
            wanted = known[name]
            if wanted is list and isinstance(value, str):
                value = [value]
            if wanted is str and isinstance(value, (int, float)) and not isinstance(value, bool):
                value = str(value)  # fail-under = 90
            if not isinstance(value, wanted):
                raise AuditError(f"{where}: {name.replace('_', '-')} is {wanted.__name__}, not {value!r}")
            if name in files:
                value = [_path(folder, path) for path in value] if isinstance(value, list) else _path(folder, value)
            values[name] = value
        return values

    where = f"{path}, [tool.tensorlike.audit]"
    types = {name: value for name, value in table.items() if ":" in name}
    for name, value in types.items():
        if not isinstance(value, dict):
            raise AuditError(f"{where}: {name!r} is a table of options, not {value!r}")
    return Project(
        folder,
        options({name: value for name, value in table.items() if name not in types}, where),
        {name: options(value, f"{where[:-1]}.{name!r}]") for name, value in types.items()},
    )
