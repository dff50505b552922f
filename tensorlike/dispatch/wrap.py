"""Public functions, generated as source from their signature on the first call: see Note [Code on first call].

# Note [As the caller passed them]
Implementations get `args` and `kwargs` exactly as the caller wrote them, and a plain call must not pay for it. So a
wrapper takes its positional parameters as positional-only ones whose default is MISSING, and every keyword in one dict:
`def sum(input=MISSING, dim=MISSING, keepdim=MISSING, /, **keywords)`. An empty dict costs 12 ns a call, against 90 to
250 for `*args, **kwargs` and a search. What the caller sees (`inspect.signature`, errors about missing and unknown
arguments) comes from the implementation behind it, `__wrapped__`, which has the exact signature.

# Note [Blocks of a wrapper]
A wrapper consists of blocks, each written by a function of that name below:

- `more`: too many arguments leave at once, 10 ns a call;
- `hot`: a fast path that may return before anything else, if the operation has one;
- `plain`: the implementation runs, for plain operands and options passed by position or as keywords;
- `foreign`: an operator returns NotImplemented for a foreign operand;
- `of_plain`: an operator of a plain tensor is dispatched as its method;
- `known`: operands of types that were met before: dispatch to them (500 ns less than behind the collector), and
  elementwise operations give a result its subclass at once (300 ns less than behind `dispatch`);
- `collect`: all other calls go to the function's `collector`, which all functions share.

`tests/golden` has wrappers of six kinds of operations, so that a change of a block is seen as what it generates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from tensorlike._native import core

from .collect import (
    aliases_of,
    are_alone,
    collector,
    direct_test,
    plain_indices,
    plain_set,
    renaming,
    watched_options,
)
from .core import (
    MISSING,
    OPTIONAL_TENSORS,
    PLAIN,
    STATE,
    TENSORS,
    ask_types,
    dispatch,
    known_plan,
    passed,
)
from .deferred import deferred
from .operation import Form
from .options import check_options, is_checked
from .positional import excess
from .signature import KEYWORD, NESTED, ONE, POSITIONAL, VARIADIC, Parameter
from .state import TENSOR_TYPES

__all__ = ["public_function", "wrapper_source"]

_SEQUENCES = frozenset((list, tuple))
_WIDTH = 112
_ALTERNATIVES = 4
#: The names that the blocks use for themselves: no parameter of a wrapper is called so.
_NAMES = frozenset((
    "MISSING", "OPTIONAL_TENSORS", "PLAIN", "SEQUENCES", "TENSORS", "TENSOR_TYPES", "_plan", "_state", "args",
    "ask_types", "check_options", "cls", "collect", "collect_of_plain", "direct", "dispatch", "excess", "form",
    "implementation", "keywords", "known_plan", "map", "more", "passed", "plain_all", "plain_indices", "renamed",
    "type",
))  # fmt: skip


def _indented(lines: Sequence[str], depth: int = 1) -> list[str]:
    return ["    " * depth + line for line in lines]


def _plain_test(parameter: Parameter) -> str:
    name = parameter.name
    if parameter.kind == VARIADIC:
        return f"plain_all(map(type, {name}))"
    if parameter.default is not MISSING:
        return f"({name} is MISSING or {_plain_test(parameter._replace(default=MISSING))})"
    if parameter.operand == ONE:
        return f"type({name}) in {plain_set(parameter)}"
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


def _choice(names: Sequence[str], required: int, expression: str, last: str = "") -> list[str]:
    """Return the parts of an expression of the arguments passed: `expression` of so many, the first that are not."""
    counts = range(required, len(names) + 1)
    made = [expression.format(", ".join([*names[:count], last] if last else names[:count])) for count in counts]
    ends = [*(f" if {name} is MISSING" for name in names[required:]), ""]
    return [("else " if i else "") + one + end for i, (one, end) in enumerate(zip(made, ends))]


def _filled(parts: Sequence[str], before: str = "", after: str = "") -> list[str]:
    """Return the parts of an expression on as few lines as they fit on, in brackets where one will not do."""
    line = f"{before}{' '.join(parts)}{after}"
    if len(line) <= _WIDTH:
        return [line]
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + len(part) < _WIDTH:
            lines[-1] += " " + part
        else:
            lines.append(part)
    return [f"{before}(", *_indented(lines), f"){after}"]


def plain_lines(parameters: Sequence[Parameter], strict: bool = False) -> list[str]:
    """Return the block that runs the implementation for plain operands, and for options passed as keywords.

    With `strict` it tests the types of options that are a `bool` or an `int`: see Note [Types of options].
    """
    names = [p.name for p in parameters if p.kind == POSITIONAL]
    variadic = ["*" + p.name for p in parameters if p.kind == VARIADIC]
    # An absent operand is not plain. Other missing arguments are errors of the implementation.
    sure = next((i for i, p in enumerate(parameters) if not p.operand or p.default is not MISSING), len(names))
    sure = len(names) if variadic else min(sure, len(names))
    calls = _choice(names, sure, "implementation({})", *variadic)
    if len(calls) > _ALTERNATIVES:
        # Functions of so many parameters take microseconds, and 150 ns more when more than one option is passed.
        calls[2:] = [f"else implementation(*passed({_given(parameters)}))"]
    if any(p.kind != POSITIONAL or not p.operand for p in parameters):
        renamed = " or renamed(keywords)" if aliases_of(parameters) else ""
        test = f"(not keywords or direct(keywords){renamed})"
        some = f"implementation({', '.join([*names[:sure], *variadic, '**keywords'])})"
        if sure < len(names):
            # A call with `passed` takes 150 ns more.
            rest = f"implementation(*passed({_given(parameters)}), **keywords)"
            some = f"({some} if {names[sure]} is MISSING else {rest})"
        calls = [f"{some} if keywords", "else " + calls[0], *calls[1:]]
    else:
        test = "not keywords"
    lines = _filled(calls, "return ")
    given = _given(parameters)
    if any(map(is_checked, parameters)):
        lines = ["try:", *_indented(lines), "except Exception:", f"    check_options({given}, keywords)", "    raise"]
    wrong = [
        f"type({name}) is not {kind.__name__} and {name} is not MISSING"
        for name, kind in (watched_options(parameters) if strict else {}).items()
        if name in names
    ]
    if wrong:
        lines = [f"if {' or '.join(wrong)}:", f"    check_options({given}, keywords)", *lines]
    return [*_filled([f"{_plain_tests(parameters)}", f"and {test}"], "if ", ":"), *_indented(lines)]


def foreign_lines(test: str) -> list[str]:
    """Return the block of an operator that leaves the call to the other operand where `test` is true."""
    return [f"if {test}:", "    return NotImplemented"]


def of_plain_lines(parameters: Sequence[Parameter]) -> list[str]:
    """Return the block of an operator that is dispatched as its method where the left operand does not override."""
    return [
        f"if type({parameters[0].name}) in TENSOR_TYPES and not _state().modes:",
        f"    return collect_of_plain({_given(parameters)}, keywords)",
    ]


def known_lines(parameters: Sequence[Parameter], inherited: Sequence[str], reflected: str = "") -> list[str]:
    """Return the block for operands of types that were met before, in a call without keywords.

    `inherited` are lines that may return when `cls` is the type whose default implementation answers; `reflected` is
    that of `dispatch`.
    """
    if not are_alone(parameters):
        return []
    names = [p.name for p in parameters if p.kind == POSITIONAL]
    operands = [p.name for p in parameters if p.operand and p.kind != KEYWORD]
    values = f"({', '.join(operands)},)"
    left = f", None, {reflected!r}" if reflected else ""
    # Underscores, since there are parameters called `key` and `state`.
    # The types written out: 150 ns less than tuple(map(type, operands)), for every call of a tensor-like type.
    lines = [f"_plan = not keywords and known_plan(({', '.join(f'type({name})' for name in operands)},))"]
    if not inherited:
        required = max(1, sum(p.kind == POSITIONAL and p.default is MISSING for p in parameters))
        args = _filled(_choice(names, required, "({},)"), "args = ")
        if any(p.kind == VARIADIC for p in parameters):
            args = [f"args = {_given(parameters)}"]
        elif names == operands and required == len(names):
            args = []
        elif len(args) > 4:
            args = [f"args = passed({_given(parameters)})"]
        if len(args) == 1 and len(args[0]) < _WIDTH // 2:
            values, args = f"{values}, {args[0].removeprefix('args = ')}", []
        else:
            values += ", args" if args else f", {values}"
        return [
            *lines,
            f"if _plan and {names[required - 1]} is not MISSING and _plan.asked and _state().clear:",
            *_indented(args),
            f"    return ask_types(form.key, _plan, {values}, keywords{left})",
        ]
    absent = "".join(f" and {p.name} is MISSING" for p in parameters if p.kind == POSITIONAL and not p.operand)
    return [
        *lines,
        f"if _plan and {operands[-1]} is not MISSING{absent}:",
        "    if not _state().clear:",
        f"        return dispatch(form, (), {values}, {values}, keywords{left.replace('None', '_plan') or ', _plan'})",
        "    if (cls := _plan.default) is not None:",
        *_indented(inherited, 2),
        "    elif _plan.types:",
        f"        return ask_types(form.key, _plan, {values}, {values}, keywords{left})",
        "    elif form.plain is not None:",
        f"        return form.plain({', '.join(operands)})",
    ]


def collect_lines(parameters: Sequence[Parameter], known: bool = True) -> list[str]:
    """Return the block that hands a call to the function's collector: see `collect.collector`."""
    plan = ", _plan" if known and are_alone(parameters) else ""
    return [f"return collect({_given(parameters)}, keywords{plan})"]


