"""Schemas of operators: the text that declares one, parsed.

Source: the schema language of PyTorch's operators, as `native_functions.yaml` and `torch.library.define` write it:
`muladd(Tensor a, Tensor(b!) b, int[2] size=1, *, float c=1e-5) -> (Tensor, Tensor(b!))`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NoReturn

#: The types that a schema can name.
BASE_TYPES: Final = frozenset(
    [
        "Tensor",
        "int",
        "SymInt",
        "float",
        "complex",
        "bool",
        "SymBool",
        "SymFloat",
        "str",
        "Scalar",
        "number",
        "Device",
        "ScalarType",
        "Layout",
        "MemoryFormat",
        "Generator",
        "Dimname",
        "Storage",
        "Stream",
        "QScheme",
        "Any",
        "t",
        "AnyEnumType",
        "NoneType",
    ]
)

#: Types that are written in two ways.
_SAME: Final = {"SymInt": "int", "SymBool": "bool", "SymFloat": "float", "number": "Scalar"}

#: The default of an argument that has none.
NO_DEFAULT: Final = object()


@dataclass(frozen=True)
class Alias:
    """The alias annotation of an argument or a result: `(a)`, `(a!)`, `(a|b)`, `(a -> *)`."""

    before: tuple[str, ...]
    is_write: bool
    after: tuple[str, ...] | None = None

    def __str__(self) -> str:
        text = "|".join(self.before) + ("!" if self.is_write else "")
        return f"({text})" if self.after is None else f"({text} -> {'|'.join(self.after)})"


@dataclass(frozen=True)
class Type:
    """A type of a schema: a base type, or a list, an optional, a dict or a tuple of others."""

    name: str
    elements: tuple[Type, ...] = ()
    size: int | None = None
    alias: Alias | None = None

    def __str__(self) -> str:
        if self.name == "List":
            size = "" if self.size is None else str(self.size)
            return f"{self.elements[0]}[{size}]{self.alias or ''}"
        if self.name == "Optional":
            return f"{self.elements[0]}?"
        if self.name in ("Dict", "Tuple", "Future"):
            inner = ", ".join(map(str, self.elements))
            return f"({inner})" if self.name == "Tuple" else f"{self.name}({inner})"
        return self.name + str(self.alias or "")

    @property
    def base(self) -> str:
        """The name of the base type, with `SymInt` written as `int`."""
        return _SAME.get(self.name, self.name)

    @property
    def holds_tensors(self) -> bool:
        """Whether a value of this type is a tensor or holds tensors."""
        return self.name == "Tensor" or any(e.holds_tensors for e in self.elements)

    @property
    def is_write(self) -> bool:
        """Whether the operator writes into values of this type."""
        return (self.alias is not None and self.alias.is_write) or any(e.is_write for e in self.elements)

    @property
    def aliases(self) -> frozenset[str]:
        """The alias sets that a value of this type belongs to."""
        own = frozenset(self.alias.before) if self.alias is not None else frozenset()
        return own.union(*(e.aliases for e in self.elements))


@dataclass(frozen=True)
class Argument:
    """An argument of an operator, or one of its results."""

    name: str
    type: Type
    default: Any = NO_DEFAULT
    keyword_only: bool = False

    def __str__(self) -> str:
        text = f"{self.type} {self.name}" if self.name else str(self.type)
        return text if self.default is NO_DEFAULT else f"{text}={_written(self.default, self.type)}"

    @property
    def has_default(self) -> bool:
        """Whether the argument may be left out."""
        return self.default is not NO_DEFAULT


@dataclass(frozen=True)
class Schema:
    """A parsed schema: the name of an operator, its arguments and its results."""

    name: str
    overload_name: str
    arguments: tuple[Argument, ...]
    returns: tuple[Argument, ...]
    is_vararg: bool = False

    def __str__(self) -> str:
        written = []
        for index, argument in enumerate(self.arguments):
            if argument.keyword_only and (index == 0 or not self.arguments[index - 1].keyword_only):
                written.append("*")
            written.append(str(argument))
        if self.is_vararg:
            written.append("...")
        overload = f".{self.overload_name}" if self.overload_name else ""
        returns = ", ".join(map(str, self.returns))
        if len(self.returns) != 1:
            returns = f"({returns})"
        return f"{self.name}{overload}({', '.join(written)}) -> {returns}"

    @property
    def is_mutable(self) -> bool:
        """Whether the operator writes into one of its arguments."""
        return any(a.type.is_write for a in self.arguments)

    @property
    def written_names(self) -> tuple[str, ...]:
        """The names of the arguments that the operator writes into."""
        return tuple(a.name for a in self.arguments if a.type.is_write)

    @property
    def may_alias(self) -> bool:
        """Whether a result may share memory with an argument."""
        given = frozenset[str]().union(*(a.type.aliases for a in self.arguments))
        return any(r.type.aliases & given for r in self.returns)


def _written(value: object, kind: Type) -> str:
    while kind.name == "Optional":
        kind = kind.elements[0]
    if isinstance(value, list):
        if kind.size is not None and len(value) == kind.size and all(v == value[0] for v in value):
            return str(value[0])
        return "[" + ", ".join(_written(v, kind.elements[0]) for v in value) + "]"
    if kind.name == "str" and isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, float):
        # As C++ writes it: 17 digits, a point after a whole number.
        text = f"{value:.17g}"
        return text if re.search(r"[.ein]", text) else text + "."
    return str(value)


_TOKEN = re.compile(
    r"""\s*(?:(?P<name>[A-Za-z_][\w]*(?:(?:::|\.)[\w]+)*)|(?P<number>-?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|inf))"""
    r"""|(?P<string>"[^"]*"|'[^']*')|(?P<arrow>->)|(?P<dots>\.\.\.)|(?P<mark>[-(),\[\]?!|*=:.]))"""
)


