"""The registry as tests see it: which samples serve which public functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import tensorlike as tl
from tensorlike.audit.samples import SAMPLES, Samples, serving
from tensorlike.dispatch.operation import REFLECTED, Form
from tensorlike.dispatch.registry import IGNORED, REGISTRY
from tensorlike.overrides.introspection import public_rows

from .values import mapped


def rows() -> list[Form]:
    """Every public overridable row, operators that report a method included."""
    owners = {id(row) for _, row in public_rows()}
    reporting = [r for r in REGISTRY.values() if r.kind == "operator" and r.key is not r.function]
    return [r for r in REGISTRY.values() if id(r) in owners] + reporting


def samples_key(row: Form) -> str | None:
    """The name under which the samples of `row` are registered, or None."""
    found = serving(row)
    return None if found is None else found.full_name


def _factory_row(name: str) -> Form:
    """A row for a function that no type can override, so that its samples are tested like others."""
    function: Any = IGNORED[name][0]
    form: Form = function._form
    return form


@functools.cache
def families() -> dict[str, list[Form]]:
    """For each name with samples, the rows that these samples serve, the function itself first."""
    found: dict[str, list[Form]] = {name: [] for name in SAMPLES}
    for row in rows():
        key = samples_key(row)
        if key is not None:
            found[key].append(row)
    for name in SAMPLES:
        if not found[name] and name in IGNORED:
            found[name].append(_factory_row(name))
    for name, members in found.items():
        members.sort(key=lambda r: (r.full_name != name, r.kind != "function", r.kind != "method"))
    return {name: members for name, members in found.items() if members}


def is_differentiable(form: Form) -> bool:
    """Return whether the declaration of a function says that its results have derivatives."""
    operation = form.operation
    takes_tensors = any(p.operand for p in operation.parameters)
    return takes_tensors and operation.differentiable and not (operation.primitive and operation.vjp is None)


def differentiable() -> list[str]:
    """The names with samples for which there is something to differentiate, and whose samples say that it can be."""
    return sorted(name for name in families() if samples(name).gradcheck and is_differentiable(families()[name][0]))


def cases() -> list[tuple[str, str]]:
    """(name, dtype) for every operation with samples."""
    return [(name, dtype) for name in families() for dtype in SAMPLES[name].dtypes]


def samples(name: str) -> Samples:
    return SAMPLES[name]


def mutates(row: Form) -> bool:
    """Return whether a function is meant to write to its first operand."""
    return row.inplace


def calling(row: Form, sample: Any, chosen: Sequence[int]) -> Callable[..., Any]:
    """Return the call of a sample as a function of the operands `chosen`."""

    def function(*values: Any) -> Any:
        given = dict(zip(chosen, values, strict=True))
        count = -1

        def change(tensor: Any) -> Any:
            nonlocal count
            count += 1
            value = given.get(count, tensor)
            # In-place functions refuse leaves.
            return value.clone() if count == 0 and mutates(row) else value

        args, kwargs = mapped([list(sample.args), sample.kwargs], change)
        tl.manual_seed(0)
        result = row.function(*args, **kwargs)
        # `__setitem__` returns nothing.
        return args[0] if result is None and mutates(row) else result

    return function


def is_operator(row: Form) -> bool:
    """Return whether Python calls `row` for an operator with two operands: it leaves foreign types to their own."""
    return row.kind == "operator" or is_reflected(row)


def is_reflected(row: Form) -> bool:
    """Return whether `row` is an operator of its own for operands in the other order: `2 - x` is `x.__rsub__(2)`."""
    variant = row.operation.variant
    return variant is not None and variant.kind == REFLECTED and row.name.endswith("__")
