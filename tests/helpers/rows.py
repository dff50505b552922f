"""The registry as tests see it: which samples serve which public functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import tensorlike as tl
from tensorlike.dispatch.registry import IGNORED, REGISTRY, Row
from tensorlike.dispatch.signature import parameters_of
from tensorlike.overrides.introspection import public_rows
from tensorlike.testing.samples import SAMPLES, Samples

from .values import mapped

#: The functions that Python's operators stand for.
OPERATORS = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide", "mod": "remainder",
    "pow": "pow", "matmul": "matmul", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift", "eq": "eq", "ne": "ne", "lt": "lt", "le": "le",
    "gt": "gt", "ge": "ge", "neg": "neg", "pos": "positive", "invert": "bitwise_not", "abs": "abs", "div": "div",
}  # fmt: skip

#: Those whose operands change places: `2 - x` is `x.__rsub__(2)`.
REFLECTED = {f"__r{name}__" for name in OPERATORS}
IN_PLACE = {f"__i{name}__" for name in OPERATORS} - {"__invert__"}


def rows() -> list[Row]:
    """Every public overridable row, operators that report a method included."""
    owners = {id(row) for _, row in public_rows()}
    reporting = [r for r in REGISTRY.values() if r.form == "operator" and r.key is not r.function]
    return [r for r in REGISTRY.values() if id(r) in owners] + reporting


def _place(row: Row) -> tuple[str, int]:
    code = row.entry.implementation.__code__
    return code.co_filename, code.co_firstlineno


@functools.cache
def _by_place() -> dict[tuple[str, int], list[Row]]:
    found: dict[tuple[str, int], list[Row]] = {}
    for row in REGISTRY.values():
        found.setdefault(_place(row), []).append(row)
    return found


def _candidates(row: Row) -> list[str]:
    """Names under which samples that serve `row` may be given, the likeliest first."""
    names = [row.full_name]
    declaration = row.declaration
    if hasattr(declaration, "rows"):
        # Function, method, aliases, operators and the in-place form of one declaration share their samples.
        names += [declaration.full_name, *(r.full_name for r in declaration.rows)]
    elif row.form in ("alias", "method"):
        # A composite's method and aliases are made from the same source as the function.
        wanted = ("function",) if row.form == "method" else ("function", "method")
        names += [r.full_name for r in _by_place()[_place(row)] if r.form in wanted]
    if row.name.startswith("Tensor."):
        short = row.name.removeprefix("Tensor.")
        if short.startswith("__"):
            bare = short.strip("_")
            functions = [OPERATORS.get(bare), OPERATORS.get(bare[1:]) if short in REFLECTED | IN_PLACE else None]
            names += [f"tensorlike.{function}" for function in functions if function]
        names += [f"tensorlike.{short}", f"tensorlike.{short.removesuffix('_')}"]
        names.append(f"tensorlike.Tensor.{short.removesuffix('_')}")
    return names


def samples_key(row: Row) -> str | None:
    """The name under which the samples of `row` are registered, or None."""
    return next((name for name in _candidates(row) if name in SAMPLES), None)


def _factory_row(name: str) -> Row:
    """A row for a function that no type can override, so that its samples are tested like others."""
    function: Any = IGNORED[name][0]
    space, _, short = name.rpartition(".")
    parameters = parameters_of(function._entry.implementation, operands=())
    return Row(function, namespace=space, name=short, parameters=parameters, entry=function._entry, form="function")


@functools.cache
def families() -> dict[str, list[Row]]:
    """For each name with samples, the rows that these samples serve, the function itself first."""
    found: dict[str, list[Row]] = {name: [] for name in SAMPLES}
    for row in rows():
        key = samples_key(row)
        if key is not None:
            found[key].append(row)
    for name in SAMPLES:
        if not found[name] and name in IGNORED:
            found[name].append(_factory_row(name))
    for name, members in found.items():
        members.sort(key=lambda r: (r.full_name != name, r.form != "function", r.form != "method"))
    return {name: members for name, members in found.items() if members}


def cases() -> list[tuple[str, str]]:
    """(name, dtype) for every operation with samples."""
    return [(name, dtype) for name in families() for dtype in SAMPLES[name].dtypes]


def samples(name: str) -> Samples:
    return SAMPLES[name]


def mutates(row: Row) -> bool:
    """Return whether a function is meant to write to its first operand."""
    last = row.name.rpartition(".")[2]
    return row.form in ("setter", "inplace") or last in IN_PLACE or last == "__setitem__" or (
        last.endswith("_") and not last.endswith("__")
    )  # fmt: skip


def calling(row: Row, sample: Any, chosen: Sequence[int]) -> Callable[..., Any]:
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
        return row.function(*args, **kwargs)

    return function


def is_operator(row: Row) -> bool:
    """Return whether Python calls `row` for an operator with two operands: it leaves foreign types to their own."""
    last = row.name.rpartition(".")[2]
    return row.form == "operator" or last in REFLECTED | IN_PLACE | {f"__{name}__" for name in OPERATORS}
