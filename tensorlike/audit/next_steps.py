"""Advice after the audit of a type that answers next to nothing: policies, tried out, and functions to begin with.

The functions that users call most are counted in public code: `most_called.txt` says in which, and how.

# Note [What a policy is worth]
A policy is tried with some of the functions, taken evenly from all, in a process of its own and for a second and a half
at most: advice is worth no second audit, and a percentage to the nearest whole is enough to choose by. No policy is
offered to a type that carries something besides its tensor, such as a unit or a mask: `to_dense` drops that, and what
`rewrap` hands on from one operand need not be true of a result.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterable, Iterator
from importlib import resources
from typing import Any, NamedTuple

import numpy as np

from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.overrides.policies import rewrap, to_dense
from tensorlike.overrides.writing import TensorLike

from .errors import AuditError
from .foreign import let_through, mro_of, name_of
from .making import TO_DENSE, InstanceMaker
from .model import AuditReport, AuditRow, Totals
from .outcomes import FAULTY, Outcome
from .parallel import in_children
from .run import Auditor

_NEARLY_EMPTY = 10.0
#: Percentage points that a policy must add to be recommended.
_WORTH_A_LINE = 1.0
_FEW = 50
#: The number of functions that a policy is tried with, and the seconds that its calls, and its process, may take.
_TRIED = 150
_SECONDS, _LIMIT = 1.3, 1.8


class Step(NamedTuple):
    """A line of code, and the percentage that an audit of the type with it gives, or about gives."""

    line: str
    coverage: float
    #: Whether all functions were called.
    exact: bool = True


def is_nearly_empty(report: AuditReport) -> bool:
    """Return whether a type answers so little that a policy is the first thing it needs."""
    return report.coverage < _NEARLY_EMPTY and report.totals.called > _FEW


def advice(auditor: Auditor, report: AuditReport, to_dense_expression: str | None = None) -> list[str]:
    """Return what to do next, in lines; none for a type that answers much already."""
    if not is_nearly_empty(report):
        return []
    lines = ["", "Next steps"]
    kept = carried(auditor)
    if kept:
        lines += [
            f"  {name_of(auditor.kind)} carries {', '.join(kept)}. A policy for all functions would drop that, or keep",
            "  what is no longer true: write rules for the functions you need, with implements(..., variants=True).",
        ]
    for step in [] if kept else policies(auditor, to_dense_expression):
        # A policy is called where the type returns NotImplemented: it is no help to one that raises.
        if step.coverage < report.coverage + _WORTH_A_LINE:
            continue
        share = f"{step.coverage:.1f}" if step.exact else f"About {step.coverage:.0f}"
        lines += [f"  {share} % with one line, of tensorlike.overrides:", f"    {step.line}"]
    first = missing(report)
    if first:
        lines.append("  Missing, and called most in public code (number of calls):")
        named = [f"{name} ({count})" for name, count in first.items()]
        lines += [f"    {', '.join(named[at : at + 4])}" for at in range(0, len(named), 4)]
        lines.append(f"  A program that shows what happens: --repro {next(iter(first))}")
    return lines


@functools.cache
def most_called() -> dict[str, int]:
    """Return how often public code calls each function, the most frequent first, under PyTorch's names."""
    text = resources.files(__package__).joinpath("most_called.txt").read_text(encoding="utf-8")
    lines = [line.split() for line in text.splitlines() if not line.startswith("#")]
    return {name: int(count) for count, name in lines}


def _is_answered(row: AuditRow) -> bool:
    """Return whether a type gave an answer, be it a wrong one or one of another type."""
    return row.called and (row.outcome not in FAULTY or row.outcome is Outcome.TYPE_LOST)


def missing(report: AuditReport, limit: int = 20) -> dict[str, int]:
    """Return the functions that users call most among those the type answers in no operand, with how often."""
    rows: dict[str, list[AuditRow]] = {}
    for row in report.rows:
        if row.called:
            rows.setdefault(row.function.replace("torch.functional.", "torch."), []).append(row)
    unanswered = {function for function, of_function in rows.items() if not any(map(_is_answered, of_function))}
    found: dict[str, int] = {}
    for name, count in most_called().items():
        own = name.replace("torch.", f"{report.api}.", 1)
        if own in unanswered and len(found) < limit:
            found[own] = count
    return found


