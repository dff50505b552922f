"""Numbers whose value a compiler does not know yet: none, here. The functions on them take plain numbers.

`isinstance(n, (int, SymInt))` and `sym_max(a, b)` stand in code that PyTorch may compile.

Source: PyTorch's names of the main namespace.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorlike.dispatch import handle_torch_function, has_torch_function
from tensorlike.tensor.tensor import Tensor

__all__ = [
    "SymBool",
    "SymFloat",
    "SymInt",
    "sym_constrain_range",
    "sym_float",
    "sym_fresh_size",
    "sym_int",
    "sym_ite",
    "sym_max",
    "sym_min",
    "sym_not",
    "sym_sqrt",
    "sym_sum",
]


class _Symbolic:
    __slots__ = ()

    def __init__(self, node: Any) -> None:
        raise TypeError(f"{type(self).__name__}(): nothing is compiled, so that sizes are always plain numbers")


class SymInt(_Symbolic):
    """An integer that is not known before the program runs: there is none."""

    __slots__ = ()


class SymFloat(_Symbolic):
    """A floating-point number that is not known before the program runs: there is none."""

    __slots__ = ()


class SymBool(_Symbolic):
    """A truth value that is not known before the program runs: there is none."""

    __slots__ = ()


def sym_float(a: Any) -> Any:
    """Return `a` as a float.

    >>> tl.sym_float(3)
    3.0
    """
    if has_torch_function((a,)):
        return handle_torch_function(sym_float, (a,), a)
    return a.__sym_float__() if hasattr(a, "__sym_float__") else float(a)


def sym_int(a: Any) -> Any:
    """Return `a` as an integer, rounded towards zero.

    >>> tl.sym_int(-3.7)
    -3
    """
    if has_torch_function((a,)):
        return handle_torch_function(sym_int, (a,), a)
    return int(a)


def sym_not(a: Any) -> Any:
    """Return the opposite of a truth value.

    >>> tl.sym_not(True)
    False
    """
    if has_torch_function((a,)):
        return handle_torch_function(sym_not, (a,), a)
    return a.__sym_not__() if hasattr(a, "__sym_not__") else not a


def _checked(function: str, *values: Any) -> None:
    for value in values:
        if not isinstance(value, (bool, int, float, np.integer, np.floating)):
            raise AssertionError(f"{function}(): expected a number, got {type(value).__name__}")


def sym_max(a: Any, b: Any) -> Any:
    """Return the larger of two numbers, as a float if one of them is.

    >>> tl.sym_max(1, 2.5), tl.sym_max(3, 2.5)
    (2.5, 3.0)
    """
    if has_torch_function((a, b)):
        return handle_torch_function(sym_max, (a, b), a, b)
    _checked("sym_max", a, b)
    found = max(a, b)
    return float(found) if float in (type(a), type(b)) else found


def sym_min(a: Any, b: Any) -> Any:
    """Return the smaller of two numbers, as a float if one of them is.

    >>> tl.sym_min(1, 2.5)
    1.0
    """
    if has_torch_function((a, b)):
        return handle_torch_function(sym_min, (a, b), a, b)
    _checked("sym_min", a, b)
    found = min(a, b)
    return float(found) if float in (type(a), type(b)) else found


def sym_sqrt(a: Any) -> Any:
    """Return the square root of a number.

    >>> tl.sym_sqrt(4)
    2.0
    """
    if has_torch_function((a,)):
        return handle_torch_function(sym_sqrt, (a,), a)
    return math.sqrt(a)


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """Return `t` or `f`, which are of one type, as `b` is true or false.

    >>> tl.sym_ite(True, 1, 2)
    1
    """
    if has_torch_function((b, t, f)):
        return handle_torch_function(sym_ite, (b, t, f), b, t, f)
    if not isinstance(b, bool) or type(t) is not type(f):
        shown = ", ".join(type(x).__name__ for x in (b, t, f))
        raise AssertionError(f"sym_ite(): expected a bool and two values of one type, got {shown}")
    return t if b else f


def sym_sum(args: Sequence[Any]) -> Any:
    """Return the sum of integers.

    >>> tl.sym_sum([1, 2, 3])
    6
    """
    if has_torch_function(tuple(args)):
        return handle_torch_function(sym_sum, tuple(args), args)
    return sum(args)


def sym_fresh_size(expr: Any) -> Any:
    """Return a size as it is, the element of a tensor."""
    return expr.item() if isinstance(expr, Tensor) else expr


def sym_constrain_range(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    """Raise RuntimeError unless a number is at least `min` and at most `max`."""
    lower, upper = -(2**63) if min is None else min, 2**63 - 1 if max is None else max
    value = sym_fresh_size(size)
    if not lower <= value <= upper:
        raise RuntimeError(f"Invalid value range for {value} between [{lower}, {upper}].")
