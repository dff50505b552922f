"""Facts about operands, which the annotations of a declaration state."""

from __future__ import annotations

from collections.abc import Sequence

from tensorlike.dispatch.signature import MANY, ONE, Parameter


def allows_number(p: Parameter) -> bool:
    """Return whether a plain number may stand for the operand."""
    return "Number" in p.annotation or "float" in p.annotation or "int" in p.annotation


def allows_none(p: Parameter) -> bool:
    """Return whether None may stand for the operand."""
    return "None" in p.annotation


def expected(p: Parameter) -> str:
    """Return what an operand must be, in the words of an error."""
    return "Tensor or Number" if allows_number(p) else "Tensor"


def operands_of(parameters: Sequence[Parameter]) -> list[Parameter]:
    """Return the parameters that are tensors or sequences of them, `out` left out."""
    return [p for p in parameters if p.operand in (ONE, MANY) and p.name != "out"]
