"""Calls as code writes them: methods, properties, operators and protocols of Python, `x.sum()`, `x + y`, `len(x)`.

The audit calls `Tensor.sum(x)`, which reaches the type whatever methods it has. No code is written so. So each method,
property and operator of tensors is called once more with the same samples, as an attribute of the instance or by an
operator of Python, and judged by the same comparison.
"""

from __future__ import annotations

import contextlib
import contextvars
import copy
import operator
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .api import AuditedFunction, Call, member_path
from .arguments import at, shown_call, text_of
from .failures import is_deliberate
from .foreign import let_through, mro_of, name_of, process_restored, text_of_error
from .judging import Unusable
from .making import a
from .model import WRITTEN, AuditRow, ValueCheck
from .observed_calls import TRIES, UNSETTLED
from .outcomes import Outcome
from .programs import quiet, refused_by_python

if TYPE_CHECKING:
    from .judging import Attempt
    from .run import Auditor

#: The line of the table that these calls are counted in.
NAMESPACE = "methods and operators"

#: Python's operators by their methods, with `x` and `y` where the operands stand.
_OPERATORS = {
    "__add__": "x + y", "__sub__": "x - y", "__mul__": "x * y", "__truediv__": "x / y", "__floordiv__": "x // y",
    "__mod__": "x % y", "__pow__": "x**y", "__matmul__": "x @ y", "__and__": "x & y", "__or__": "x | y",
    "__xor__": "x ^ y", "__lshift__": "x << y", "__rshift__": "x >> y", "__eq__": "x == y", "__ne__": "x != y",
    "__lt__": "x < y", "__le__": "x <= y", "__gt__": "x > y", "__ge__": "x >= y", "__neg__": "-x", "__invert__": "~x",
    "__abs__": "abs(x)", "__getitem__": "x[index]", "__setitem__": "x[index] = value", "__contains__": "value in x",
}  # fmt: skip
#: The functions that call other special methods of their argument.
_FUNCTIONS: Mapping[str, tuple[str, Callable[..., Any]]] = {
    "__len__": ("len(x)", len),
    "__bool__": ("bool(x)", bool),
    "__int__": ("int(x)", int),
    "__float__": ("float(x)", float),
    "__complex__": ("complex(x)", complex),
    "__index__": ("operator.index(x)", operator.index),
    "__repr__": ("repr(x)", repr),
    "__format__": ("format(x)", format),
    "__reversed__": ("reversed(x)", reversed),
    "__deepcopy__": ("copy.deepcopy(x)", lambda x, memo=None: copy.deepcopy(x)),
    "__array__": ("numpy.asarray(x)", lambda x, dtype=None: np.asarray(x)),
}


class Written(NamedTuple):
    """One way of writing a call, and the function whose samples and results it has."""

    text: str
    function: AuditedFunction
    #: The parameter that the instance is given to.
    operand: str
    call: Callable[..., Any]
    #: The attribute that the type needs; a special method, or one that code names.
    attribute: str
    #: The name of the function that types receive.
    reported: str
    #: Whether a new object may take the place of the operand, as `x += y` of immutable types.
    rebinds: bool = False
    #: Whether a sample may be written so.
    fits: Callable[[Call], bool] = lambda call: True


def written_forms(functions: Sequence[tuple[AuditedFunction, str]]) -> list[Written]:
    """Return the ways of writing calls of the members of tensors.

    `functions` are those, each with the name of the function that types receive.
    """
    found: dict[str, Written] = {}
    for function, reported in functions:
        for form in _forms(function, reported):
            found.setdefault(form.text, form)
    return list(found.values())


def _forms(function: AuditedFunction, reported: str) -> Iterator[Written]:
    path = member_path(function.name)
    if not path or not function.parameters:
        return
    name, first = path[0], function.parameters[0].name
    if len(path) == 2:
        if not name.startswith("_"):
            yield _of_property(function, reported, name, path[1])
    elif not name.startswith("_"):
        call = _method(name)
        yield Written(f"x.{name}()", function, first, call, name, reported)
        if name == "unbind":
            yield Written("for row in x", function, first, _rows, "__iter__", reported, fits=_is_first_dimension)
    elif name in _FUNCTIONS:
        text, by = _FUNCTIONS[name]
        yield Written(text, function, first, by, name, reported)
    elif name in _OPERATORS:
        by, text = getattr(operator, name), _OPERATORS[name]
        yield Written(text, function, first, by, name, reported)
        second = function.parameters[1] if " y" in text or "*y" in text else None
        if second is not None and second.operand:
            mirrored = text.replace("x", "tensor").replace("y", "x")
            yield Written(mirrored, function, second.name, by, name, reported)
    elif name.startswith("__r") and (plain := f"__{name[3:]}") in _OPERATORS:
        text = _OPERATORS[plain].replace("x", "1").replace("y", "x")
        yield Written(text, function, first, _swapped(getattr(operator, plain)), name, reported)
    elif name.startswith("__i") and (plain := f"__{name[3:]}") in _OPERATORS:
        sign = _OPERATORS[plain].replace("x", "").replace("y", "").strip()
        yield Written(f"x {sign}= y", function, first, getattr(operator, name), name, reported, rebinds=True)


def _of_property(function: AuditedFunction, reported: str, name: str, accessor: str) -> Written:
    if accessor == "__get__":
        return Written(f"x.{name}", function, function.parameters[0].name, _getter(name), name, reported)
    return Written(f"x.{name} = value", function, function.parameters[0].name, _setter(name), name, reported)


