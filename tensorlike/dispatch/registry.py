"""The table of every public function: what introspection, stubs, tests and the audit are computed from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .core import Entry
from .signature import Parameter

__all__ = ["IGNORED", "REGISTRY", "Row", "ignore", "register", "row_of"]


class Row:
    """One public function: where it is found, its signature, its operands, and the declaration it came from."""

    __slots__ = (
        "declaration",
        "dummy",
        "entry",
        "form",
        "function",
        "key",
        "name",
        "namespace",
        "overridable",
        "parameters",
    )

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        namespace: str,
        name: str,
        parameters: tuple[Parameter, ...],
        entry: Entry,
        form: str,
        declaration: Any = None,
        key: Any = None,
        overridable: bool = True,
    ) -> None:
        self.function = function
        self.namespace = namespace
        self.name = name
        self.parameters = parameters
        self.entry = entry
        #: "function", "method", "operator", "inplace", "property", "setter", "alias".
        self.form = form
        self.declaration = declaration
        #: What an implementation is handed as `func`: the function, or a property's `__get__` or `__set__`.
        self.key = function if key is None else key
        self.overridable = overridable
        self.dummy: Callable[..., Any] | None = None
        if entry.row is None:  # Later ones are the operators that report a method.
            entry.row = self

    @property
    def of_library(self) -> bool:
        """Whether the function is one of the library's own, so that its name says what it is."""
        return self.namespace.partition(".")[0] == "tensorlike"

    @property
    def full_name(self) -> str:
        """The dotted public name, such as `tensorlike.Tensor.add`."""
        return f"{self.namespace}.{self.name}"

    def operands(self) -> Iterator[Parameter]:
        """Yield the parameters that dispatch looks at."""
        return (p for p in self.parameters if p.operand)

    def __repr__(self) -> str:
        return f"<{self.form} {self.full_name}>"


#: Every public function by its full name, in the order of declaration.
REGISTRY: dict[str, Row] = {}

#: Public callables that cannot be overridden, by full name, with the reason.
IGNORED: dict[str, tuple[Callable[..., Any], str]] = {}


def register(row: Row, *, replace: bool = False) -> Row:
    """Add `row` to the registry; two functions of one name are an error of the declaration."""
    name = row.full_name
    if name in REGISTRY and not replace:
        raise ValueError(f"{name} is declared twice")
    REGISTRY[name] = row
    return row


def row_of(function: Callable[..., Any]) -> Row | None:
    """Return the row of a public function, or None."""
    for row in REGISTRY.values():
        if row.key == function:
            return row
    return None


def ignore(function: Callable[..., Any], full_name: str, reason: str) -> None:
    """Record that a public callable cannot be overridden, and why."""
    IGNORED[full_name] = (function, reason)
