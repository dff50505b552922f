"""The shared half of every public function: calls that the lines of its wrapper leave, such as those with keywords.

A wrapper (see `wrap`) holds what pays to have in its own frame. Everything else is the same for all functions and is
done here, as data says: rename NumPy's keywords, run the implementation if the operands are plain, collect the
operands, and dispatch. It is one frame more (60 ns) for such a call, and two thirds fewer generated lines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .core import MISSING, STATE, Entry, ask_types, dispatch, elements, known_plan, passed
from .options import LENIENT, check_options, is_checked
from .signature import KEYWORD, MANY, NESTED, ONE, POSITIONAL, VARIADIC, Parameter

__all__ = ["NUMPY_NAMES", "aliases_of", "collector", "indices", "watched_options"]

#: Answers a call: whether all operands passed by position are plain, the values of the wrapper's parameters, keywords.
Answer = Callable[[bool, tuple[Any, ...], dict[str, Any]], Any]

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


def collector(entry: Entry, parameters: Sequence[Parameter], name: str, strict: bool = False) -> Answer:
    """Return the function that answers the calls of `entry` that its wrapper leaves.

    With `strict` it looks at the types of options that are a `bool` or an `int`, for an implementation that does not.
    """
    implementation = entry.implementation
    operands = [p for p in parameters if p.operand]
    order = [p.name for p in parameters if p.kind != KEYWORD]
    no_operand = frozenset(p.name for p in operands).isdisjoint
    aliases = aliases_of(parameters)
    not_renamed = frozenset(aliases).isdisjoint
    # What needs a closer look, in one test for most calls.
    direct = frozenset((*aliases, *(p.name for p in operands))).isdisjoint
    watched = watched_options(parameters) if strict else {}
    positions = [(order.index(key), kind) for key, kind in watched.items() if key in order]
    first_watched = min((place for place, _ in positions), default=len(parameters))
    unwatched = frozenset(watched).isdisjoint
    checked = any(map(is_checked, parameters))
    collect = _collecting(operands, order)
    single = [order.index(p.name) for p in operands if p.kind != KEYWORD and p.operand == ONE]
    # Where each operand is one tensor, and they come first: the operands of a call without keywords are a slice.
    alone = single == list(range(sum(p.kind != KEYWORD for p in operands))) and not any(
        p.kind == VARIADIC for p in operands
    )
    leading = len(single)

    def answer(plain: bool, given: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        args = passed(given)
        if not keywords:
            if alone:
                found = given[:leading]
                key = tuple(map(type, found))
                plan = known_plan(key)
                # What `dispatch` would find, a frame or two earlier.
                if plan is not None and _state().clear:
                    if not plan.types:
                        if entry.plain is not None:
                            return entry.plain(*args)
                    elif plan.default is None:
                        return ask_types(entry.function, plan, found, args, keywords)
                return dispatch(entry, key, found, args, keywords, plan)
            found = collect(given, None)
            return dispatch(entry, tuple(map(type, found)), found, args, keywords)
        if not direct(keywords) and not not_renamed(keywords):
            keywords = {aliases.get(key, key): value for key, value in keywords.items()}
        if plain and no_operand(keywords):
            if not unwatched(keywords) or len(args) > first_watched:
                found = (*((args[at], kind) for at, kind in positions if at < len(args) and args[at] is not MISSING),
                         *((value, watched[key]) for key, value in keywords.items() if key in watched))  # fmt: skip
                if any(type(value) is not kind for value, kind in found):
                    check_options(name, parameters, args, keywords)
            if not checked:
                return implementation(*args, **keywords)
            try:
                return implementation(*args, **keywords)
            except Exception:
                check_options(name, parameters, args, keywords)
                raise
        found = collect(given, keywords)
        return dispatch(entry, tuple(map(type, found)), found, args, keywords)

    return answer


def _collecting(
    operands: Sequence[Parameter], order: Sequence[str]
) -> Callable[[tuple[Any, ...], dict[str, Any] | None], tuple[Any, ...]]:
    """Return the function that collects the operands from the values of the parameters, and from the keywords."""
    places = [(p.name, -1 if p.kind == KEYWORD else order.index(p.name), p.kind, p.operand) for p in operands]

    def collect(given: tuple[Any, ...], keywords: dict[str, Any] | None) -> tuple[Any, ...]:
        found: list[Any] = []
        for name, place, kind, operand in places:
            if kind == VARIADIC:
                for item in given[place:]:
                    found += elements(item)
                continue
            if kind == POSITIONAL:
                value = given[place]
                if keywords:
                    value = keywords.get(name, value)
            elif keywords:
                value = keywords.get(name)
            else:
                continue
            if operand == MANY:
                found += elements(value)
            elif operand == NESTED:
                found += indices(value)
            else:
                found.append(value)
        return tuple(found)

    return collect
