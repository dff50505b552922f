"""Reading the arguments of a call: which are operands, whether they are plain, which keywords have NumPy's names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

from .core import OPTIONAL_TENSORS, PLAIN, TENSORS, elements
from .options import LENIENT
from .signature import KEYWORD, MANY, NESTED, ONE, VARIADIC, Parameter

__all__ = ["NUMPY_NAMES", "collecting", "indices", "numpy_names", "plain_test", "renaming", "watched_options"]

#: NumPy's names for some parameters, which PyTorch takes as well.
NUMPY_NAMES: dict[str, str] = {"axis": "dim", "keepdims": "keepdim", "x": "input", "x1": "input", "x2": "other"}

_OPTION_TYPES: dict[str, type] = {"bool": bool, "int": int}
_SEQUENCES = frozenset((list, tuple))


def numpy_names(parameters: Sequence[Parameter], names: Mapping[str, str] = NUMPY_NAMES) -> dict[str, str]:
    """Return NumPy's names of these parameters, with PyTorch's."""
    public = {p.name for p in parameters}
    return {alias: target for alias, target in names.items() if target in public and alias not in public}


def renaming(
    parameters: Sequence[Parameter], names: Mapping[str, str] = NUMPY_NAMES
) -> tuple[Callable[[dict[str, Any]], bool], Callable[[dict[str, Any]], None]]:
    """Return the test that keywords have PyTorch's names, and what gives them these; it changes the dict."""
    aliases = numpy_names(parameters, names)

    def rename(keywords: dict[str, Any]) -> None:
        for key in tuple(keywords):  # All of them, which keeps their order.
            keywords[aliases.get(key, key)] = keywords.pop(key)

    return frozenset(aliases).isdisjoint, rename


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


def _plain_indices(value: Any) -> bool:
    """Return whether an index has no tensor-like in it, and no mode is active."""
    kind = type(value)
    if kind in PLAIN or kind is slice or value is Ellipsis:
        return True
    if kind is tuple or kind is list:
        return bool(PLAIN) and all(map(_plain_indices, value))
    # Numbers and arrays of NumPy, ranges and the like: nothing with a protocol of ours.
    return bool(PLAIN) and not hasattr(kind, "__torch_function__")


def _plain_set(parameter: Parameter) -> Set[type]:
    """Return the set that the type of a plain operand is in: numbers are plain only where an operand may be one."""
    annotation = parameter.annotation
    if not annotation or any(word in annotation for word in ("Number", "int", "float", "Any", "object")):
        return PLAIN
    return OPTIONAL_TENSORS if "None" in annotation else TENSORS


def plain_test(parameters: Sequence[Parameter]) -> Callable[[tuple[Any, ...]], bool]:
    """Return the test that no operand passed by position overrides, and that each is of a type that may stand there.

    It fails while a mode is active, if there is an operand: see Note [The plain set is the mode flag].
    """
    operands = [(place, p) for place, p in enumerate(parameters) if p.operand and p.kind != KEYWORD]
    singles = [(place, _plain_set(p)) for place, p in operands if p.operand == ONE]
    nested = [place for place, p in operands if p.operand == NESTED]
    several = [(place, p.kind == VARIADIC) for place, p in operands if p.operand == MANY]

    def is_plain(args: tuple[Any, ...]) -> bool:
        count = len(args)
        for place, kinds in singles:
            if place < count and type(args[place]) not in kinds:
                return False
        for place in nested:
            if place < count and not _plain_indices(args[place]):
                return False
        for place, variadic in several:
            if place < count:
                values = args[place:] if variadic else args[place]
                if type(values) not in _SEQUENCES:
                    values = (values,)
                if not PLAIN.issuperset(map(type, values)):
                    return False
        return True

    return is_plain


def collecting(
    parameters: Sequence[Parameter],
) -> Callable[[tuple[Any, ...], dict[str, Any]], tuple[Any, ...]]:
    """Return the function that collects the operands of a call, those inside sequences and indices too."""
    operands = [(p.name, place, p.kind, p.operand) for place, p in enumerate(parameters) if p.operand]

    # The usual case, single operands before everything else: 300 ns less.
    by_position = [(place, operand) for _, place, kind, operand in operands if kind != KEYWORD]
    leading = len(by_position) if by_position == [(i, ONE) for i in range(len(by_position))] else -1

    def collect(args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
        count = len(args)
        if not keywords and 0 <= leading <= count:
            return args[:leading]
        found: list[Any] = []
        for name, place, kind, operand in operands:
            if kind == VARIADIC:
                for item in args[place:]:
                    found += elements(item)
                continue
            if name in keywords:
                value = keywords[name]
            elif kind != KEYWORD and place < count:
                value = args[place]
            else:
                continue
            if operand == ONE:
                found.append(value)
            else:
                found += elements(value) if operand == MANY else indices(value)
        return tuple(found)

    return collect
