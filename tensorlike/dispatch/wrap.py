"""Public functions, written as source from their signature when first called: see Note [Code on first call].

# Note [As the caller passed them]
Implementations are handed `args` and `kwargs` exactly as the caller wrote them, and a plain call must not pay for it.
So a wrapper takes its positional parameters as positional-only ones whose default is MISSING, and every keyword in one
dict: `def sum(input=MISSING, dim=MISSING, keepdim=MISSING, /, **keywords)`. An empty dict costs 12 ns a call, against
90 to 250 for `*args, **kwargs` and a search. What the caller sees (`inspect.signature`, errors about missing and
unknown arguments) comes from the implementation behind it, `__wrapped__`, which has the exact signature.

# Note [Blocks of a wrapper]
A wrapper consists of blocks, each written by a function of that name below:

- `hot`: a fast path that may return before anything else, if the operation has one;
- `plain`: positional arguments with plain operands, for which the implementation runs;
- `foreign`: an operator leaves what it does not know to the other operand;
- `known`: operands of types that were met before, for elementwise operations (their results of a subclass, 300 ns less
  than behind `dispatch`; the types asked 200 ns earlier);
- `collect`: the rest is handed to the function's `collector`, which all functions share.

`tests/golden` has wrappers of six kinds of operations, so that a change of a block is seen as what it generates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from .collect import collector, watched_options
from .core import (
    MISSING,
    OPTIONAL_TENSORS,
    PLAIN,
    STATE,
    TENSORS,
    Entry,
    ask_types,
    known_plan,
)
from .deferred import deferred
from .options import check_options, is_checked
from .signature import KEYWORD, NESTED, ONE, POSITIONAL, VARIADIC, Parameter

__all__ = ["public_function", "wrapper_source"]

_SEQUENCES = frozenset((list, tuple))
_WIDTH = 110


def _plain_indices(value: Any) -> bool:
    kind = type(value)
    if kind in PLAIN or kind is slice or value is Ellipsis:
        return True
    if kind is tuple or kind is list:
        return bool(PLAIN) and all(map(_plain_indices, value))
    # Numbers and arrays of NumPy, ranges and the like: nothing with a protocol of ours.
    return bool(PLAIN) and not hasattr(kind, "__torch_function__")


def _indented(lines: Sequence[str], depth: int = 1) -> list[str]:
    return ["    " * depth + line for line in lines]


def _plain_set(parameter: Parameter) -> str:
    """Return the set that the type of a plain operand is in: numbers are plain only where they may stand for one."""
    annotation = parameter.annotation
    if not annotation or any(word in annotation for word in ("Number", "int", "float", "Any", "object")):
        return "PLAIN"
    return "OPTIONAL_TENSORS" if "None" in annotation else "TENSORS"


def _plain_test(parameter: Parameter) -> str:
    name = parameter.name
    if parameter.kind == VARIADIC:
        return f"plain_all(map(type, {name}))"
    if parameter.default is not MISSING:
        return f"({name} is MISSING or {_plain_test(parameter._replace(default=MISSING))})"
    if parameter.operand == ONE:
        return f"type({name}) in {_plain_set(parameter)}"
    if parameter.operand == NESTED:
        return f"(type({name}) in PLAIN or plain_indices({name}))"
    return f"(plain_all(map(type, {name})) if type({name}) in SEQUENCES else type({name}) in PLAIN)"


def _plain_tests(parameters: Sequence[Parameter]) -> str:
    """Return the test that every operand that was passed by position is plain, and no mode is active."""
    return " and ".join(_plain_test(p) for p in parameters if p.operand and p.kind != KEYWORD) or "PLAIN"


def _given(parameters: Sequence[Parameter]) -> str:
    """Return the values of the wrapper's parameters as a tuple."""
    names = [("*" if p.kind == VARIADIC else "") + p.name for p in parameters if p.kind != KEYWORD]
    return f"({', '.join(names)},)" if names else "()"


