"""Calls with more positional arguments than a function takes: orders that PyTorch has too, or Python's error."""

from __future__ import annotations

import copy
import numbers
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .core import PLAIN, dispatch, has_handler, outside_stacklevel
from .missing import MISSING
from .signature import POSITIONAL
from .state import TENSOR_TYPES

if TYPE_CHECKING:
    from .operation import Form

#: Whether the warning was given: once in a process, as PyTorch gives it.
_warned: list[bool] = [False]

_METHODS = ("method", "inplace", "operator")


def excess(form: Form, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Answer a call with more positional arguments than `form` has parameters.

    They are those of a deprecated order, such as `add(input, alpha, other)`, or all numbers but the first, such as
    `subtract(input, 2, 3)`; others raise a TypeError. Modes and types see them as they were passed.
    """
    order = _deprecated_order(form, args, keywords)
    if order is not None:
        _warn(form, order)
    else:
        order = _number_order(form, args, keywords)
    if order is None:
        raise TypeError(_too_many(form, len(args)))

    def run(*values: Any, **more: Any) -> Any:
        given = dict(zip(order, values, strict=True))
        for p in form.parameters:
            if p.kind != POSITIONAL and type(given.get(p.name)) in TENSOR_TYPES:
                given[p.name] = given[p.name].item()
        positional = [given.pop(p.name) for p in form.parameters if p.name in given and p.kind == POSITIONAL]
        return form.implementation(*positional, **given, **more)

    operands = tuple(a for a in args if not isinstance(a, numbers.Number))
    types = tuple(map(type, operands))
    if PLAIN.issuperset(types):
        return run(*args, **keywords)
    answering = copy.copy(form)
    answering.implementation = run
    answering.run = lambda args, keywords: run(*args, **keywords)
    return dispatch(answering, types, operands, args, keywords)


def _deprecated_order(form: Form, args: Sequence[Any], keywords: dict[str, Any]) -> tuple[str, ...] | None:
    """Return the parameters that the arguments are of, in their order; None when they are of no deprecated order."""
    if form.name.rpartition(".")[2].removesuffix("_") != form.operation.name:
        return None  # Aliases, such as `subtract`, have none.
    first = form.parameters[0].name if form.parameters else ""
    options = {p.name for p in form.parameters if p.kind != POSITIONAL}
    for order in form.operation.deprecated_orders:
        if form.kind in _METHODS:
            order = (first, *(name for name in order if name != form.operation.parameters[0].name))
        if (
            len(order) == len(args)
            and keywords.keys() <= {"out"} & options
            and all(_is_number(a) for name, a in zip(order, args, strict=True) if name in options)
        ):
            return order
    return None


def _is_number(value: Any) -> bool:
    """Return whether a value may be given for a number: a tensor without dimensions and history may, and a type that
    is asked where it stands.
    """
    if isinstance(value, numbers.Number):
        return True
    if type(value) in TENSOR_TYPES:
        return not value.ndim and not value.requires_grad
    return not isinstance(value, tuple(TENSOR_TYPES)) and has_handler(value)


def _number_order(form: Form, args: Sequence[Any], keywords: dict[str, Any]) -> tuple[str, ...] | None:
    """Return the parameters, in their order, of a call with a tensor and numbers; None if it is no such call."""
    order = form.operation.number_order
    fits = not keywords and len(order) == len(args) and all(map(_is_number, args[1:]))
    return (form.parameters[0].name, *order[1:]) if fits else None


def _too_many(form: Form, given: int) -> str:
    """Return the message of Python for too many positional arguments; it does not count the tensor of a method."""
    positional = [p for p in form.parameters if p.kind == POSITIONAL]
    least = sum(1 for p in positional if p.default is MISSING)
    most = len(positional)
    if form.kind in _METHODS:
        least, most, given = max(least - 1, 0), most - 1, given - 1
    takes = str(most) if least == most else f"from {least} to {most}"
    plural = "" if takes == "1" else "s"
    name = form.name.rpartition(".")[2]
    return f"{name}() takes {takes} positional argument{plural} but {given} {'was' if given == 1 else 'were'} given"


def _warn(form: Form, order: Sequence[str]) -> None:
    if _warned[0]:
        return
    _warned[0] = True
    name = form.name.rpartition(".")[2]
    skipped = 1 if form.kind in _METHODS else 0
    numeric = {p.name: p.default for p in form.parameters if p.kind != POSITIONAL and p.name != "out"}
    out = ["Tensor out = None"] if any(p.name == "out" for p in form.parameters) else []
    old = [f"{'Number' if n in numeric else 'Tensor'} {n}" for n in order if not skipped or n != order[0]]
    new = [f"Tensor {p.name}" for p in form.parameters[skipped:] if p.kind == POSITIONAL]
    options = [f"Number {n} = {default}" for n, default in numeric.items()] + out
    warnings.warn(
        f"This overload of {name} is deprecated:\n\t{name}({', '.join(old + (['*', *out] if out else []))})\n"
        f"Consider using one of the following signatures instead:\n\t{name}({', '.join([*new, '*', *options])})",
        UserWarning,
        stacklevel=outside_stacklevel(),
    )
