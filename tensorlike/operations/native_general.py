"""What the native core needs to answer calls of any declaration, and of any function written in Python: general.c."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorlike._native import core
from tensorlike.dispatch.collect import is_asked_about, plain_kinds, watched_options
from tensorlike.dispatch.operation import Form
from tensorlike.dispatch.options import check_options, fitting, is_checked
from tensorlike.dispatch.signature import KEYWORD, MANY, ONE, VARIADIC, Parameter
from tensorlike.dispatch.state import OPTIONAL_TENSORS, PLAIN
from tensorlike.tensor.declarations import runtime
from tensorlike.tensor.declarations.calls import finishing, keeps_floats, kernel_arguments, promoting, writing
from tensorlike.tensor.declarations.declaration import Declaration
from tensorlike.tensor.declarations.operands import allows_none, allows_number

#: The sorts of arguments that general.c knows.
_TENSOR, _TENSORS, _ANY_PLAIN, _BOOLEAN, _INTEGER, _NUMBER, _ORDINARY, _ANYTHING, _OUT, _ONE_OF_MANY = "TMPbinoauV"

#: As many as the core binds.
MOST_PARAMETERS = 32

_Place = tuple[str, bool, bool, str, Any]


def _option_of_kernel(p: Parameter) -> str:
    """Return the sort of arguments for an option of a primitive: those that its calls take without a second look."""
    kind = p.annotation.removesuffix(" | None")
    if kind in ("bool", "int") and not p.name.startswith("dim"):
        return _BOOLEAN if kind == "bool" else _INTEGER
    return _NUMBER if kind in ("float", "int", "Number") else _ORDINARY


def _place_of_kernel(p: Parameter, form: Form | None) -> _Place:
    """Return what may stand for a parameter of `form`, or of an implementation, where nobody is asked."""
    if p.name == "out":
        return _OUT, False, False, p.name, p.default
    if p.operand == MANY:
        return _TENSORS, False, False, p.name, p.default
    if p.operand == ONE:
        none = allows_none(p) and not (form is not None and form.is_operator)
        return _TENSOR, allows_number(p), none, p.name, p.default
    sort = _ORDINARY if p.kind == VARIADIC else _option_of_kernel(p)
    if sort == _ORDINARY and form is None:
        sort = _ANYTHING
    return sort, False, p.annotation.endswith("| None") and sort in "bi", p.name, p.default


def attach_kernel(
    function: Any, d: Declaration, parameters: Sequence[Parameter], name: str, *, inplace: bool, form: Form | None = None
) -> None:
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
    finishes = not (d.several or d.view)
    core.attach_kernel(
        function, tuple(_place_of_kernel(p, form) for p in parameters),
        spread=next((place for place, p in enumerate(parameters) if p.kind == VARIADIC), -1),
        kernel=ufunc or d.kernel, is_ufunc=ufunc is not None, namespace=np, silent=runtime.silent,
        promote=None if d.promotion is None else promoting(d, name, parameters),
        keeps_floats=keeps_floats(d), elementwise=d.elementwise,
        finish=finishing(d, parameters, name), finishes=finishes,
        write=writing(d, parameters, name)[1] if inplace else None,
        fit=lambda values: all(p.operand or fitting(p.annotation, v) for p, v in zip(parameters, values)),
        contiguous=not (d.view or d.own_layout), plain_result=d.plain_result, random=d.random,
        recording=d.recording if d.differentiable and finishes else None,
        recorded=sum(p.name != "out" for p in parameters), records=d.differentiable and finishes and not inplace,
        order=tuple(positional), options=tuple(place for _, place, _ in options),
    )  # fmt: skip


def attach_python(function: Any, form: Form) -> None:
    """Give a function, a form that is written in Python, the handler of calls that nobody is asked about."""
    parameters = form.parameters
    if len(parameters) > MOST_PARAMETERS or any(p.operand not in (None, ONE, MANY) for p in parameters):
        return
    watched = watched_options(parameters) if form.strict else {}

    def place(p: Parameter) -> _Place:
        none = False
        if p.operand == MANY:
            sort = _ONE_OF_MANY if p.kind == VARIADIC else _TENSORS
        elif p.operand == ONE:
            kinds = plain_kinds(p)
            sort = _ANY_PLAIN if kinds is PLAIN and not form.is_operator else _TENSOR
            none = kinds is OPTIONAL_TENSORS
        elif p.name in watched:
            sort = _BOOLEAN if watched[p.name] is bool else _INTEGER
            none = p.annotation.endswith("| None")
        else:
            sort = _ORDINARY if form.of_library and is_asked_about(p) else _ANYTHING
        return sort, False, none, p.name, p.default

    explain: Callable[..., None] | None = None
    if any(map(is_checked, parameters)):
        explain = functools.partial(check_options, form.name.rpartition(".")[2], parameters)
    core.attach_python(
        function, tuple(map(place, parameters)), sum(p.kind != KEYWORD for p in parameters),
        next((place for place, p in enumerate(parameters) if p.kind == VARIADIC), -1), form.implementation, explain,
    )  # fmt: skip