def _method(name: str) -> Callable[..., Any]:
    return lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)


def _getter(name: str) -> Callable[..., Any]:
    return lambda x: getattr(x, name)


def _setter(name: str) -> Callable[..., Any]:
    def write(x: Any, value: object) -> None:
        getattr(x, name)  # Python sets attributes that an object does not have.
        setattr(x, name, value)

    return write


def _swapped(by: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, other: by(other, x)


def _rows(x: Any, dim: int = 0) -> tuple[Any, ...]:
    return tuple(x)


def _is_first_dimension(call: Call) -> bool:
    return not call.kwargs and call.args[1:] in ((), (0,))


# ------------------------------------------------------------------------------------------------------- one call of it


def written_row(auditor: Auditor, written: Written, answered: Mapping[str, Outcome]) -> AuditRow:
    """Make one call as code writes it and return its row.

    `answered` says how the type answered the functions: one that is reached through a method was answered so too.
    """
    function = written.function
    calls = [call for call in auditor.sample_calls(function) if written.fits(call)]
    best: AuditRow | None = None
    reason = auditor.api.excluded(function, written.operand, auditor.kind)
    tries = 0
    for attempt in auditor.attempts(function, written.operand, () if reason else calls):
        if isinstance(attempt, str):
            reason = reason or attempt
            continue
        tries += 1
        row = _called(auditor, written, attempt, answered)
        if attempt.marked and not row.passed and row.verdict is not Outcome.ATTRIBUTE_LOST:
            # The mark that the audit gave the instance may be what the code of the type does not expect.
            with contextlib.suppress(Unusable):
                row = _called(auditor, written, attempt.anew(mark=False), answered)
        if best is None or row.severity < best.severity:
            best = row
        if attempt.fits or best.outcome not in UNSETTLED or tries >= TRIES:
            break
    if best is not None:
        return best
    row = AuditRow(written.text, NAMESPACE, WRITTEN, "self", Outcome.NOT_CALLED)
    row.reason = reason or "no sample call can be written so"
    return row


def _called(auditor: Auditor, written: Written, attempt: Attempt, answered: Mapping[str, Outcome]) -> AuditRow:
    row = AuditRow(written.text, NAMESPACE, WRITTEN, "self", Outcome.OWN)
    with quiet():
        row.call = _in_words(auditor, written, attempt)
    result: Any = None
    with process_restored(), quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = contextvars.copy_context().run(written.call, *attempt.args, **attempt.kwargs)
        except BaseException as error:
            let_through(error)
            _fail(auditor, row, error)
            return row
    if result is NotImplemented:
        row.outcome, row.left_out = Outcome.REFUSED, True
        return row
    _judge(auditor, written, attempt, row, result)
    if row.type_lost and answered.get(written.reported) is Outcome.THROUGH_PLAIN:
        row.outcome, row.reason = Outcome.THROUGH_PLAIN, ""
    if row.outcome is Outcome.OWN and _is_of_library(auditor, written.attribute):
        row.outcome = answered.get(written.reported, Outcome.OWN)
    return row


def _fail(auditor: Auditor, row: AuditRow, error: BaseException) -> None:
    row.error_type, row.error = name_of(type(error)), text_of_error(error)
    nobody = isinstance(error, TypeError) and any(words in row.error for words in auditor.api.nobody_answered)
    refused = nobody or is_deliberate(error, auditor.api) or refused_by_python(error, auditor.kind, _is_here)
    row.outcome, row.left_out = Outcome.REFUSED if refused else Outcome.RAISED, nobody
    row.meant = refused and auditor.refusals_meant
    error.__traceback__ = None


def _is_here(code: CodeType) -> bool:
    return code.co_filename == _judge.__code__.co_filename


def _judge(auditor: Auditor, written: Written, attempt: Attempt, row: AuditRow, result: object) -> None:
    judge, function = auditor.judge, written.function
    with quiet():
        if written.attribute == "__bool__" and not _has_truth(auditor.kind):
            row.value, row.difference = ValueCheck.DIFFERS, "there is no __bool__: Python takes every instance for true"
            return
        if written.rebinds:
            # The operand may be another object than before, or not.
            if attempt.compare:
                judge.compare_value(row, attempt.expected, result, values=attempt.call.deterministic)
            judge.compare_attributes(row, attempt.carried, result)
        else:
            judge.compare(row, function, attempt, result)
        is_target = result is at(attempt.args, attempt.kwargs, attempt.place)
        if not (is_target or function.nowrap) and judge.is_lost(attempt.expected, result):
            row.outcome, row.type_lost = Outcome.TYPE_LOST, True
            row.reason = f"the answer is {a(type(result))}, not {a(auditor.kind)}"
        if not row.passed:
            row.answer = text_of(result)  # To print tensors takes longer than all else.


def _has_truth(kind: type) -> bool:
    return any("__bool__" in vars(base) or "__len__" in vars(base) for base in mro_of(kind))


def _is_of_library(auditor: Auditor, name: str) -> bool:
    """Return whether an attribute of the type is the library's, which asks the type about a function."""
    for base in mro_of(auditor.kind):
        if name in vars(base):
            code = getattr(getattr(vars(base)[name], "__wrapped__", vars(base)[name]), "__code__", None)
            return base is auditor.api.tensor or code is None or auditor.api.is_own_code(code)
    return True


def _in_words(auditor: Auditor, written: Written, attempt: Attempt) -> str:
    if written.text.endswith("()"):
        return shown_call(written.text[:-2], attempt.args[1:], attempt.kwargs, auditor.api)
    return written.text