def plain_lines(parameters: Sequence[Parameter], strict: bool = False) -> list[str]:
    """Return the block that runs the implementation for plain operands and no keywords.

    With `strict` it tests the types of options that are a `bool` or an `int`: see Note [Types of options].
    """
    names = [p.name for p in parameters if p.kind == POSITIONAL]
    required = sum(p.kind == POSITIONAL and p.default is MISSING for p in parameters)
    variadic = ["*" + p.name for p in parameters if p.kind == VARIADIC]
    given = _given(parameters)
    lines = []
    watched = watched_options(parameters) if strict else {}
    wrong = [
        f"type({n}) is not {kind.__name__} and {n} is not MISSING" for n, kind in watched.items() if n in names
    ]
    if wrong:
        lines += [f"if {' or '.join(wrong)}:", f"    check_options({given}, keywords)"]
    calls = [f"implementation({', '.join(names[:count])})" for count in range(required, len(names) + 1)]
    if variadic:
        call = [f"return implementation({', '.join(names + variadic)})"]
    else:
        ends = [f" if {name} is MISSING" for name in names[required:]] + [""]
        choices = [("" if i == 0 else "else ") + one + end for i, (one, end) in enumerate(zip(calls, ends))]
        call = ["return " + " ".join(choices)]
        if len(call[0]) > _WIDTH:
            call = ["return (", *_indented(choices), ")"]
    if names and any(map(is_checked, parameters)):
        call = ["try:", *_indented(call), "except Exception:", f"    check_options({given}, keywords)", "    raise"]
    # What is absent, or was passed by keyword, goes the long way to the implementation, which complains if it must.
    present = [
        f" and {p.name} is not MISSING"
        for p in parameters
        if p.kind == POSITIONAL and p.default is MISSING and p.operand != ONE
    ]
    return [f"if not keywords and {_plain_tests(parameters)}{''.join(present)}:", *_indented([*lines, *call])]


def foreign_lines(test: str) -> list[str]:
    """Return the block of an operator that leaves the call to the other operand where `test` is true."""
    return [f"if {test}:", "    return NotImplemented"]


def known_lines(parameters: Sequence[Parameter], inherited: Sequence[str]) -> list[str]:
    """Return the block for operands of types that were met before, the only ones passed.

    `inherited` are lines that may return when `cls` is the type whose default implementation answers.
    """
    operands = [p.name for p in parameters if p.operand and p.kind != KEYWORD]
    options = [p.name for p in parameters if p.kind == POSITIONAL and not p.operand]
    absent = "".join(f" and {name} is MISSING" for name in options)
    # Underscores, since there are parameters called `key` and `state`.
    # The types written out: 150 ns less than tuple(map(type, operands)), for every call of a tensor-like type.
    values = f"({', '.join(operands)},)"
    return [
        f"if not keywords and {operands[-1]} is not MISSING{absent}:",
        f"    _plan = known_plan(({', '.join(f'type({name})' for name in operands)},))",
        "    if _plan is not None and _state().clear:",
        "        if (cls := _plan.default) is not None:",
        *_indented(inherited, 3),
        "        elif _plan.types:",
        f"            return ask_types(entry.function, _plan, {values}, {values}, keywords)",
        "        elif entry.plain is not None:",
        f"            return entry.plain({', '.join(operands)})",
    ]


def collect_lines(parameters: Sequence[Parameter]) -> list[str]:
    """Return the block that hands a call to the function's collector: see `collect.collector`."""
    return [f"return collect({_plain_tests(parameters)}, {_given(parameters)}, keywords)"]


def wrapper_parameters(parameters: Sequence[Parameter]) -> list[Parameter]:
    """Return the parameters as the wrapper calls them: `self` is `input`, so that methods share functions' code."""
    if parameters and parameters[0].name == "self" and all(p.name != "input" for p in parameters):
        return [parameters[0]._replace(name="input"), *parameters[1:]]
    return list(parameters)


