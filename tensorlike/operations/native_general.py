"""Data for the native core: calls of any declaration, and of any function written in Python (general.c)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np

from tensorlike._native import core
from tensorlike.dispatch.collect import is_asked_about, plain_kinds
from tensorlike.dispatch.operation import Form
from tensorlike.dispatch.options import check_options, fitting, is_checked
from tensorlike.dispatch.signature import KEYWORD, MANY, ONE, VARIADIC, Parameter
from tensorlike.dispatch.state import OPTIONAL_TENSORS, PLAIN
from tensorlike.tensor.declarations import runtime
from tensorlike.tensor.declarations.calls import (
    NUMBERS_STAY,
    finishing,
    keeps_floats,
    kernel_arguments,
    promoting,
    writing,
)
from tensorlike.tensor.declarations.declaration import Declaration
from tensorlike.tensor.declarations.operands import allows_none, allows_number
from tensorlike.tensor.declarations.promotion_rules import Promotion

#: As many as the core binds.
MOST_PARAMETERS = 32


class _Sort(StrEnum):
    """Sorts of arguments, as general.c knows them."""

    TENSOR = "1"
    TENSORS = "*"
    ONE_OF_MANY = "V"
    ANY_PLAIN = "P"
    BOOLEAN = "b"
    INTEGER = "i"
    NUMBER = "n"
    ANY_NUMBER = "N"
    TEXT = "w"
    SIZES = "s"
    SIZES_OR_ONE = "S"
    ORDINARY = "o"
    ANYTHING = "a"
    OUT = "u"


#: The sorts of options, by their annotations without None.
_SORTS = {
    "bool": _Sort.BOOLEAN, "int": _Sort.INTEGER, "float": _Sort.ANY_NUMBER, "complex": _Sort.ANY_NUMBER,
    "Number": _Sort.ANY_NUMBER, "str": _Sort.TEXT, "Sequence[int]": _Sort.SIZES, "tuple[int, ...]": _Sort.SIZES,
    "tuple[int, int]": _Sort.SIZES, "int | Sequence[int]": _Sort.SIZES_OR_ONE,
    "int | tuple[int, ...]": _Sort.SIZES_OR_ONE, "int | tuple[int, int]": _Sort.SIZES_OR_ONE,
}  # fmt: skip


class _Place(NamedTuple):
    """A parameter, as general.c knows it."""

    sort: str
    #: A number stands for the operand too; and None for the argument.
    number: bool
    none: bool
    #: An argument that fits may be of a wrong type still, which `check_options` would find.
    loose: bool
    name: str
    default: Any


def _option_of_kernel(p: Parameter) -> _Sort:
    """Return the sort of arguments for an option of a primitive: those that its calls take without a second look."""
    kind = p.annotation.removesuffix(" | None")
    if kind in ("bool", "int") and not p.name.startswith("dim"):
        return _SORTS[kind]
    return _Sort.NUMBER if kind in ("float", "int", "Number") else _Sort.ORDINARY


def _place_of_kernel(p: Parameter, form: Form | None) -> _Place:
    """Return what may stand for a parameter of `form`, or of an implementation, which asks no type."""
    number = none = False
    if p.name == "out":
        sort = _Sort.OUT
    elif p.operand == MANY:
        sort = _Sort.TENSORS
    elif p.operand == ONE:
        sort, number = _Sort.TENSOR, allows_number(p)
        none = allows_none(p) and not (form is not None and form.is_operator)
    else:
        sort = _Sort.ORDINARY if p.kind == VARIADIC else _option_of_kernel(p)
        none = p.annotation.endswith("| None") and sort in (_Sort.BOOLEAN, _Sort.INTEGER)
        if sort == _Sort.ORDINARY and form is None:
            sort = _Sort.ANYTHING
    return _Place(sort, number, none, False, p.name, p.default)


def _place_of_python(p: Parameter, form: Form) -> _Place:
    """Return what may stand for a parameter of a form that is written in Python."""
    none = loose = False
    if p.operand == MANY:
        sort = _Sort.ONE_OF_MANY if p.kind == VARIADIC else _Sort.TENSORS
    elif p.operand == ONE:
        kinds = plain_kinds(p)
        sort = _Sort.ANY_PLAIN if kinds is PLAIN and not form.is_operator else _Sort.TENSOR
        none = kinds is OPTIONAL_TENSORS
    elif not form.of_library or not is_asked_about(p):
        sort = _Sort.ANYTHING
    elif is_checked(p):
        known = _SORTS.get(p.annotation.removesuffix(" | None"))
        sort, loose = known or _Sort.ORDINARY, known is None
        none = fitting(p.annotation, None)
    else:
        sort = _Sort.ORDINARY
    return _Place(sort, False, none, loose, p.name, p.default)


def attach_kernel(
    function: Any, d: Declaration, parameters: Sequence[Parameter], name: str, *, inplace: bool,
    form: Form | None = None,
) -> None:  # fmt: skip
    """Give a function, `form` of `d` or an implementation with these parameters, the handler of calls that a kernel
    answers.
    """
    if (d.random and d.elementwise) or any(p.operand not in (None, ONE, MANY) for p in parameters):
        return
    parameters = tuple(parameters)
    if d.out == "dtype" and any(p.name == "dtype" for p in parameters) and not inplace:
        parameters = tuple(p for p in parameters if p.name != "out")  # Whose dtype is that of the call.
    positional, options = kernel_arguments(d, parameters)
    ufunc = None if d.ufunc is None else getattr(np, d.ufunc)
    finishes = not (d.outputs or d.view)
    core.attach_kernel(
        function, tuple(_place_of_kernel(p, form) for p in parameters),
        spread=next((place for place, p in enumerate(parameters) if p.kind == VARIADIC), -1),
        kernel=ufunc or d.kernel, is_ufunc=ufunc is not None, namespace=np, silent=runtime.silent,
        promote=None if d.promotion is None else promoting(d, name, parameters),
        numbers="s" if d.promotion is Promotion.BOUNDS else "-" if d.promotion in NUMBERS_STAY else "c",
        keeps_floats=keeps_floats(d), elementwise=d.elementwise,
        finish=finishing(d, parameters, name), finishes=finishes,
        write=writing(d, parameters, name)[1] if inplace else None,
        fit=lambda values: all(p.operand or fitting(p.annotation, v) for p, v in zip(parameters, values)),
        packed=d.packed_type() if d.outputs and not d.view else None, differentiable=d.differentiable,
        # What must share no memory, and the dtype of `x.cumsum_()`, are looked at in Python; so is what cannot be drawn
        # again.
        copies=not (inplace and d.write is not None) and not d.disjoint and d.out != "dtype" and not d.random,
        contiguous=not (d.view or d.own_layout), plain_result=d.plain_result, random=d.random,
        recording=d.recording if d.differentiable and finishes else None,
        recorded=sum(p.name != "out" for p in parameters), records=d.differentiable and finishes and not inplace,
        order=tuple(positional), options=tuple(place for _, place, _ in options),
    )  # fmt: skip


def attach_python(function: Any, form: Form) -> None:
    """Give a function, a form that is written in Python, the handler of calls without types to ask."""
    parameters = form.parameters
    if len(parameters) > MOST_PARAMETERS or any(p.operand not in (None, ONE, MANY) for p in parameters):
        return
    explain: Callable[..., None] | None = None
    if any(map(is_checked, parameters)):
        explain = functools.partial(check_options, form.name.rpartition(".")[2], parameters)
    core.attach_python(
        function, tuple(_place_of_python(p, form) for p in parameters), sum(p.kind != KEYWORD for p in parameters),
        next((place for place, p in enumerate(parameters) if p.kind == VARIADIC), -1), form.implementation, explain,
    )  # fmt: skip