def carried(auditor: Auditor) -> list[str]:
    """Return what an instance carries besides its tensor: the names of its attributes, none where that is all it has.

    A single attribute is taken to be the tensor, if it is one or holds one.
    """
    kind, maker = auditor.kind, auditor.maker
    declared = [one.name for one in auditor.judge.metadata]
    if declared:
        return declared
    try:
        if maker.takes_tensors:
            instance = maker.like(auditor.api.tensor_of(np.full((2, 2), 2, dtype=np.float32)))
        else:
            instance = maker.fixed()
        slots = [name for base in mro_of(kind) for name in _names(base.__dict__.get("__slots__", ()))]
        fields = {name: getattr(instance, name) for name in slots if hasattr(instance, name)}
        fields.update(getattr(instance, "__dict__", {}))
        fields.pop("__dict__", None)
        fields.pop("__weakref__", None)
    except BaseException as error:
        let_through(error)
        return []
    if len(fields) < 2:
        return []
    tensors = [name for name, value in fields.items() if isinstance(value, (auditor.api.tensor, np.ndarray))]
    # One tensor is the value, whatever it is called; of several it is unknown which one.
    return [name for name in fields if len(tensors) != 1 or name != tensors[0]]


def _names(slots: Any) -> tuple[str, ...]:
    return (slots,) if isinstance(slots, str) else tuple(slots)


def policies(auditor: Auditor, to_dense_expression: str | None = None) -> list[Step]:
    """Audit the type with each policy that it could have, and return what that gives, the best first.

    See Note [What a policy is worth]. A type that is too slow for that has none.
    """
    kind, maker = auditor.kind, auditor.maker
    if issubclass(kind, auditor.api.tensor) or not maker.reads_values:
        return []
    policy: Any = to_dense.using(maker.dense)
    reading = to_dense_expression or f"{name_of(kind)}.{TO_DENSE}"
    tried = [(policy, f"to_dense.using({reading})")]
    if maker.takes_tensors and issubclass(auditor.api.tensor, TensorBase):
        tried.append((functools.partial(_rewrapped, maker), "rewrap"))
    work = [functools.partial(_trial, auditor, policy) for policy, _ in tried]
    found = [
        Step(_line(kind, tried[end.number][1]), *end.result)
        for end in in_children(work, jobs=len(work), seconds=_LIMIT)
        if end.result is not None
    ]
    return sorted(found, key=lambda step: -step.coverage)


def _trial(auditor: Auditor, policy: Callable[..., Any]) -> tuple[float, bool] | None:
    """Return the percentage that some of the functions give with a policy, and whether all were called."""
    end = time.monotonic() + _SECONDS
    step = max(1, -(-len(auditor.functions) // _TRIED))
    rows: list[AuditRow] = []
    called = 0
    try:
        with _as_fallback(auditor.kind, policy):
            trial = Auditor(auditor.kind, auditor.maker, api=auditor.api)
            trial.functions = auditor.functions[::step]
            with trial.api.repeatable():
                for index in range(len(trial.functions)):
                    rows += trial.audited(index, {}).rows
                    called += 1
                    if time.monotonic() > end:
                        break
    except (AttributeError, TypeError, AuditError) as error:
        # A type written in C, or whose metaclass keeps it as it is.
        let_through(error)
        return None
    return Totals(rows).coverage, called == len(auditor.functions)


def _line(kind: type, policy: str) -> str:
    if issubclass(kind, TensorLike):
        line = f"class {name_of(kind)}(TensorLike, unhandled={policy}):"
    else:
        line = f"return {policy}(cls, func, types, args, kwargs or {{}})  # for: return NotImplemented"
    return f"{line}  # with unwrap(self) and wrap(cls, tensor, like)" if policy == "rewrap" else line


def _rewrapped(
    maker: InstanceMaker, cls: Any, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Do what the policy `rewrap` does once the type has `unwrap` and `wrap`."""
    missing_methods = {
        "unwrap": lambda self: maker.dense(self),
        "wrap": classmethod(lambda cls, tensor, like: maker.like(tensor)),
    }
    for name, method in missing_methods.items():
        if name not in vars(cls):
            setattr(cls, name, method)
    try:
        return rewrap(cls, func, types, args, kwargs)
    finally:
        for name, method in missing_methods.items():
            if vars(cls).get(name) is method:
                delattr(cls, name)


@contextlib.contextmanager
def _as_fallback(kind: Any, policy: Callable[..., Any]) -> Iterator[None]:
    """Let a policy answer what the type returns NotImplemented for."""
    own = vars(kind).get("__torch_function__")
    before = kind.__torch_function__

    def __torch_function__(cls: type, func: Any, types: Iterable[type], args: Any = (), kwargs: Any = None) -> Any:
        result = before(func, types, args, kwargs or {})
        return policy(cls, func, types, args, kwargs or {}) if result is NotImplemented else result

    kind.__torch_function__ = classmethod(__torch_function__)
    try:
        yield
    finally:
        if own is None:
            del kind.__torch_function__
        else:
            kind.__torch_function__ = own
