"""Print the code that is generated for a function, or count it.

    python -m tensorlike.dispatch.generated add                # wrappers, implementations, recording and node of `add`
    python -m tensorlike.dispatch.generated Tensor.sum nn.functional.relu
    python -m tensorlike.dispatch.generated --summary add      # line counts alone
    python -m tensorlike.dispatch.generated --summary          # of all functions

Source: Note [Code on first call] in `deferred`. The library imports nothing of this module.
"""

from __future__ import annotations

import argparse
import importlib
import linecache
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import CodeType
from typing import Any, NamedTuple

from .deferred import materialize
from .operation import Form
from .registry import IGNORED, REGISTRY

__all__ = ["Piece", "forms_named", "main", "pieces", "pieces_of", "summary"]

_PREFIX = "<tensorlike "


class Piece(NamedTuple):
    """One piece of generated source: its file name, which names its purpose, and the text."""

    filename: str
    source: str

    @property
    def kind(self) -> str:
        """The kind of source: "wrapper", "implementation", "subclass path", "recording" or "node"."""
        return self.filename.removeprefix(_PREFIX).partition(" of ")[0]

    @property
    def lines(self) -> int:
        """The number of lines."""
        return len(self.source.splitlines())


def forms_named(name: str) -> list[Form]:
    """Return every form of the function `name`: "add", "Tensor.add" and "tensorlike.add" are the same operation.

    Raises LookupError when there is no such function.

    >>> [form.name for form in forms_named("nn.functional.hardswish")]
    ['hardswish']
    """
    for full in (name, f"tensorlike.{name}", f"tensorlike.Tensor.{name}", f"tensorlike.nn.functional.{name}"):
        form = REGISTRY.get(full)
        if form is not None:
            return form.operation.forms
    raise LookupError(f"no function called {name!r} is registered")


def pieces(functions: Iterable[Callable[..., Any]]) -> Iterator[Piece]:
    """Yield the generated code of these functions, writing it if necessary; each file once."""
    seen = set()
    for function in functions:
        materialize(function)
        code = getattr(function, "__code__", None)
        if type(code) is not CodeType or not code.co_filename.startswith(_PREFIX) or code.co_filename in seen:
            continue
        seen.add(code.co_filename)
        yield Piece(code.co_filename, "".join(linecache.getlines(code.co_filename)))


def _functions(forms: Iterable[Form]) -> Iterator[Callable[..., Any]]:
    operations = {}
    for form in forms:
        yield form.function
        yield form.implementation
        if form.inherited is not None:
            yield form.inherited
        operations[id(form.operation)] = form.operation
    for operation in operations.values():
        yield from operation.generated_functions()


def pieces_of(name: str) -> list[Piece]:
    """Return the generated code of all forms of the function `name`.

    >>> [piece.filename for piece in pieces_of("trunc")][:3]
    ['<tensorlike wrapper of tensorlike.trunc>', '<tensorlike implementation of tensorlike.trunc>', \
'<tensorlike subclass path of tensorlike.trunc>']
    """
    return list(pieces(_functions(forms_named(name))))


def _everything() -> Iterator[Callable[..., Any]]:
    library = importlib.import_module("tensorlike")
    for part in library.LAZY:
        getattr(library, part)
    yield from _functions(list(REGISTRY.values()))
    for function, _ in list(IGNORED.values()):
        yield function


def summary(found: Sequence[Piece]) -> str:
    """Return a table of the numbers of functions, distinct sources and lines of each kind of generated code."""
    table = [("", "functions", "sources", "lines")]
    kinds = list(dict.fromkeys(piece.kind for piece in found))
    for kind, chosen in [*((k, [p for p in found if p.kind == k]) for k in kinds), ("all", found)]:
        # Equal sources are compiled once, and are one thing to read.
        distinct = {piece.source: piece.lines for piece in chosen}
        table.append((kind, str(len(chosen)), str(len(distinct)), f"{sum(distinct.values()):,}"))
    return "\n".join(f"{a:<16}{b:>10}{c:>10}{d:>10}" for a, b, c, d in table)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tensorlike.dispatch.generated", description="Print the code that is generated for functions."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="a function, such as add, Tensor.sum, linalg.svd")
    parser.add_argument("--summary", action="store_true", help="print line counts, without a NAME of all functions")
    options = parser.parse_args(arguments)
    if not options.names:
        if not options.summary:
            parser.error("name a function, or ask for the --summary of all")
        print(summary(list(pieces(_everything()))))
        return 0
    try:
        found = [piece for name in options.names for piece in pieces_of(name)]
    except LookupError as error:
        parser.error(str(error.args[0]))
    found = list(dict.fromkeys(found))
    if options.summary:
        width = max((len(piece.filename) for piece in found), default=0)
        for piece in found:
            print(f"{piece.filename:<{width}}{piece.lines:>6}")
        print(summary(found))
        return 0
    first_of: dict[str, str] = {}
    for piece in found:
        first = first_of.setdefault(piece.source, piece.filename)
        if first == piece.filename:
            print(f"# {piece.filename}, {piece.lines} lines\n{piece.source.rstrip()}\n")
        else:
            print(f"# {piece.filename}: as {first}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
