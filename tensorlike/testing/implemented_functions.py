"""The functions that a type implements, read from its table of implementations and from its `__torch_function__`.

# Note [What a type implements]
No call is made to find out. A rule is a function registered with `overrides.implements`; else a function that
`__torch_function__` names in its source: it compares `func` with it (`func is tl.add`, `func in (tl.add, tl.sub)`,
`case tl.add`), or looks `func` up in a dictionary or a set that has it. A comparison after which NotImplemented is
returned is none. A policy, and code that hands every function on, is no rule: of a type without rules it is not known
what it implements. `out` is no operand of a rule, since an implementation takes it because the function does.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple, TypeGuard

from tensorlike.dispatch.operation import REFLECTED, form_of
from tensorlike.dispatch.signature import Parameter
from tensorlike.overrides.writing import TensorLike, registered_entries

from .covered_functions import CoveredFunctions
from .handler_lines import function_of


class Rule(NamedTuple):
    """The implementation of a function, in all the forms that it answers for."""

    function: str
    #: By operand of the function: where the type stands in it, as (function, operand) of each form.
    operands: dict[str, set[tuple[str, str]]]


def rules_of(kind: type, functions: CoveredFunctions) -> list[Rule]:
    """Return the rules of a type, none where they are not known: see Note [What a type implements]."""
    rules: dict[str, Rule] = {}
    for registered, key in registered_entries(kind):
        _add(rules, functions, registered, key)
    for owner in kind.__mro__:
        if owner is TensorLike or issubclass(functions.tensor, owner):
            break
        raw = owner.__dict__.get("__torch_function__")
        if raw is not None:
            for function in _named(raw, kind, functions):
                _add(rules, functions, function, function)
    return list(rules.values())


def _operands(parameters: Iterable[Parameter]) -> list[str]:
    return [p.name for p in parameters if p.operand and p.name != "out"]


def _add(rules: dict[str, Rule], functions: CoveredFunctions, registered: Any, key: Any) -> None:
    """Add a form that the rule of `registered` answers for."""
    listed, of_form = functions.parameters(registered), functions.parameters(key)
    if listed is None or of_form is None:
        return
    name, parameters = listed
    operands = _operands(parameters)
    rule = rules.setdefault(name, Rule(name, {operand: set() for operand in operands}))
    form, places = of_form[0], _operands(of_form[1])
    if _is_reflected(key) != _is_reflected(registered):
        places[:2] = reversed(places[:2])
    for operand, place in zip(operands, places):
        rule.operands[operand].add((form, place))


def _is_reflected(key: object) -> bool:
    form = form_of(key)
    variant = None if form is None else form.operation.variant
    return variant is not None and variant.kind == REFLECTED


def _named(raw: object, kind: type, functions: CoveredFunctions) -> Iterator[Any]:
    """Yield the functions that the source of a `__torch_function__` names."""
    handler = function_of(raw)
    if handler is None:
        return
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(handler)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return
    names = handler.__code__.co_varnames[: handler.__code__.co_argcount]
    own, names = ("", names) if isinstance(raw, staticmethod) else (names[:1], names[1:])
    if not names:
        return
    known: dict[str, Any] = {**handler.__globals__, **dict.fromkeys(own, kind)}
    closure = zip(handler.__code__.co_freevars, handler.__closure__ or ())
    for name, cell in closure:
        with contextlib.suppress(ValueError):
            known[name] = cell.cell_contents
    for value in _looked_up(tree, names[0], lambda node: _value(node, known)):
        for member in _members(value):
            with contextlib.suppress(TypeError):  # It has no hash.
                if functions.parameters(member) is not None:
                    yield member


def _looked_up(tree: ast.AST, name: str, value: Callable[[ast.expr], Any]) -> Iterator[Any]:
    """Yield what the variable `name` is compared with, and what it is looked up in."""

    def is_it(node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id == name

    refused = {id(test) for node in ast.walk(tree) if _refuses(node) for test in ast.walk(node.test)}
    for node in ast.walk(tree):
        match node:
            case ast.Compare() if id(node) not in refused:
                sides = [node.left, *node.comparators]
                if any(map(is_it, sides)):
                    yield from (value(side) for side in sides if not is_it(side))
            case ast.Subscript() if is_it(node.slice):
                yield value(node.value)
            case ast.Call(func=ast.Attribute(value=container)) if node.args and is_it(node.args[0]):
                yield value(container)
            case ast.Match() if is_it(node.subject):
                for pattern in (found for case in node.cases for found in ast.walk(case.pattern)):
                    if isinstance(pattern, ast.MatchValue):
                        yield value(pattern.value)


def _refuses(node: ast.AST) -> TypeGuard[ast.If]:
    """Return whether a node is an `if` whose body is `return NotImplemented`."""
    if not isinstance(node, ast.If) or not isinstance(node.body[0], ast.Return):
        return False
    returned = node.body[0].value
    return isinstance(returned, ast.Name) and returned.id == "NotImplemented"


def _value(node: ast.expr, known: Mapping[str, Any]) -> Any:
    """Return the value of a name, of an attribute of it, or of a literal of these; None for other expressions."""
    match node:
        case ast.Name():
            return known.get(node.id)
        case ast.Attribute():
            try:
                return getattr(_value(node.value, known), node.attr, None)
            except Exception:  # A property of the user's.
                return None
        case ast.Tuple() | ast.List() | ast.Set():
            return tuple(_value(element, known) for element in node.elts)
    return None


def _members(value: object) -> Iterable[Any]:
    containers = (Mapping, AbstractSet, Sequence)
    return list(value) if isinstance(value, containers) and not isinstance(value, str) else (value,)
