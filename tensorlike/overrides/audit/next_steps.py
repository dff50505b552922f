"""Advice after the audit of a type that answers next to nothing: policies, tried out, and functions to begin with.

The functions that users call most are counted in public code: `most_called.txt` says in which, and how.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from importlib import resources
from typing import Any, NamedTuple

from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.overrides.policies import rewrap, to_dense
from tensorlike.overrides.writing import TensorLike

from .foreign import let_through, name_of
from .making import TO_DENSE, InstanceMaker
from .model import AuditReport
from .run import Auditor

__all__ = ["Step", "advice", "is_nearly_empty", "missing", "most_called", "policies"]

_NEARLY_EMPTY = 10.0
#: Percentage points that a policy must add to be recommended.
_WORTH_A_LINE = 1.0
_FEW = 50


class Step(NamedTuple):
    """A line of code, and the percentage that an audit of the type with it gives."""

    line: str
    coverage: float


def is_nearly_empty(report: AuditReport) -> bool:
    """Return whether a type answers so little that a policy is the first thing it needs."""
    return report.coverage < _NEARLY_EMPTY and report.totals.called > _FEW


def advice(auditor: Auditor, report: AuditReport, jobs: int, to_dense_expression: str | None = None) -> list[str]:
    """Return what to do next, in lines; none for a type that answers much already."""
    if not is_nearly_empty(report):
        return []
    lines = ["", "Next steps"]
    for step in policies(auditor, jobs, to_dense_expression):
        # A policy is asked where the type returns NotImplemented: it is no help to one that raises.
        if step.coverage < report.coverage + _WORTH_A_LINE:
            continue
        lines += [f"  {step.coverage:.1f} % with one line, of tensorlike.overrides:", f"    {step.line}"]
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


def missing(report: AuditReport, limit: int = 20) -> dict[str, int]:
    """Return the functions that users call most among those the type does not answer, with the numbers of calls."""
    faulty = {row.function.replace("torch.functional.", "torch.") for row in report.worst()}
    found: dict[str, int] = {}
    for name, count in most_called().items():
        own = name.replace("torch.", f"{report.api}.", 1)
        if own in faulty and len(found) < limit:
            found[own] = count
    return found


def policies(auditor: Auditor, jobs: int, to_dense_expression: str | None = None) -> list[Step]:
    """Audit the type with each policy that it could have, and return what that gives, the best first."""
    kind, maker = auditor.kind, auditor.maker
    if issubclass(kind, auditor.api.tensor) or not maker.reads_values:
        return []
    policy: Any = to_dense.using(maker.dense)
    reading = to_dense_expression or f"{name_of(kind)}.{TO_DENSE}"
    tried = [(policy, f"to_dense.using({reading})")]
    if maker.takes_tensors and issubclass(auditor.api.tensor, TensorBase):
        tried.append((functools.partial(_rewrapped, maker), "rewrap"))
    found = []
    for policy, text in tried:
        try:
            with _as_fallback(kind, policy):
                trial = Auditor(kind, maker, progress=auditor.progress, api=auditor.api)
                trial.functions = auditor.functions
                coverage = trial.run(jobs).coverage
        except (AttributeError, TypeError) as error:
            # A type written in C, or whose metaclass keeps it as it is.
            let_through(error)
            continue
        found.append(Step(_line(kind, text), coverage))
    return sorted(found, key=lambda step: -step.coverage)


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

    def __torch_function__(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
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
