"""Public functions, written as source from their signature when first called: see Note [Code on first call].

# Note [As the caller passed them]
Implementations are handed `args` and `kwargs` exactly as the caller wrote them, and a plain call must not pay for it.
So a wrapper takes its positional parameters as positional-only ones whose default is MISSING, and every keyword in one
dict: `def sum(input=MISSING, dim=MISSING, keepdim=MISSING, /, **keywords)`. An empty dict costs 12 ns a call, against
90 to 250 for `*args, **kwargs` and a search. What the caller sees (`inspect.signature`, errors about missing and
unknown arguments) comes from the implementation behind it, `__wrapped__`, which has the exact signature.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from .core import (
    MISSING,
    OPTIONAL_TENSORS,
    PLAIN,
    STATE,
    TENSORS,
    Missing,
    ask_types,
    dispatch,
    elements,
    known_plan,
)
from .deferred import deferred
from .operation import Form
from .options import LENIENT, check_options, is_checked
from .positional import excess
from .signature import KEYWORD, MANY, NESTED, ONE, POSITIONAL, VARIADIC, Parameter

__all__ = ["public_function", "wrapper_source"]

_SEQUENCES = frozenset((list, tuple))
_BOOL_OR_MISSING = frozenset((bool, Missing))
_INT_OR_MISSING = frozenset((int, Missing))

#: NumPy's names for some parameters, which PyTorch takes as well.
NUMPY_NAMES: dict[str, str] = {"axis": "dim", "keepdims": "keepdim", "x": "input", "x1": "input", "x2": "other"}


def _indices(value: Any) -> tuple[Any, ...]:
    """Return what an index consists of, so that a tensor-like inside `x[0, duck]` is seen."""
    if type(value) is tuple:
        return tuple(e for item in value for e in (item if type(item) is list else (item,)))
    if type(value) is list:
        return tuple(value)
    return (value,)


def _plain_indices(value: Any) -> bool:
    kind = type(value)
    if kind in PLAIN or kind is slice or value is Ellipsis:
        return True
    if kind is tuple or kind is list:
        return bool(PLAIN) and all(map(_plain_indices, value))
    # Numbers and arrays of NumPy, ranges and the like: nothing with a protocol of ours.
    return bool(PLAIN) and not hasattr(kind, "__torch_function__")


def renamed(names: Mapping[str, str], keywords: dict[str, Any]) -> dict[str, Any]:
    """Return `keywords` with NumPy's parameter names replaced by the public ones."""
    return {names.get(key, key): value for key, value in keywords.items()}


def _plain_set(parameter: Parameter) -> str:
    """Return the set that the type of a plain operand is in: numbers are plain only where they may stand for one."""
    annotation = parameter.annotation
    if not annotation or any(word in annotation for word in ("Number", "int", "float", "Any", "object")):
        return "PLAIN"
    return "OPTIONAL_TENSORS" if "None" in annotation else "TENSORS"


def _plain_test(parameter: Parameter) -> str:
    name = parameter.name
    if parameter.operand == ONE and parameter.kind == VARIADIC:
        return f"plain_all(map(type, {name}))"
    if parameter.default is not MISSING:
        return f"({name} is MISSING or {_plain_test(parameter._replace(default=MISSING))})"
    if parameter.operand == ONE:
        return f"type({name}) in {_plain_set(parameter)}"
    if parameter.operand == NESTED:
        return f"(type({name}) in PLAIN or plain_indices({name}))"
    if parameter.kind == VARIADIC:
        return f"plain_all(map(type, {name}))"
    return f"(plain_all(map(type, {name})) if type({name}) in SEQUENCES else type({name}) in PLAIN)"


def _operand_expression(parameter: Parameter, with_keywords: bool) -> str:
    name = parameter.name
    value = f"keywords.get({name!r}, {name})" if with_keywords and parameter.kind == POSITIONAL else name
    if parameter.kind == KEYWORD:
        value = f"keywords.get({name!r})"
    if parameter.kind == VARIADIC:
        return f"*[e for item in {name} for e in elements(item)]"
    if parameter.operand == MANY:
        return f"*elements({value})"
    if parameter.operand == NESTED:
        return f"*indices({value})"
    return value


def _strict_tests(parameters: Sequence[Parameter], with_keywords: bool) -> list[str]:
    """Return the tests that a `bool` or an `int` was passed for what must be one: see Note [Types of options]."""
    tests = []
    for p in parameters:
        kind = p.annotation.removesuffix(" | None")
        if kind not in ("bool", "int") or p.operand or p.kind == VARIADIC or p.name in LENIENT:
            continue
        if with_keywords:
            passed = p.name if p.kind == POSITIONAL else "MISSING"
            tests.append(f"type(keywords.get({p.name!r}, {passed})) not in {kind}_or_missing")
        elif p.kind == POSITIONAL:
            tests.append(f"type({p.name}) is not {kind} and {p.name} is not MISSING")
    return tests