def wrapper_parameters(parameters: Sequence[Parameter]) -> list[Parameter]:
    """Return the parameters as the wrapper calls them: `self` is `input`, so that methods share functions' code.

    Callers never see these names, so that a user's parameter may have a name that the blocks use for themselves.
    """
    own = list(parameters)
    if own and own[0].name == "self" and all(p.name != "input" for p in own):
        own[0] = own[0]._replace(name="input")
    names = {p.name for p in own}
    for i, parameter in enumerate(own):
        name = parameter.name
        while name in _NAMES or (name != parameter.name and name in names):
            name += "_"
        own[i] = parameter._replace(name=name)
    return own


def more_lines(parameters: Sequence[Parameter]) -> list[str]:
    """Return lines for more positional arguments than there are, which Python would refuse in words of the wrapper."""
    if any(p.kind == VARIADIC for p in parameters):
        return []
    names = [p.name for p in parameters if p.kind == POSITIONAL]
    return ["if more:", f"    return excess(({', '.join([*names, '*more'])},), keywords)"]


def wrapper_source(
    parameters: Sequence[Parameter],
    hot: str = "",
    foreign: str = "",
    strict: bool = False,
    inherited: Sequence[str] = (),
    known: bool = True,
    reflected: str = "",
    of_plain: bool = False,
) -> str:
    """Return the source of a wrapper with these parameters: see Note [Blocks of a wrapper].

    `hot` is source that may return early, tried before anything else; `foreign` is a test under which an operator
    leaves the call to the other operand; `strict` is that of `plain_lines`, `inherited` and `reflected` those of
    `known_lines`, a block that is left out unless `known`; `of_plain` adds the block of that name.
    """
    head = ", ".join(f"{p.name}=MISSING" for p in parameters if p.kind == POSITIONAL)
    parts = [f"{head}, /"] if head else []
    parts += [f"*{p.name}" for p in parameters if p.kind == VARIADIC] or ["*more"]
    blocks = [
        more_lines(parameters),
        hot.splitlines(),
        plain_lines(parameters, strict),
        foreign_lines(foreign) if foreign else [],
        of_plain_lines(parameters) if of_plain else [],
        known_lines(parameters, inherited, reflected) if known else [],
        collect_lines(parameters, known),
    ]
    lines = [f"def wrapper({', '.join([*parts, '**keywords'])}):"]
    for block in blocks:
        lines += _indented(block)
    return "\n".join(lines)


