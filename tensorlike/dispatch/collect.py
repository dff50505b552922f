"""Reading the arguments of a call: which are operands, whether they are plain, which keywords have NumPy's names.

# Note [What overrides]
Any argument of a public function overrides whose type has a `__torch_function__` that is switched on, wherever it
stands: as an operand, as a number, a dimension or a size, in a list of sizes, as `out` or `dtype`. Those that stand
where the signature has no tensor are strays here. They are found before any argument is checked, and dispatched with
the operands, in the order of the parameters.

As in PyTorch, what fits is taken as it is: an argument that is a number or a string, a tensor of any class that stands
for one number. A tensor in a list of sizes overrides: a size that is no plain number. Two kinds of parameters
are never looked at, and their annotations say so: a `Callable`, which is called, and `object` or an array of NumPy, the
data that a tensor is made of.

A plain call pays for a look at the types of the options that it gives, and for none when it gives none but numbers by
position: their types are among those of the first test, in `wrap`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

from .core import OPTIONAL_TENSORS, ORDINARY, PLAIN, TENSORS, elements, has_handler
from .options import LENIENT
from .signature import KEYWORD, MANY, NESTED, ONE, VARIADIC, Parameter, operand_kind
from .state import TENSOR_TYPES

#: NumPy's names for some parameters, which PyTorch takes as well.
NUMPY_NAMES: dict[str, str] = {"axis": "dim", "keepdims": "keepdim", "x": "input", "x1": "input", "x2": "other"}

#: Annotations of parameters that are never looked at, besides `object`.
_DATA = re.compile(r"Callable|ndarray")
#: An option that may be a tensor, as `out` of a factory: one of a subclass overrides too.
_STRAY_TENSORS = "stray tensors"
#: Beyond the arguments of any call.
_NO_PLACE = 1 << 30

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


#: A bit of the flags of a type: it was made by a `class` statement or the like, and may be given attributes.
_MADE_LATER = 1 << 9
#: What fits an option as it is, of the types that have subclasses.
_FITTING = (int, float, complex, str)


def _is_ordinary(kind: type) -> bool:
    """Return whether values of a type never override: neither the type nor its instances can be given an attribute."""
    if kind.__flags__ & _MADE_LATER or kind.__dictoffset__ or hasattr(kind, "__torch_function__"):
        return False
    ORDINARY.add(kind)
    return True


def strays(value: Any, tensors: bool = False) -> Sequence[Any]:
    """Return what overrides in an argument that is no operand: see Note [What overrides].

    With `tensors` a tensor of a subclass overrides too.
    """
    kind = type(value)
    if kind in ORDINARY:
        return ()
    if kind is tuple or kind is list or issubclass(kind, (tuple, list)):
        for item in value:
            if type(item) not in ORDINARY:
                return [found for item in value for found in strays(item, True)]
        return ()
    if _is_ordinary(kind) or issubclass(kind, _FITTING):
        return ()
    if not tensors and issubclass(kind, tuple(TENSOR_TYPES)):
        return ()
    if issubclass(kind, type) and issubclass(value, tuple(TENSOR_TYPES)):
        return ()  # A class of tensors, which names a dtype: `x.type(tl.Tensor)`.
    return (value,) if has_handler(value) else ()


def is_asked_about(parameter: Parameter) -> bool:
    """Return whether an argument for a parameter that is no operand is looked at: see Note [What overrides]."""
    annotation = parameter.annotation
    return parameter.operand is None and annotation != "object" and not _DATA.search(annotation)


def keywords_test(
    parameters: Sequence[Parameter], operands_alone: bool = False
) -> Callable[[dict[str, Any]], bool]:
    """Return the test that keywords have PyTorch's names, are no operands, and that none of them is a stray.

    With `operands_alone` options are not looked at.
    """
    special = frozenset(numpy_names(parameters)).union(p.name for p in parameters if p.operand)
    asked = {} if operands_alone else _asked(parameters)

    def are_plain(keywords: dict[str, Any]) -> bool:
        for name in keywords:
            if name in special:
                return False
            value = keywords[name]
            if type(value) not in ORDINARY and name in asked and strays(value, asked[name]):
                return False
        return True

    return are_plain


def _asked(parameters: Sequence[Parameter]) -> dict[str, bool]:
    """Return the parameters that strays may come in, each with whether a tensor of a subclass is one there."""
    return {p.name: operand_kind(p.annotation) is not None for p in parameters if is_asked_about(p)}


def indices(value: Any) -> tuple[Any, ...]:
    """Return the parts of an index, so that a tensor-like inside `x[0, duck]` is seen."""
    if type(value) is tuple or type(value) is list:
        return tuple(found for item in value for found in indices(item))
    return (value,)


def _plain_indices(value: Any) -> bool:
    """Return whether an index has no tensor-like in it, and no mode is active."""
    kind = type(value)
    if kind in PLAIN or kind is slice or value is Ellipsis:
        return True
    if kind is tuple or kind is list:
        return bool(PLAIN) and all(map(_plain_indices, value))
    # Numbers and arrays of NumPy, ranges and the like: nothing with a protocol of ours.
    return bool(PLAIN) and not has_handler(value)


def plain_kinds(parameter: Parameter) -> Set[type]:
    """Return the set that the type of a plain operand is in: numbers are plain only where an operand may be one."""
    annotation = parameter.annotation
    if not annotation or any(word in annotation for word in ("Number", "int", "float", "Any", "object")):
        return PLAIN
    return OPTIONAL_TENSORS if "None" in annotation else TENSORS


def plain_test(parameters: Sequence[Parameter], operands_alone: bool = False) -> Callable[[tuple[Any, ...]], bool]:
    """Return the test that nothing passed by position overrides, and that each operand is of a type that may be there.

    It fails while a mode is active, if there is an operand: see Note [The plain set is the mode flag]. With
    `operands_alone` options are not looked at.
    """
    asked = {} if operands_alone else _asked(parameters)
    # In the order of the parameters: their places, the types that need no further look, and what is to be looked at.
    tests: list[tuple[int, Set[type], str | None]] = []
    for place, p in enumerate(parameters):
        if p.kind == KEYWORD or not (p.operand or p.name in asked):
            continue
        kinds = ORDINARY if p.operand is None else plain_kinds(p) if p.operand == ONE else PLAIN
        look = p.operand or (_STRAY_TENSORS if asked[p.name] else None)
        tests.append((place, frozenset() if p.kind == VARIADIC else kinds, look))
    rest = next((place for place, p in enumerate(parameters) if p.kind == VARIADIC), _NO_PLACE)

    def is_plain(args: tuple[Any, ...]) -> bool:
        count = len(args)
        for place, kinds, look in tests:
            if place >= count:
                return True
            value: Any = args[place]
            if type(value) in kinds:
                continue
            if place == rest:
                # Most often one sequence, or numbers.
                value = value if count == rest + 1 and look is None else args[rest:]
            if look is None:
                if strays(value):
                    return False
            elif look == ONE:
                return False
            elif look == NESTED:
                if not _plain_indices(value):
                    return False
            elif look == MANY:
                if type(value) not in _SEQUENCES or not PLAIN.issuperset(map(type, value)):
                    return False
            elif strays(value, True):
                return False
        return True

    return is_plain


def _collected(p: Parameter) -> str | None:
    """Return how the operands of an argument are found: an operand that may be a list of sizes is opened too."""
    return MANY if p.operand == ONE and "Sequence[" in p.annotation else p.operand


def collecting(
    parameters: Sequence[Parameter], operands_alone: bool = False
) -> Callable[[tuple[Any, ...], dict[str, Any]], tuple[Any, ...]]:
    """Return the function that collects what may override: the operands of a call, those inside sequences and indices
    too, and the strays of Note [What overrides], unless `operands_alone`.
    """
    asked = {} if operands_alone else _asked(parameters)
    everything = [
        (p.name, place, p.kind, _collected(p), asked.get(p.name, False))
        for place, p in enumerate(parameters)
        if p.operand or p.name in asked
    ]
    operands = [one for one in everything if one[3]]

    # The usual case, single operands before everything else: 300 ns less.
    by_position = [(place, operand) for _, place, kind, operand, _ in operands if kind != KEYWORD]
    leading = len(by_position) if by_position == [(i, ONE) for i in range(len(by_position))] else -1

    def collect(args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
        count = len(args)
        described = operands
        if asked:
            # A look at the types of the rest; it may hold operands too, which does no harm.
            if count > leading:
                for value in args[leading:] if leading > 0 else args:
                    given = type(value)
                    if given not in ORDINARY and not (given is tuple and ORDINARY.issuperset(map(type, value))):
                        described = everything
                        break
            for name in keywords:
                if type(keywords[name]) not in ORDINARY:
                    described = everything
                    break
        if described is operands and not keywords and 0 <= leading <= count:
            return args if count == leading else args[:leading]
        found: list[Any] = []
        for name, place, kind, operand, tensors in described:
            if kind == VARIADIC and name not in keywords:
                if operand is None:
                    found += strays(args[place:])
                    continue
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
            elif operand is None:
                found += strays(value, tensors)
            else:
                found += elements(value) if operand == MANY else indices(value)
        return tuple(found)

    return collect