def _implementation_lines(call: Sequence[str], arguments: str, tests: Sequence[str], checked: bool) -> list[str]:
    """Return lines that run the implementation, and look at the types of the options if it fails."""
    complain = f"check_options({arguments}, keywords)"
    lines = [f"if {' or '.join(tests)}:", f"    {complain}"] if tests else []
    if not checked:
        return [*lines, *call]
    return [*lines, "try:", *["    " + line for line in call], "except Exception:", f"    {complain}", "    raise"]


def wrapper_source(
    parameters: Sequence[Parameter],
    hot: str = "",
    foreign: str = "",
    names: Mapping[str, str] = NUMPY_NAMES,
    strict: bool = False,
    inherited: Sequence[str] = (),
) -> tuple[str, bool]:
    """Return the source of a wrapper of this signature, and whether it renames NumPy's keywords.

    `hot` is source that may return early, tried before anything else; `foreign` is a test under which an operator
    leaves the call to the other operand; `inherited` are lines that may return early when `cls` is the type whose
    default implementation answers; `strict` has the wrapper test the types of options that are a `bool` or an
    `int`, for an implementation that does not.
    """
    positional = [p for p in parameters if p.kind == POSITIONAL]
    variadic = next((p for p in parameters if p.kind == VARIADIC), None)
    operands = [p for p in parameters if p.operand]
    public = {p.name for p in parameters}
    renames = any(target in public and alias not in public for alias, target in names.items())
    head = ", ".join(f"{p.name}=MISSING" for p in positional)
    if positional:
        head += ", /"
    # `more` is what Python refuses with words about the wrapper: 10 ns a call.
    rest = "more" if variadic is None else variadic.name
    head += f", *{rest}" if head else f"*{rest}"
    head += ", **keywords" if head else "**keywords"

    passed = [p.name for p in positional]
    required = sum(1 for p in positional if p.default is MISSING)
    checks = [_plain_test(p) for p in operands if p.kind != KEYWORD] or ["PLAIN"]
    tests = " and ".join(checks)
    # What is absent, or was passed by keyword, goes the long way to the implementation, which complains if it must.
    present = [f"{p.name} is not MISSING" for p in positional if p.default is MISSING and p.operand != ONE]

    lines = [f"def wrapper({head}):"]
    if variadic is None:
        lines += ["    if more:", f"        return excess(({', '.join([*passed, '*more'])},), keywords)"]
    if hot:
        lines += ["    " + line for line in hot.splitlines()]
    lines.append(f"    if not keywords and {' and '.join(checks + present)}:")
    checked = any(map(is_checked, parameters))
    call = []
    if variadic is not None:
        call.append(f"return implementation({', '.join([*passed, '*' + variadic.name])})")
    else:
        for count in range(required, len(passed)):
            call.append(f"if {passed[count]} is MISSING:")
            call.append(f"    return implementation({', '.join(passed[:count])})")
        call.append(f"return implementation({', '.join(passed)})")
    given = f"({', '.join(passed)},)" if passed else "()"
    wrong = _strict_tests(parameters, False) if strict else []
    lines += ["        " + line for line in _implementation_lines(call, given, wrong, checked and bool(passed))]
    if foreign:
        lines.append(f"    if {foreign}:")
        lines.append("        return NotImplemented")
    single = [p for p in operands if p.kind != KEYWORD]
    alone = bool(single) and all(p.operand == ONE and p.kind == POSITIONAL for p in single)
    # Underscores, since there are parameters called `key` and `state`.
    # The types written out: 150 ns less than tuple(map(type, operands)), for every call of a tensor-like type.
    key = f"({', '.join(f'type({p.name})' for p in single)},)"
    if inherited and alone:
        lines.append("    if not keywords:")
        lines.append(f"        _key = {key}")
        lines.append("        _plan = known_plan(_key)")
        absent = "".join(f" and {p.name} is MISSING" for p in positional if not p.operand)
        lines.append(
            f"        if _plan is not None and (cls := _plan.default) is not None and _state().clear{absent}:"
        )
        lines += ["            " + line for line in inherited]
    if variadic is not None:
        lines.append(f"    args = ({', '.join([*passed, '*' + variadic.name])},)")
    elif passed:
        lines.append("    args = (")
        for count in range(len(passed), 0, -1):
            lines.append(f"        ({', '.join(passed[:count])},) if {passed[count - 1]} is not MISSING else")
        lines.append("        ()")
        lines.append("    )")
    else:
        lines.append("    args = ()")
    if renames:
        lines.append("    if keywords and not unknown(keywords):")
        lines.append("        keywords = renamed(keywords)")
    lines.append(f"    if keywords and no_operand(keywords) and {tests}:")
    wrong = _strict_tests(parameters, True) if strict else []
    call = ["return implementation(*args, **keywords)"]
    lines += ["        " + line for line in _implementation_lines(call, "args", wrong, checked)]
    with_keywords = ", ".join(_operand_expression(p, True) for p in operands)
    without = ", ".join(_operand_expression(p, False) for p in operands if p.kind != KEYWORD)
    lines.append("    if keywords:")
    lines.append(f"        operands = ({with_keywords}{',' if with_keywords else ''})")
    if alone:
        lines.append("        return dispatch(entry, tuple(map(type, operands)), operands, args, keywords)")
        if not inherited:
            lines += [f"    _key = {key}", "    _plan = known_plan(_key)"]
        # What `dispatch` would find, a frame or two and 100 to 200 ns earlier.
        lines += [
            "    if _plan is not None and _state().clear:",
            "        if not _plan.types:",
            "            if entry.plain is not None:",
            "                return entry.plain(*args)",
            "        elif _plan.default is None:",
            f"            return ask_types(entry.key, _plan, ({without},), args, keywords)",
        ]
        lines.append(f"    return dispatch(entry, _key, ({without},), args, keywords, _plan)")
    elif len(single) == 1 and single[0].operand == MANY and single[0].kind == POSITIONAL:
        # A call of `elements` less, 60 ns.
        lines.append("    else:")
        name = single[0].name
        lines.append(f"        operands = (*{name},) if type({name}) in SEQUENCES else elements({name})")
        lines.append("    return dispatch(entry, tuple(map(type, operands)), operands, args, keywords)")
    else:
        lines.append("    else:")
        lines.append(f"        operands = ({without}{',' if without else ''})")
        lines.append("    return dispatch(entry, tuple(map(type, operands)), operands, args, keywords)")
    return "\n".join(lines), renames


