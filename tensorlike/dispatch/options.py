"""Options, the arguments that are no operands: checking their types after a call has failed.

# Note [Types of options]
PyTorch checks the types of all arguments before it computes. Here a call that works must not pay for that: an option of
a wrong type makes the implementation fail somewhere inside NumPy, with NumPy's error. Only then are the arguments
compared with the annotations, and the error replaced by the TypeError that names the argument. A `try` costs nothing
until something is raised. Wrong types that would not fail (any object is true or false, True counts as 1) are tested
where the option is used: a `bool` or an `int` in calls of primitives (`tensor/declarations/calls.py`), and for Python
functions in `wrap.running`, for those options that were passed.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .signature import POSITIONAL, VARIADIC, Parameter

if TYPE_CHECKING:
    import numpy as np

#: Options that PyTorch's own Python functions only test for truth, or compare with known values.
LENIENT = frozenset((
    "_stacklevel", "align_corners", "align_to_window", "antialias", "compute_mode", "get_infos", "hard",
    "include_last_offset", "inplace", "mode", "nonlinearity", "recompute_scale_factor", "reduction", "return_indices",
    "swap",
))  # fmt: skip
#: Where PyTorch takes None for a bool.
_NONE_TOO = frozenset(("pin_memory", "requires_grad", "stable"))


def _is_bool(value: float | np.generic | None) -> bool:
    return isinstance(value, bool)  # Neither NumPy's own nor a tensor, for PyTorch either.


def _is_int(value: int | np.generic | Sequence[int]) -> bool:
    return not isinstance(value, bool) and hasattr(value, "__index__")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, complex)) or hasattr(value, "__float__") or hasattr(value, "__complex__")


def _is_sequence(value: Any) -> bool:
    return hasattr(value, "__iter__") and not isinstance(value, (str, bytes, dict))


def _are_ints(value: Any) -> bool:
    return _is_sequence(value) and (not isinstance(value, (list, tuple)) or all(map(_is_int, value)))


_TESTS = {
    "bool": (_is_bool, "bool"),
    "int": (_is_int, "int"),
    "float": (_is_number, "float"),
    "complex": (_is_number, "Number"),
    "Number": (_is_number, "Number"),
    "str": (lambda value: isinstance(value, str), "str"),
    "None": (lambda value: value is None, "None"),
    "Sequence[int]": (_are_ints, "tuple of ints"),
    "tuple[int, ...]": (_are_ints, "tuple of ints"),
    "tuple[int, int]": (_are_ints, "tuple of ints"),
    "Sequence[float]": (_is_sequence, "tuple of floats"),
}


@functools.cache
def _alternatives(annotation: str) -> tuple[Any, ...]:
    """Return the tests of a union's members; none when one of them is not known here, and anything may be right."""
    found = [_TESTS.get(part.strip()) for part in annotation.split("|")]
    return () if None in found else tuple(found)


def is_checked(parameter: Parameter) -> bool:
    """Return whether the annotation of an option allows a check of its type."""
    return parameter.operand is None and parameter.kind != VARIADIC and bool(_alternatives(parameter.annotation))


def fitting(annotation: str, value: Any) -> bool:
    """Return whether a value is of a type that an annotation allows; True if unknown."""
    if value is None and annotation not in ("bool", "int", "Number"):
        return True  # PyTorch takes it in many places where its signature does not say so.
    tests = _alternatives(annotation)
    return not tests or any(test(value) for test, _ in tests)


def check_options(name: str, parameters: Sequence[Parameter], args: Sequence[Any], keywords: Mapping[str, Any]) -> None:
    """Raise a TypeError for the first argument that is no operand and not of its annotated type."""
    positional = [p for p in parameters if p.kind == POSITIONAL]
    given = [(p, v, i) for i, (p, v) in enumerate(zip(positional, args), parameters[0].name != "self")]
    by_name = {p.name: p for p in parameters}
    given += [(by_name[key], value, 0) for key, value in keywords.items() if key in by_name]
    for parameter, value, position in given:
        if not is_checked(parameter) or fitting(parameter.annotation, value):
            continue
        if parameter.name in LENIENT or (value is None and parameter.name in _NONE_TOO):
            continue
        expected = next(words for _, words in _alternatives(parameter.annotation) if words != "None")
        place = f" (position {position})" if position else ""
        raise TypeError(
            f"{name.rpartition('.')[2]}(): argument '{parameter.name}'{place} must be {expected}, "
            f"not {type(value).__name__} ({value!r:.60})"
        ) from None
