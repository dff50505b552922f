"""Comparing the signature of the answering function with that of the overridden function."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np

from tensorlike.dispatch.missing import MISSING
from tensorlike.dispatch.signature import KEYWORD, POSITIONAL, VARIADIC, Parameter

from .foreign import let_through, text_of_error
from .model import SignatureFault, SignatureProblem

if TYPE_CHECKING:
    from .answering import Answering
    from .api import AuditedApi, AuditedFunction, Call

_BINDING = re.compile(
    r"got an unexpected keyword argument|takes (from )?\d+ (to \d+ )?positional argument|takes no (keyword )?arguments"
    r"|missing \d+ required|got multiple values for|positional-only arguments passed as keyword"
)
_UNEXPECTED = re.compile(r"unexpected keyword argument '(\w+)'")


def _same_default(one: object, other: object) -> bool:
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    try:
        return bool(np.all(one == other))
    except BaseException as error:
        let_through(error)
        return False


def compared(function: AuditedFunction, answering: Answering, call: Call) -> list[SignatureProblem]:
    """Return how the signature of the answering function differs from that of the function it overrides.

    The defaults are read off the call that was seen: a parameter that was not passed has its default.
    """
    code, skip = answering.code, answering.skip
    takes_args = bool(code.co_flags & inspect.CO_VARARGS)
    takes_keywords = bool(code.co_flags & inspect.CO_VARKEYWORDS)
    positional = list(code.co_varnames[skip : code.co_argcount])
    positional_only = set(code.co_varnames[: code.co_posonlyargcount])
    keyword = list(code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount])
    name = code.co_name
    passed = _passed(function.parameters, call)
    problems = []
    for index, p in enumerate(function.parameters):
        fault = text = None
        if p.kind == VARIADIC:
            if not takes_args:
                fault, text = SignatureFault.KIND, f"{name}() does not take *{p.name}"
        elif p.kind == POSITIONAL and p.name in keyword:
            fault = SignatureFault.KIND
            text = f"{name}() takes {p.name!r} by keyword alone, and it may come by position"
        elif p.name in positional:
            if p.kind == POSITIONAL and positional.index(p.name) != index:
                fault = SignatureFault.KIND
                text = f"{name}() takes {p.name!r} at another position, {positional.index(p.name) + 1} for {index + 1}"
            elif p.name in positional_only and index:
                fault, text = SignatureFault.KIND, f"{name}() does not take {p.name!r} by keyword"
        elif p.name not in keyword:
            if p.kind == POSITIONAL and index < len(positional):
                # The object of a method is not passed by keyword.
                if p.name != "self" and positional[index] not in {q.name for q in function.parameters}:
                    fault = SignatureFault.NAME
                    text = f"{name}() calls {p.name!r} {positional[index]!r}, so that {p.name}=... is refused"
                elif p.name != "self":
                    fault, text = SignatureFault.MISSING, f"{name}() has no parameter {p.name!r}"
            elif p.kind == POSITIONAL and takes_keywords and not takes_args:
                fault = SignatureFault.KIND
                text = f"{name}() takes {p.name!r} by keyword alone, and it may come by position"
            elif (p.kind == POSITIONAL and not takes_args) or (p.kind == KEYWORD and not takes_keywords):
                fault, text = SignatureFault.MISSING, f"{name}() has no parameter {p.name!r}"
        if fault is None and p.default is not MISSING and p.name not in passed and p.name in answering.values:
            default = answering.values[p.name]
            if not _same_default(p.default, default):
                fault = SignatureFault.DEFAULT
                text = f"{name}() has {p.name}={_short(default)} by default, the function {p.name}={_short(p.default)}"
        if fault is not None and text is not None:
            problems.append(SignatureProblem(fault, p.name, text))
    return problems


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _passed(parameters: Sequence[Parameter], call: Call) -> set[str]:
    by_position = [p.name for p in parameters if p.kind == POSITIONAL][: len(call.args)]
    return {*by_position, *call.kwargs}


def is_refused_by_python(error: BaseException, api: AuditedApi) -> bool:
    """Return whether Python refused the arguments when the type's code called a function."""
    if not isinstance(error, TypeError) or not _BINDING.search(text_of_error(error)):
        return False
    traceback: TracebackType | None = error.__traceback__
    if traceback is None:
        return True
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    # Python raises it in the caller, so that the last frame is the one that called.
    code = traceback.tb_frame.f_code
    return not api.is_own_code(code) or code.co_name in ("_ask_types", "_ask_mode")


def refusal(parameter: str, shown: str, error: str, *, by_type: bool = False) -> SignatureProblem:
    """Return the problem of a call that was refused because of a parameter, `by_type` on purpose or by Python."""
    found = _UNEXPECTED.search(error)
    name = found.group(1) if found else parameter
    return SignatureProblem(SignatureFault.REFUSED, name, f"{shown} raises {error}", True, by_type)


def confirmed(problems: Sequence[SignatureProblem], calls: Sequence[SignatureProblem]) -> list[SignatureProblem]:
    """Return the problems of the comparison, those that a call has shown confirmed, and the other refusals."""
    refused = {problem.parameter: problem for problem in calls}
    found = []
    for problem in problems:
        shown = refused.pop(problem.parameter, None)
        if shown is not None:
            text = f"{problem.text}: {shown.text}"
            problem = SignatureProblem(problem.fault, problem.parameter, text, confirmed=True)
        found.append(problem)
    # One unexpected keyword hides the others: list refused ones once.
    return [*found, *refused.values()]