def public_function(
    form: Form,
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
    known: bool = True,
    reflected: str = "",
) -> Callable[..., Any]:
    """Make the public function of `form` and store it there: it tests the operands and runs or dispatches.

    `hot`, `foreign` and `inherited` are called with the parameters as the wrapper has them, when it is written;
    `hot_values` are the names that the source `hot` uses besides the wrapper's own. `strict`, `known` and
    `reflected` are `wrapper_source`'s.
    """
    function: Any = deferred(
        "wrapper", "wrapper", _written, name, form, hot, hot_values, foreign, strict, inherited, known, reflected
    )
    function.__name__ = name
    function.__qualname__ = qualname
    function.__module__ = module
    function.__doc__ = doc
    function.__wrapped__ = form.implementation
    function._form = form
    function.operation = form.operation
    form.foreign, form.reflected = foreign is not None, reflected
    if core is not None:
        function = core.Function(function)
    form.function = function
    form.key = function if form.reports is None else form.reports.key
    public: Callable[..., Any] = function
    return public


def _written(
    name: str,
    form: Form,
    hot: str | Callable[[Sequence[Parameter]], str],
    hot_values: Mapping[str, Any] | Callable[[], Mapping[str, Any]] | None,
    foreign: Callable[[Sequence[Parameter]], str] | None,
    strict: bool,
    inherited: Callable[[Sequence[Parameter]], Sequence[str]] | None,
    known: bool,
    reflected: str,
) -> tuple[str, dict[str, Any]]:
    parameters = form.parameters
    reported = form.reports or form
    own = wrapper_parameters(parameters)
    source = wrapper_source(
        own,
        hot(own) if callable(hot) else hot,
        foreign(own) if foreign is not None else "",
        strict,
        inherited(own) if inherited is not None else (),
        known,
        reflected,
        form.of_plain is not None,
    )
    values: dict[str, Any] = {
        "form": reported,
        "excess": partial(excess, form),
        "implementation": form.implementation,
        "MISSING": MISSING,
        "OPTIONAL_TENSORS": OPTIONAL_TENSORS,
        "PLAIN": PLAIN,
        "TENSORS": TENSORS,
        "SEQUENCES": _SEQUENCES,
        "known_plan": known_plan,
        "plain_all": PLAIN.issuperset,
        "_state": STATE.get,
        "plain_indices": plain_indices,
        "ask_types": ask_types,
        "dispatch": dispatch,
        "check_options": partial(check_options, name, parameters),
        "collect": collector(reported, form.implementation, parameters, name, strict, reflected or None),
        "direct": direct_test(parameters, strict),
        "renamed": renaming(parameters, strict),
        "passed": passed,
    }
    if form.of_plain is not None:
        values["TENSOR_TYPES"] = TENSOR_TYPES
        values["collect_of_plain"] = collector(form.of_plain, form.implementation, parameters, name, strict, reflected)
    values.update((hot_values() if callable(hot_values) else hot_values) or {})
    return source, values