class _Parser:
    """Reads a schema from left to right, one token ahead."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: Iterator[tuple[str, str, int]] = self._split()
        self.kind, self.value, self.at = next(self.tokens)

    def _split(self) -> Iterator[tuple[str, str, int]]:
        at = 0
        while self.text[at:].strip():
            match = _TOKEN.match(self.text, at)
            if match is None:
                start = at + len(self.text[at:]) - len(self.text[at:].lstrip())
                self.fail(f"expected a valid token but found '{self.text[start]}' here", start, 1)
            assert match.lastgroup is not None
            yield match.lastgroup, match[match.lastgroup], match.start(match.lastgroup)
            at = match.end()
        yield "end", "eof", len(self.text)

    def fail(self, problem: str, at: int | None = None, width: int | None = None) -> NoReturn:
        where = self.at if at is None else at
        marks = "~" * max(1, len(self.value) if width is None else width)
        shown = "" if where >= len(self.text) else f"{' ' * where}{marks} <--- HERE\n"
        raise RuntimeError(f"{problem}:\n{self.text}\n{shown}")

    def advance(self) -> str:
        value = self.value
        self.kind, self.value, self.at = next(self.tokens)
        return value

    def accept(self, value: str) -> bool:
        if self.kind in ("mark", "arrow", "dots") and self.value == value:
            self.advance()
            return True
        return False

    def expect(self, value: str) -> None:
        if not self.accept(value):
            self.fail(f"expected {'arrow' if value == '->' else value} but found '{self.found}' here")

    @property
    def found(self) -> str:
        """How messages call the current token."""
        return {"name": "ident", "number": "number", "string": "string_literal", "arrow": "arrow"}.get(
            self.kind, self.value
        )

    def identifier(self) -> str:
        if self.kind != "name":
            self.fail(f"expected ident but found '{self.found}' here")
        return self.advance()

    def schema(self) -> Schema:
        full = self.identifier()
        namespace, separator, rest = full.rpartition("::")
        name, _, overload = rest.partition(".")
        if self.kind == "end":
            raise RuntimeError("Tried to parse a function schema but only the operator name was given")
        if not self.accept("("):
            self.fail(f"expected eof but found '{self.found}' here")
        arguments, vararg = self.arguments()
        self.expect("->")
        returns = self.returns()
        if self.kind != "end":
            self.fail(f"expected eof but found '{self.value}' here")
        return Schema(namespace + separator + name, overload, tuple(arguments), tuple(returns), vararg)

    def arguments(self) -> tuple[list[Argument], bool]:
        found: list[Argument] = []
        keyword_only = vararg = False
        while not self.accept(")"):
            if (found or keyword_only) and not self.accept(","):
                self.expect(")")
            if self.accept("*"):
                keyword_only = True
                continue
            if self.accept("..."):
                vararg = True
                self.expect(")")
                break
            kind = self.type()
            name = self.identifier()
            default = self.default(kind) if self.accept("=") else NO_DEFAULT
            if default is NO_DEFAULT and not keyword_only and found and found[-1].has_default:
                raise RuntimeError(
                    f"Non-default positional argument follows default argument. Parameter {name} in {self.text}"
                )
            found.append(Argument(name, kind, default, keyword_only))
        return found, vararg

    def returns(self) -> list[Argument]:
        if self.accept("..."):
            return [Argument("", Type("Any"))]
        if not self.accept("("):
            kind = self.type()
            return [Argument(self.advance() if self.kind == "name" else "", kind)]
        found: list[Argument] = []
        while not self.accept(")"):
            if found and not self.accept(","):
                self.expect(")")
            kind = self.type()
            found.append(Argument(self.advance() if self.kind == "name" else "", kind))
        return found

    def type(self) -> Type:
        if self.accept("("):
            elements = [self.type()]
            while self.accept(","):
                elements.append(self.type())
            self.expect(")")
            found = Type("Tuple", tuple(elements))
        else:
            at, name = self.at, self.identifier()
            if name in ("Dict", "Future", "RRef", "Await"):
                self.expect("(")
                elements = [self.type()]
                while self.accept(","):
                    elements.append(self.type())
                self.expect(")")
                found = Type(name, tuple(elements))
            elif name in BASE_TYPES or name.startswith("__torch__."):
                alias = self.alias() if name == "Tensor" else None
                found = Type(name, alias=alias)
            else:
                self.fail(
                    "unknown type specifier. Common valid schema types include Tensor, SymInt, int, float, bool, "
                    "Scalar; also str, ScalarType, Device, Generator, lists (int[]) and optionals (Tensor?) of them",
                    at,
                    len(name),
                )
        while True:
            if self.accept("["):
                size = int(self.advance()) if self.kind == "number" else None
                self.expect("]")
                found = Type("List", (found,), size, self.alias())
            elif self.accept("?"):
                found = Type("Optional", (found,))
            else:
                return found

    def alias(self) -> Alias | None:
        if not self.accept("("):
            return None
        before = self.alias_set()
        write = self.accept("!")
        after = self.alias_set() if self.accept("->") else None
        self.expect(")")
        return Alias(before, write, after)

    def alias_set(self) -> tuple[str, ...]:
        names = ["*"] if self.accept("*") else [self.identifier()]
        while self.accept("|"):
            names.append(self.identifier())
        return tuple(names)

    def default(self, kind: Type) -> Any:
        inner = kind
        while inner.name == "Optional":
            inner = inner.elements[0]
        if self.kind == "name" and self.value == "None":
            self.advance()
            return None
        if inner.name == "Tensor":
            self.fail(f"expected None but found '{self.found}' here")
        if inner.name == "List":
            if self.accept("["):
                values: list[Any] = []
                while not self.accept("]"):
                    if values:
                        self.expect(",")
                    values.append(self.default(inner.elements[0]))
                return values
            value = self.default(inner.elements[0])
            return [value] * inner.size if inner.size is not None else [value]
        if self.kind == "string":
            return ast.literal_eval(self.advance())
        if self.kind == "number":
            text = self.advance()
            if text.lstrip("-") == "inf":
                return float(text)
            value = ast.literal_eval(text)
            return float(value) if inner.base == "float" else value
        if self.kind == "name" and self.value in ("True", "False", "true", "false"):
            return self.advance().lower() == "true"
        if self.kind == "name" and (self.value == "Mean" or inner.name in ("ScalarType", "Layout", "MemoryFormat")):
            # Constants of PyTorch's own schemas: `long`, `strided`, `contiguous_format`, a reduction.
            return self.advance()
        if self.kind != "name":
            self.fail(f"expected number but found '{self.found}' here")
        self.fail("invalid numeric default value")


def parse_schema(text: str) -> Schema:
    """Return the parsed schema of an operator.

    Raises RuntimeError that shows the place where `text` is no schema.

    >>> str(parse_schema("scale(Tensor x, float by=2) -> Tensor"))
    'scale(Tensor x, float by=2.) -> Tensor'

    Source: PyTorch's `torch._C.parse_schema`.
    """
    return _Parser(text).schema()


def split_name(qualified: str) -> tuple[str, str]:
    """Return the two parts of `ns::name.overload`; the overload "default" has no name."""
    name, _, overload = qualified.partition(".")
    return name, "" if overload == "default" else overload


def difference(declared: Schema, inferred: Schema) -> str:
    """Return how the types of a kernel differ from those of its schema, or an empty text."""
    for what, given, found in (
        ("argument", declared.arguments, inferred.arguments),
        ("return", declared.returns, inferred.returns),
    ):
        if len(given) != len(found):
            return f"The number of {what}s is different. {len(given)} vs {len(found)}."
    for what, given, found in (
        ("argument", declared.arguments, inferred.arguments),
        ("return", declared.returns, inferred.returns),
    ):
        for number, (one, other) in enumerate(zip(given, found, strict=True), 1):
            if not _same_type(one.type, other.type):
                return f"Type mismatch in {what} {number}: {one.type} vs {other.type}."
    return ""


def _same_type(declared: Type, inferred: Type) -> bool:
    """Return whether a kernel may take a type as another one: an optional tensor as one that may be undefined."""
    if declared.name == "Optional" and inferred.name != "Optional":
        return declared.elements[0].name == "Tensor" and inferred.name == "Tensor"
    if declared.name != inferred.name and declared.base != inferred.base:
        return False
    return len(declared.elements) == len(inferred.elements) and all(
        _same_type(a, b) for a, b in zip(declared.elements, inferred.elements, strict=True)
    )
