"""Instances where a call has a number, a dim or a size: an operand overrides in any position.

These calls are made when they are asked for (`positions="all"`). Few types mean to answer them, so that they count only
where the type does: what it refuses there is listed and does not count, and what is answered must have the value that
the number gives. A function that does not ask the type is to blame itself.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from .api import AuditedFunction, Call
from .arguments import Place, at, copied, number_place, replaced, shown_call
from .foreign import let_through, name_of, text_of_error
from .judging import Attempt, Unusable
from .model import POSITION, AuditRow, ValueCheck
from .observed_calls import implementer
from .outcomes import Outcome

if TYPE_CHECKING:
    from .run import Auditor

#: The line of the table that these calls are counted in.
POSITIONS_NAMESPACE = "numbers, dims and sizes"
_TRIES = 6


def positions(auditor: Auditor) -> Iterator[tuple[AuditedFunction, str]]:
    """Yield the functions with their parameters that take a number, a dim or a size in one of the sample calls.

    Forms with the same parameters are the same code: one of each operation is called.
    """
    seen = set()
    for function in auditor.functions:
        names = [p.name for p in function.parameters if not p.operand and (function.family, p.name) not in seen]
        if not names:
            continue
        calls = auditor.sample_calls(function)
        for name in names:
            if any(number_place(call, function, name) is not None for call in calls):
                seen.add((function.family, name))
                yield function, name


def position_row(auditor: Auditor, function: AuditedFunction, name: str) -> AuditRow:
    """Call a function with an instance in place of a number and return the row."""
    row = AuditRow(function.name, POSITIONS_NAMESPACE, POSITION, name, Outcome.NOT_CALLED)
    tries = 0
    # Several samples: a rule that ignores the number is right where the sample has the one that it assumes.
    for call in auditor.sample_calls(function):
        place = number_place(call, function, name)
        if place is None:
            continue
        tries += 1
        try:
            attempt = _attempt(auditor, function, call, place)
        except Unusable as error:
            row.reason = row.reason or str(error)
        else:
            found = _called(auditor, function, name, attempt)
            if found.value is ValueCheck.DIFFERS:
                return found
            if not row.called or (row.left_out and not found.left_out):
                row = found
        if tries >= _TRIES:
            break
    row.reason = row.reason or ("" if row.called else f"no sample call passes a number as {name!r}")
    return row


def _attempt(auditor: Auditor, function: AuditedFunction, call: Call, place: Place) -> Attempt:
    api, maker = auditor.api, auditor.maker
    if not maker.takes_tensors:
        raise Unusable("instances cannot be made of numbers")
    number = at(call.args, call.kwargs, place)
    try:
        with auditor.quiet():
            instance = maker.like(api.tensor_of(np.array(number)))
            fits = not maker.reads_values or api.array(maker.dense(instance)).item() == number
    except BaseException as error:
        let_through(error)
        raise Unusable(f"no instance for the number {number!r}: {text_of_error(error)}") from error
    if not fits:
        raise Unusable(f"an instance made of {number!r} has another value")
    again = functools.partial(auditor.run_plain, function, call.args, call.kwargs)
    return Attempt(
        *replaced(copied(list(call.args), api), copied(dict(call.kwargs), api), place, instance),
        before=(tuple(call.args), dict(call.kwargs)),
        plain=again(),
        fits=True,
        compare=maker.reads_values and function.comparable,
        again=again,
        anew=functools.partial(_attempt, auditor, function, call, place),
        call=call,
        place=place,
        sample=None,
        carried=(),
        marked=False,
    )


def _called(auditor: Auditor, function: AuditedFunction, name: str, attempt: Attempt) -> AuditRow:
    row = AuditRow(function.name, POSITIONS_NAMESPACE, POSITION, name, Outcome.OWN)
    with auditor.quiet():
        row.call = shown_call(function.name, attempt.args, attempt.kwargs, auditor.api)
    answer = auditor.call(function, attempt)
    trace = answer.trace
    try:
        if auditor.watched and not trace.asked_types:
            row.outcome, row.reason = Outcome.NOT_CALLED, f"{function.name} does not ask the type of {name!r}"
        elif answer.error is not None:
            # By its rule, or by the implementation that it left the call to: either way it does not answer numbers.
            row.outcome, row.left_out, row.meant = Outcome.REFUSED, True, True
            row.error_type, row.error = name_of(type(answer.error)), text_of_error(answer.error)
            answer.error.__traceback__ = None
        elif answer.result is NotImplemented:
            row.outcome, row.left_out, row.meant = Outcome.REFUSED, True, True
        else:
            asked = auditor.kind in trace.asked_types
            if not asked and implementer(auditor.kind, trace.owner, function) is not auditor.kind:
                row.outcome = Outcome.INHERITED
            if trace.answering is not None:
                row.answered_by = trace.answering.where()
            with auditor.quiet(), contextlib.suppress(Unusable):
                if attempt.compare:
                    auditor.judge.compare_value(
                        row, attempt.expected, answer.result, values=attempt.call.deterministic
                    )
    finally:
        trace.close()
    return row