def wrapper_source(
    parameters: Sequence[Parameter],
    hot: str = "",
    foreign: str = "",
    strict: bool = False,
    inherited: Sequence[str] = (),
) -> str:
    """Return the source of a wrapper with these parameters: see Note [Blocks of a wrapper].

    `hot` is source that may return early, tried before anything else; `foreign` is a test under which an operator
    leaves the call to the other operand; `strict` is that of `plain_lines`, `inherited` that of `known_lines`.
    """
    head = ", ".join(f"{p.name}=MISSING" for p in parameters if p.kind == POSITIONAL)
    parts = [f"{head}, /"] if head else []
    parts += [f"*{p.name}" for p in parameters if p.kind == VARIADIC]
    blocks = [
        hot.splitlines(),
        plain_lines(parameters, strict),
        foreign_lines(foreign) if foreign else [],
        known_lines(parameters, inherited) if inherited else [],
        collect_lines(parameters),
    ]
    lines = [f"def wrapper({', '.join([*parts, '**keywords'])}):"]
    for block in blocks:
        lines += _indented(block)
    return "\n".join(lines)


def public_function(
    entry: Entry,
    parameters: Sequence[Parameter],
    *,
    name: str,
    qualname: str,
    module: str,
    doc: str | None,
    hot: str | Callable[[Sequence[Parameter]], str] = "",
    hot_values: Mapping[str, Any] | Callable[[], Mapping[str, Any]] | None = None,
    foreign: Callable[[Sequence[Parameter]], str] | None = None,
    strict: bool = False,
    inherited: Callable[[Sequence[Parameter]], Sequence[str]] | None = None,
) -> Callable[..., Any]:
    """Return the public function of `entry`: it looks at the operands' types and runs or dispatches.

    `hot`, `foreign` and `inherited` are called with the parameters as the wrapper has them, when it is written;
    `hot_values` are the names that the source `hot` uses besides the wrapper's own. `strict` is `wrapper_source`'s.
    """
    function: Any = deferred(
        "wrapper", "wrapper", _written, name, entry, parameters, hot, hot_values, foreign, strict, inherited
    )
    function.__name__ = name
    function.__qualname__ = qualname
    function.__module__ = module
    function.__doc__ = doc
    function.__wrapped__ = entry.implementation
    function._entry = entry
    public: Callable[..., Any] = function
    return public


def _written(
    name: str,
    entry: Entry,
    parameters: Sequence[Parameter],
    hot: str | Callable[[Sequence[Parameter]], str],
    hot_values: Mapping[str, Any] | Callable[[], Mapping[str, Any]] | None,
    foreign: Callable[[Sequence[Parameter]], str] | None,
    strict: bool,
    inherited: Callable[[Sequence[Parameter]], Sequence[str]] | None,
) -> tuple[str, dict[str, Any]]:
    own = wrapper_parameters(parameters)
    source = wrapper_source(
        own,
        hot(own) if callable(hot) else hot,
        foreign(own) if foreign is not None else "",
        strict,
        inherited(own) if inherited is not None else (),
    )
    values: dict[str, Any] = {
        "entry": entry,
        "implementation": entry.implementation,
        "MISSING": MISSING,
        "OPTIONAL_TENSORS": OPTIONAL_TENSORS,
        "PLAIN": PLAIN,
        "TENSORS": TENSORS,
        "SEQUENCES": _SEQUENCES,
        "known_plan": known_plan,
        "plain_all": PLAIN.issuperset,
        "_state": STATE.get,
        "plain_indices": _plain_indices,
        "ask_types": ask_types,
        "check_options": partial(check_options, name, parameters),
        "collect": collector(entry, parameters, name, strict),
    }
    values.update((hot_values() if callable(hot_values) else hot_values) or {})
    return source, values