def public_function(
    form: Form,
    *,
    name: str,
    qualname: str,
    module: str,
    doc: str | None,
    hot: str | Callable[[], str] = "",
    hot_values: Mapping[str, Any] | Callable[[], Mapping[str, Any]] | None = None,
    foreign: str = "",
    strict: bool = False,
    inherited: Callable[[], Sequence[str]] | None = None,
) -> Callable[..., Any]:
    """Return the public function of `form`, which it enters there: it looks at the operands and runs or dispatches.

    `hot_values` are the names that the source `hot` uses besides the wrapper's own; `strict` and `inherited` are
    `wrapper_source`'s.
    """
    function: Any = deferred(
        "wrapper", "wrapper", _written, name, form, hot, hot_values, foreign, strict, inherited
    )
    function.__name__ = name
    function.__qualname__ = qualname
    function.__module__ = module
    function.__doc__ = doc
    function.__wrapped__ = form.implementation
    function._form = form
    function.operation = form.operation
    form.function = function
    form.key = function if form.reports is None else form.reports.key
    public: Callable[..., Any] = function
    return public


def _written(
    name: str,
    form: Form,
    hot: str | Callable[[], str],
    hot_values: Mapping[str, Any] | Callable[[], Mapping[str, Any]] | None,
    foreign: str,
    strict: bool,
    inherited: Callable[[], Sequence[str]] | None,
) -> tuple[str, dict[str, Any]]:
    parameters = form.parameters
    source, renames = wrapper_source(
        parameters,
        hot() if callable(hot) else hot,
        foreign,
        strict=strict,
        inherited=inherited() if inherited is not None else (),
    )
    values: dict[str, Any] = {
        "entry": form.reports or form,
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
        "plain_indices": _plain_indices,
        "indices": _indices,
        "elements": elements,
        "ask_types": ask_types,
        "dispatch": dispatch,
        "bool_or_missing": _BOOL_OR_MISSING,
        "int_or_missing": _INT_OR_MISSING,
        "check_options": partial(check_options, name, parameters),
        "no_operand": frozenset(p.name for p in parameters if p.operand).isdisjoint,
    }
    if renames:
        public = {p.name for p in parameters}
        aliases = {alias: target for alias, target in NUMPY_NAMES.items() if target in public and alias not in public}
        values["unknown"] = frozenset(aliases).isdisjoint
        values["renamed"] = partial(renamed, aliases)
    values.update((hot_values() if callable(hot_values) else hot_values) or {})
    return source, values
