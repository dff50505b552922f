"""Arithmetic on elements: sums, products, quotients, powers, and what goes with them."""

from __future__ import annotations

from typing import Any

from tensorlike.tensor.declare import derivatives, pointwise
from tensorlike.tensor.formulas import conj
from tensorlike.tensor.tensor import Tensor
from tensorlike.tensor.types import Number

__all__ = ["add", "mul"]


@pointwise(
    None,
    operators=("__add__", "__radd__"),
    inplace_operators=("__iadd__",),
)
def add(xp: Any, input: Tensor, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """Return `input + alpha * other`, element by element, with broadcasting.

    Same as PyTorch's function of that name.
    """
    return xp.add(input, other)


derivatives(
    add,
    input=lambda grad: grad,
    other=lambda grad, alpha: grad if alpha == 1 else grad * conj(alpha),
)


@pointwise(
    "multiply",
    operators=("__mul__", "__rmul__"),
    inplace_operators=("__imul__",),
    aliases=("multiply",),
)
def mul(input: Tensor, other: Tensor | Number) -> Tensor:
    """Return the product of `input` and `other`, element by element, with broadcasting.

    Same as PyTorch's function of that name.
    """


derivatives(
    mul,
    input=lambda grad, other: grad * conj(other),
    other=lambda grad, input: grad * conj(input),
)
