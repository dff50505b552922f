"""Readings of one audited call: what it printed and warned, whether its answer was given, who implements it."""

from __future__ import annotations

import difflib
import fnmatch
import io
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

from tensorlike.dispatch.pytree import instances
from tensorlike.dispatch.registry import REGISTRY
from tensorlike.overrides.variants import NAMED
from tensorlike.overrides.writing import _TABLE, TensorLike

from .answering import Trace
from .api import AuditedFunction, Call
from .arguments import Place, at, is_number
from .foreign import mro_of, name_of, one_line, text_of_error
from .judging import Attempt
from .outcomes import Outcome

#: The sample calls that are made for one row at most.
TRIES = 12
#: Outcomes that may be the sample's fault where the operand was not made for it.
UNSETTLED = (Outcome.RAISED, Outcome.REFUSED, Outcome.TYPE_LOST)


class Answer(NamedTuple):
    """The result of one audited call."""

    result: Any
    error: BaseException | None
    trace: Trace
    printed: str
    warnings: list[str]


def matching(functions: Sequence[AuditedFunction], patterns: Sequence[str]) -> list[AuditedFunction]:
    """Return the functions whose full name, name in the package or last name fits one of the globs."""
    if not patterns:
        return list(functions)

    def fits(name: str) -> bool:
        short = name.partition(".")[2]
        names = (name, short, name.rpartition(".")[2])
        return any(fnmatch.fnmatchcase(n, pattern) for pattern in patterns for n in names)

    return [f for f in functions if fits(f.name)]


def unmatched(pattern: str, functions: Sequence[AuditedFunction]) -> str:
    """Return the message about a pattern that matches no function."""
    operator = REGISTRY.get(f"tensorlike.{pattern.removeprefix('tensorlike.')}")
    if operator is not None and operator.kind == "operator":
        reported = next((f.name for f in functions if f.key is operator.key), None)
        if reported is not None:
            return f"types are not asked about {operator.full_name}: it reports {reported}, which can be audited"
    names = {n: None for f in functions for n in (f.name, f.name.partition(".")[2], f.name.rpartition(".")[2])}
    near = difflib.get_close_matches(pattern, names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"no function that can be overridden matches {pattern!r}{hint}"


class Printed(io.StringIO):
    """Captures output during a call, also if the call closes the standard output."""

    def close(self) -> None:
        pass


def was_number(attempt: Attempt) -> bool:
    """Return whether the sample has a number where the instance stands."""
    try:
        return is_number(at(attempt.call.args, attempt.call.kwargs, attempt.place))
    except (LookupError, TypeError):
        return False


def has_instance(result: object, kind: type) -> bool:
    """Return whether a result is, or holds, an instance of the type."""
    return isinstance(result, kind) or bool(instances(result, kind))


def given_back(attempt: Attempt, result: object) -> bool:
    """Return whether a result is the tuple of outputs that was handed to the call, of which one is the instance."""
    given = attempt.kwargs.get("out")
    if not isinstance(given, tuple) or not isinstance(result, tuple) or len(given) != len(result):
        return False
    return all(r is g for r, g in zip(result, given))


def is_written_to(function: AuditedFunction, place: Place) -> bool:
    """Return whether the function writes to the operand at `place`."""
    return place[0] == "out" or (place == (0,) and function.inplace)


def _entry(kind: type, function: AuditedFunction) -> tuple[type, bool] | None:
    """Return the class in whose table of `overrides.implements` a function is, and whether it was named there."""
    for base in mro_of(kind):
        table = base.__dict__.get(_TABLE, {})
        if function.key in table:
            return base, table[function.key].rank == NAMED
    return None


def implementer(kind: type, owner: type | None, function: AuditedFunction) -> type | None:
    """Return the class that the answer comes from: with `TensorLike` the one that holds the entry, or the policy."""
    if owner is not TensorLike:
        return owner
    entry = _entry(kind, function)
    if entry is not None:
        return entry[0]
    return next((base for base in mro_of(kind) if "_torch_function_policy" in base.__dict__), owner)


def is_variant(kind: type, owner: type | None, function: AuditedFunction) -> bool:
    """Return whether an implementation answers for another form than the one it was registered for.

    Its arguments are brought to those of that form, and its signature was compared with that when it was registered.
    """
    entry = _entry(kind, function) if owner is TensorLike else None
    return entry is not None and not entry[1]


def shown_warning(given: warnings.WarningMessage) -> str:
    """Return a warning as one line: its category and its text."""
    message = given.message
    return f"{name_of(given.category)}: {text_of_error(message) if isinstance(message, Warning) else one_line(message)}"


def simplicity(call: Call, tensor: type) -> tuple[int, int]:
    """Order sample calls: few optional arguments first; no empty or zero-dimensional tensors, no sequence of one."""
    odd = 0
    for value in (*call.args, *call.kwargs.values()):
        if isinstance(value, tensor):
            shape = value.shape  # type: ignore[attr-defined]
            odd += 0 in shape or not shape
        elif isinstance(value, (list, tuple)):
            odd += len(value) == 1 and isinstance(value[0], tensor)
    return len(call.optional), odd
