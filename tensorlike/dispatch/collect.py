"""The shared half of every public function: calls that its wrapper does not handle, such as those with keywords.

A wrapper (see `wrap`) holds the parts that are faster in its own frame. Everything else is the same for all functions
and is done here, driven by data: rename NumPy's keywords, run the implementation if the operands are plain, collect the
operands, and dispatch. It is one frame more (60 ns) for such a call, and two thirds fewer generated lines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

from .core import (
    MISSING,
    OPTIONAL_TENSORS,
    PLAIN,
    PROVIDED,
    STATE,
    TENSORS,
    Plan,
    ask_types,
    dispatch,
    elements,
    known_plan,
)
from .operation import Form
from .options import LENIENT, check_options
from .signature import KEYWORD, MANY, NESTED, ONE, POSITIONAL, VARIADIC, Parameter

__all__ = ["NUMPY_NAMES", "aliases_of", "are_alone", "collector", "direct_test", "indices", "plain_indices",
           "plain_set", "renaming", "watched_options"]  # fmt: skip

#: NumPy's names for some parameters, which PyTorch takes as well.
NUMPY_NAMES: dict[str, str] = {"axis": "dim", "keepdims": "keepdim", "x": "input", "x1": "input", "x2": "other"}

_state = STATE.get
_OPTION_TYPES: dict[str, type] = {"bool": bool, "int": int}


def aliases_of(parameters: Sequence[Parameter], names: Mapping[str, str] = NUMPY_NAMES) -> dict[str, str]:
    """Return the keywords that stand for a parameter of another name."""
    public = {p.name for p in parameters}
    return {alias: target for alias, target in names.items() if target in public and alias not in public}


def watched_options(parameters: Sequence[Parameter]) -> dict[str, type]:
    """Return the options that must be a `bool` or an `int`: see Note [Types of options] in `options`."""
    watched = {}
    for p in parameters:
        kind = _OPTION_TYPES.get(p.annotation.removesuffix(" | None"))
        if kind is not None and not p.operand and p.kind != VARIADIC and p.name not in LENIENT:
            watched[p.name] = kind
    return watched


def indices(value: Any) -> tuple[Any, ...]:
    """Return the parts of an index, so that a tensor-like inside `x[0, duck]` is seen."""
    if type(value) is tuple:
        return tuple(e for item in value for e in (item if type(item) is list else (item,)))
    if type(value) is list:
        return tuple(value)
    return (value,)


def plain_indices(value: Any) -> bool:
    """Return whether an index has no tensor-like in it, and no mode is active."""
    kind = type(value)
    if kind in PLAIN or kind is slice or value is Ellipsis:
        return True
    if kind is tuple or kind is list:
        return bool(PLAIN) and all(map(plain_indices, value))
    # Numbers and arrays of NumPy, ranges and the like: nothing with a protocol of ours.
    return bool(PLAIN) and value is not MISSING and not hasattr(kind, "__torch_function__")


_SEQUENCES = frozenset((list, tuple))
_SETS: dict[str, Set[type]] = {"PLAIN": PLAIN, "TENSORS": TENSORS, "OPTIONAL_TENSORS": OPTIONAL_TENSORS}


def plain_set(parameter: Parameter) -> str:
    """Return the set that the type of a plain operand is in: numbers are plain only where an operand may be one."""
    annotation = parameter.annotation
    if not annotation or any(word in annotation for word in ("Number", "int", "float", "Any", "object")):
        return "PLAIN"
    return "OPTIONAL_TENSORS" if "None" in annotation else "TENSORS"


def _plain_test(parameter: Parameter) -> Callable[[Any], bool]:
    """Return the test that a value passed by position is plain, and no mode is active: what `wrap` writes out."""
    if parameter.operand == NESTED:
        return plain_indices
    if parameter.kind == VARIADIC:
        return lambda values: PLAIN.issuperset(map(type, values))
    if parameter.operand == MANY:
        return lambda value: PLAIN.issuperset(map(type, value)) if type(value) in _SEQUENCES else type(value) in PLAIN
    allowed = _SETS[plain_set(parameter)]
    return lambda value: type(value) in allowed


def are_alone(parameters: Sequence[Parameter]) -> bool:
    """Return whether every operand that can be passed by position is one tensor, and there is one."""
    single = [p for p in parameters if p.operand and p.kind != KEYWORD]
    return bool(single) and all(p.operand == ONE and p.kind == POSITIONAL for p in single)


def direct_test(parameters: Sequence[Parameter], strict: bool = False) -> Callable[[dict[str, Any]], bool]:
    """Return the test that keywords can be handed on as they are: none is an operand, or has NumPy's name.

    With `strict` none may be a `bool` or an `int` of another type either.
    """
    special = (*aliases_of(parameters), *(p.name for p in parameters if p.operand))
    watched: dict[str, Any] = {**watched_options(parameters), **dict.fromkeys(special)} if strict else {}
    if len(watched) == len(special) or not strict:
        return frozenset(special).isdisjoint

    def direct(keywords: dict[str, Any]) -> bool:
        for key, value in keywords.items():  # noqa: SIM110  (a generator takes 200 ns more)
            if key in watched and type(value) is not watched[key]:
                return False
        return True

    return direct


def renaming(parameters: Sequence[Parameter], strict: bool = False) -> Callable[[dict[str, Any]], bool]:
    """Return the function that replaces NumPy's names in keywords by PyTorch's.

    It changes the dict, and returns whether it did and the keywords can be handed on: see `direct_test`.
    """
    aliases = aliases_of(parameters)
    none_renamed = frozenset(aliases).isdisjoint
    direct = direct_test(parameters, strict)

    def renamed(keywords: dict[str, Any]) -> bool:
        if none_renamed(keywords):
            return False
        for key in tuple(keywords):  # All of them, which keeps their order.
            keywords[aliases.get(key, key)] = keywords.pop(key)
        return direct(keywords)

    return renamed


def collector(
    form: Form, implementation: Callable[..., Any], parameters: Sequence[Parameter], name: str, strict: bool = False,
    reflected: str | None = None,
) -> Callable[..., Any]:
    """Return the function for the calls of a form that its wrapper does not handle; types receive `form`.

    With `strict` it looks at the types of options that are a `bool` or an `int`, for an implementation that does not.
    It takes the values of the wrapper's parameters, the keywords, and, where the operands are alone and there are no
    keywords, what `known_plan` says. `reflected` is that of `dispatch`.
    """
    operands = [p for p in parameters if p.operand]
    order = [p.name for p in parameters if p.kind != KEYWORD]
    no_positional = frozenset(p.name for p in operands if p.kind != KEYWORD).isdisjoint
    keyword_only = [(p.name, p.operand == MANY) for p in operands if p.kind == KEYWORD]
    not_renamed = frozenset(aliases_of(parameters)).isdisjoint
    renamed = renaming(parameters, strict)
    watched = watched_options(parameters) if strict else {}
    watched_places = [(order.index(key), kind) for key, kind in watched.items() if key in order]
    collect = _collecting(operands, order)
    tests = [
        (order.index(p.name), p.kind == VARIADIC, p.default is not MISSING, _plain_test(p))
        for p in operands
        if p.kind != KEYWORD
    ]
    leading = len(tests)
    # Most operands come first: those that were passed by position are a slice then.
    names = [p.name for p in operands if p.kind != KEYWORD]
    first = are_alone(parameters) and names == order[:leading]
    # One and two operands are written out: a `map` over them takes 400 ns more.
    written = leading if first and leading <= 2 else 0
    left, right = (*names, "", "")[:2]

    def is_plain(given: tuple[Any, ...]) -> bool:
        for place, variadic, optional, test in tests:
            value = given[place:] if variadic else given[place]
            if not (test(value) or (optional and value is MISSING)):
                return False
        return bool(PLAIN)

    def answer(given: tuple[Any, ...], keywords: dict[str, Any], plan: Plan | None = None) -> Any:
        found: tuple[Any, ...]
        count = len(given)
        while count and given[count - 1] is MISSING:
            count -= 1
        args = given[:count]
        if plan:
            if _state().clear:
                # The same as in `dispatch`, one or two frames earlier.
                if not plan.types:
                    if form.plain is not None:
                        return form.plain(*args)
                elif plan.default is not None and form.inherited is None:
                    return PROVIDED.propagate(form, plan.default, args, keywords)
            found = given[:leading] if first else collect(given, None)
            return dispatch(form, (), found, args, keywords, plan, reflected)
        if not keywords:
            found = collect(given, None)
            return dispatch(form, tuple(map(type, found)), found, args, keywords, None, reflected)
        if not not_renamed(keywords):
            renamed(keywords)
        types: tuple[type, ...]
        if written == 1:
            one = keywords.get(left, given[0])
            found, types = (one,), (type(one),)
        elif written:
            one, two = keywords.get(left, given[0]), keywords.get(right, given[1])
            found, types = (one, two), (type(one), type(two))
        else:
            found = collect(given, None if no_positional(keywords) else keywords)
            types = tuple(map(type, found))
        for key, many in keyword_only:
            if key in keywords:
                value = keywords[key]
                if many:
                    found, types = (*found, *elements(value)), (*types, *map(type, elements(value)))
                else:
                    found, types = (*found, value), (*types, type(value))
        plan = known_plan(types)
        if plan is not None:
            if plan.asked and _state().clear:
                return ask_types(form.key, plan, found, args, keywords)
            if not plan.types and (PLAIN or _state().clear):
                # No overriding type and no mode: the same as in `dispatch`, two frames earlier.
                if form.check is not None and not is_plain(given):
                    form.check(args, keywords)
                if watched:
                    for key, kind in watched.items():
                        if key in keywords and type(keywords[key]) is not kind:
                            check_options(name, parameters, args, keywords)
                    for place, kind in watched_places:
                        if place < count and args[place] is not MISSING and type(args[place]) is not kind:
                            check_options(name, parameters, args, keywords)
                try:
                    return implementation(*args, **keywords)
                except Exception:
                    check_options(name, parameters, args, keywords)
                    raise
        return dispatch(form, types, found, args, keywords, plan)

    return answer


def _collecting(
    operands: Sequence[Parameter], order: Sequence[str]
) -> Callable[[tuple[Any, ...], dict[str, Any] | None], tuple[Any, ...]]:
    """Return the function that collects the operands that can be passed by position, from values and keywords."""
    places = [(p.name, order.index(p.name), p.kind, p.operand) for p in operands if p.kind != KEYWORD]
    by_position = [(name, place, operand) for name, place, kind, operand in places if kind != VARIADIC]
    # One sequence, as `cat` has: 500 ns less.
    named, sequence = by_position[0][:2] if [operand for *_, operand in by_position] == [MANY] else ("", -1)

    def collect(given: tuple[Any, ...], keywords: dict[str, Any] | None) -> tuple[Any, ...]:
        if sequence >= 0:
            value = keywords.get(named, given[sequence]) if keywords else given[sequence]
            if type(value) in _SEQUENCES:
                return (*value,)
        found: list[Any] = []
        for name, place, kind, operand in places:
            if kind == VARIADIC:
                for item in given[place:]:
                    found += elements(item)
                continue
            else:
                value = keywords.get(name, given[place]) if keywords else given[place]
            if operand == ONE:
                found.append(value)
            else:
                found += elements(value) if operand == MANY else indices(value)
        return tuple(found)

    return collect
