"""Differences of tensorlike from PyTorch that random programs meet, with reasons. Each has a program that shows it."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["KNOWN", "WRITE_BEFORE_THEY_FAIL", "Known", "reason_of"]

#: Functions of PyTorch that have written some elements, or counted a version, when they find that they must fail. Those
#: of tensorlike change nothing then. A program ends there.
WRITE_BEFORE_THEY_FAIL = frozenset({"masked_scatter_", "scatter_"})


class Known(NamedTuple):
    """A difference: where its statement and its description match, it has a reason."""

    statement: str
    difference: str
    reason: str
    #: A program that shows it.
    program: tuple[str, ...]
    #: Whether it is met only with tensors without elements or dimensions.
    nothing_to_look_at: bool = False


KNOWN: tuple[Known, ...] = (
    Known(
        r"\b(conj|adjoint|mH)\b", "^is_view",
        "conj() of complex numbers computes; PyTorch's is a view that conjugates when it is read",
        ("v1 = lib.tensor([1j])", "v2 = v1.conj()"),
    ),
    Known(
        "", "^(raises: NotImplementedError|error: NotImplementedError.*PyTorch raises (IndexError|RuntimeError))",
        "PyTorch looks at the dtype element by element: not in tensors without elements or dimensions",
        ("v1 = lib.tensor([], dtype=lib.int64)", "v2 = v1.softmax(0)"), True,
    ),
    Known(
        r"out=", "^(values|shape)",
        "PyTorch writes into `out=` while it reads an operand in the same memory; ours computes first",
        ("v1 = lib.tensor([[1.0, 2.0, 3.0]])", "v2 = lib.sum(v1, -1, out=v1)"),
    ),
    Known(
        r"masked_scatter_", "^values",
        "PyTorch writes into a tensor while it reads the source in the same memory; ours computes first",
        ("v1 = lib.tensor([2.0, -1.0, 3.0])", "v1.masked_scatter_(v1 < 3, v1)"),
    ),
    Known(
        r"pow|\*\*", r"^values.*nan",
        "0 to the power of a complex 0 is 1; PyTorch's vectorised kernel gives nan, its other one 1",
        ("v1 = lib.zeros(8, dtype=lib.complex128)", "v2 = v1 ** lib.zeros(8, dtype=lib.complex128)"),
    ),
    Known(
        "", "does not support automatic differentiation for outputs with complex dtype",
        "PyTorch has no derivative for complex numbers; ours does",
        ("v1 = lib.tensor([1j], requires_grad=True)", "v2 = lib.nan_to_num(v1)"),
    ),
)  # fmt: skip


def reason_of(statement: str, difference: str, nothing_to_look_at: bool) -> str | None:
    """Return why a difference is there, None for one that should not be."""
    for known in KNOWN:
        if (
            (nothing_to_look_at or not known.nothing_to_look_at)
            and re.search(known.statement, statement)
            and re.search(known.difference, difference)
        ):
            return known.reason
    return None
