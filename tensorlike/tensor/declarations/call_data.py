"""`CallData`: all that a call of a primitive needs, as data.

`calls.py` is one implementation of a call. This is what another one reads, in another language or as a check: it
finds the operands of a call (`slots`), gives them a common dtype (`promotion`), runs `kernel` or the ufunc, wraps the
result as `result` says, and, when something is recorded, keeps what `saved` lists for the formulas in `gradients`.
tests/dispatch/test_call_data.py is such an implementation, and holds what it computes against the functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from tensorlike.dispatch.signature import KEYWORD, MANY, NESTED, ONE

from .operands import allows_none, allows_number

if TYPE_CHECKING:
    from tensorlike.autograd.node import Node

    from .declaration import Declaration


class Slot(NamedTuple):
    """One operand: where it stands, what may stand there, and whether it takes part in the promotion."""

    name: str
    #: None for a keyword.
    position: int | None
    #: "one" tensor, "many" in a sequence, or "nested" in an index, which the kernel takes as it is.
    kind: str
    takes_number: bool
    takes_none: bool
    promoted: bool
    #: `MISSING` when it must be given.
    default: Any


class Option(NamedTuple):
    """One parameter that is no operand; the kernel takes it as it is passed."""

    name: str
    position: int | None
    #: `MISSING` when it must be given.
    default: Any
    annotation: str


class Saved(NamedTuple):
    """One value that a node keeps, as its attribute `_saved_<name>`."""

    name: str
    #: "operand", "shape" (of an operand), "option", "result", "results" (all of several) or "output" (one of them).
    kind: str
    #: The operand or the option that it is of, or the index of the output; None for results.
    source: str | int | None
    #: The operands whose gradient needs it: where none of them has an edge, nothing need be kept.
    needed_by: tuple[str, ...]


class Gradient(NamedTuple):
    """The formula for the gradient of one operand, which the engine sums over broadcast dimensions and casts."""

    operand: str
    #: Takes and returns tensors.
    formula: Callable[..., Any]
    #: The names of its arguments, in order: "grad", "grads" or the name of a `Saved`.
    arguments: tuple[str, ...]
    #: The same on raw arrays, or None, with arguments of its own, which are among those of `formula`.
    raw_formula: Callable[..., Any] | None
    raw_arguments: tuple[str, ...]


class CallData(NamedTuple):
    """The data that a call needs; see the module's docstring."""

    name: str
    slots: tuple[Slot, ...]
    options: tuple[Option, ...]
    #: A first operand that is a number becomes a tensor.
    number_first: bool
    #: The rule, a `Promotion`; None for operands that stay as they are.
    promotion: Any
    #: The ufunc that it is, called with the operands alone; otherwise `kernel(xp, *operands and options)` runs.
    ufunc: str | None
    kernel: Callable[..., Any] | None
    #: With every option at its default, the same as the kernel: a ufunc by name, a function of raw arrays, or None.
    fast: Any
    #: A kernel that writes into its first operand, for the in-place form, where there is one.
    write: Callable[..., None] | None
    elementwise: bool
    #: "tensor", "tensors" (a named tuple of `fields`, or a tuple when there are none) or "value", left as it is.
    result: str
    fields: tuple[str, ...]
    #: True when the result shares memory with the first operand, "maybe" when it may.
    view: bool | str
    #: The result is made contiguous.
    contiguous: bool
    #: It is recorded when an operand requires grad.
    differentiable: bool
    gradients: tuple[Gradient, ...]
    saved: tuple[Saved, ...]
    #: The class of its nodes, as it is made on first use.
    node: Callable[[], type[Node]] | None


def call_data(d: Declaration) -> CallData:
    """Return what a call of the primitive `d` needs."""
    slots: list[Slot] = []
    options: list[Option] = []
    for index, p in enumerate(d.parameters):
        position = None if p.kind == KEYWORD else index
        if p.operand in (ONE, MANY, NESTED):
            number = allows_number(p) or (index == 0 and d.number_first)
            promoted = d.promotion is not None and p.operand != NESTED
            slots.append(Slot(p.name, position, p.operand, number, allows_none(p), promoted, p.default))
        else:
            options.append(Option(p.name, position, p.default, p.annotation))
    several = bool(d.outputs)
    return CallData(
        name=d.name,
        slots=tuple(slots),
        options=tuple(options),
        number_first=d.number_first,
        promotion=d.promotion,
        ufunc=d.ufunc,
        kernel=None if d.ufunc else d.kernel,
        fast=d.fast_kernel,
        write=d.write,
        elementwise=d.elementwise,
        result="value" if d.plain_result else "tensors" if several else "tensor",
        fields=() if isinstance(d.outputs, bool) else tuple(d.outputs),
        view=d.view,
        contiguous=not (d.view or d.own_layout),
        differentiable=d.differentiable,
        gradients=_gradients(d) if d.vjp else (),
        saved=_saved(d) if d.vjp else (),
        node=d.node_class if d.vjp else None,
    )


def _names(formula: Any) -> tuple[str, ...]:
    code = formula.__code__
    names: tuple[str, ...] = code.co_varnames[: code.co_argcount]
    return names


def _gradients(d: Declaration) -> tuple[Gradient, ...]:
    found = []
    for operand, formula in d.recorded().formulas.items():
        raw = d.raw_vjp.get(operand)
        found.append(Gradient(operand, formula, _names(formula), raw, () if raw is None else _names(raw)))
    return tuple(found)


def _saved(d: Declaration) -> tuple[Saved, ...]:
    recorded = d.recorded()
    found = []
    for name in recorded.names:
        source: str | int | None = None
        if name in ("result", "results"):
            kind = name
        elif name in recorded.outputs:
            kind, source = "output", recorded.outputs[name]
        elif name == "others":
            kind, source = "operand", recorded.many.name  # type: ignore[union-attr]
        elif name in recorded.by_name:
            kind, source = ("operand" if recorded.by_name[name].operand in (ONE, MANY) else "option"), name
        else:
            kind, source = "shape", name.removesuffix("_shape")
        found.append(Saved(name, kind, source, tuple(recorded.users(name))))
    return tuple(found)
