"""The function `tensorlike.overrides.audit`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tensorlike.dispatch.tracebacks import named_errors

from .api import AuditedApi
from .making import api_named, instances_of
from .metadata import named
from .model import AuditReport
from .notebook import bar
from .options import checked_choice
from .run import Auditor

__all__ = ["audit"]


@named_errors
def audit(
    type_or_maker: type | Callable[[], Any],
    *,
    make: Callable[[], Any] | None = None,
    from_dense: Callable[[Any], Any] | None = None,
    to_dense: Callable[[Any], Any] | None = None,
    only: str | Sequence[str] | None = None,
    progress: Callable[[int, int, str], None] | bool | None = None,
    api: AuditedApi | str | None = None,
    plain_results: str | None = None,
    refusals: str | None = None,
    methods: str | None = None,
    positions: str | None = None,
    metadata: str | Callable[[Any], Any] | Sequence[str | Callable[[Any], Any]] | None = None,
) -> AuditReport:
    """Call every overridable function with an instance of a type in each operand position and report what happened.

    `type_or_maker` is a type with `__torch_function__`, or a function without parameters that returns an instance.
    How instances are made, the first of these that is there:

    - `from_dense(tensor)`, or a classmethod `__tensorlike_from_dense__(cls, tensor)` on the type: an instance for a
      plain tensor. Every function can then be called with an operand of the shape it needs.
    - `make()`: an instance of a shape of its own choice. With `from_dense` it serves where that raises an exception.
    - a subclass of Tensor: `tensor.as_subclass(type)`, or its own constructor with the tensor, if it has one.
    - the constructor without arguments.

    With `to_dense(instance)`, or a method `__tensorlike_to_dense__(self)`, the value of each answer is compared with
    the same function of plain tensors, and what the call left in its operands with what it leaves in plain ones. The
    attributes that a subclass declares (`__tensor_attributes__`) are compared with the operand's, and so is what
    `metadata` names: an attribute such as `"unit"`, a function of an instance, or several. `only` is a glob, or
    several, for names such as `"tensorlike.linalg.*"` or `"add*"`. `progress(done, total, name)` is called before each
    function; `progress=True` shows a bar, of tqdm, in a terminal or a notebook.

    `api="torch"` audits a type that is written against PyTorch, which must be installed: its table of overridable
    functions is the list, and plain tensors are PyTorch's. `plain_results="ok"` is for types that mean to answer with
    plain tensors; otherwise the type is lost there. `refusals="ok"` is for types that mean to refuse what they refuse:
    that is listed, and the percentage is of the other calls. `methods="none"` is for types with functions alone: no
    call is made as code writes it, `x.sum()`. `positions="all"` calls the functions with an instance in place of each
    number, dim and size too, `sum(x, instance)`; what the type refuses there does not count. A type may say so, and how
    it is made, in a dictionary `__tensor_audit__` of these keywords.

    Every call has fresh arguments; output and warnings of the type are recorded. An implementation that never returns
    keeps the audit from returning. Raises AuditError when there is nothing that can be audited.

    >>> class Marked(tl.Tensor):
    ...     pass
    >>> report = tl.overrides.audit(Marked, only="tensorlike.mul")
    >>> [(row.operand, row.outcome.label) for row in report.rows]
    [('input', 'inherited'), ('other', 'inherited'), ('out', 'inherited')]
    >>> report.coverage
    100.0
    """
    if isinstance(api, str):
        api = api_named(api)
    patterns = (only,) if isinstance(only, str) else only or ()
    if not isinstance(patterns, Iterable) or not all(isinstance(pattern, str) for pattern in patterns):
        raise TypeError(f"audit(): argument 'only' must be a glob such as 'linalg.*', or several, not {only!r}")
    chosen = {"plain_results": plain_results, "refusals": refusals, "methods": methods, "positions": positions}
    for name, given in chosen.items():
        if given is not None:
            checked_choice(name, given, f"audit(): argument {name!r}")
    carried = None if metadata is None else named(metadata, "audit(): argument 'metadata'")
    if isinstance(progress, bool):
        progress = bar() if progress else None
    kind, maker = instances_of(type_or_maker, make=make, from_dense=from_dense, to_dense=to_dense, api=api)
    return Auditor(
        kind,
        maker,
        only=tuple(patterns),
        progress=progress,
        api=api,
        plain_results=plain_results,
        refusals=refusals,
        methods=methods,
        positions=positions,
        metadata=carried,
    ).run()
