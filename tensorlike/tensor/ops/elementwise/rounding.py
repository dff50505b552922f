"""Rounding elements."""

from __future__ import annotations

from typing import Any

from tensorlike.tensor.declare import derivatives, pointwise
from tensorlike.tensor.types import Tensor

from ..shared import not_implemented, zeros_like


@pointwise(None, hot="floor", promotion="real numeric", out="exact")
def floor(xp: Any, input: Tensor) -> Tensor:
    """Return each element rounded down; integers come back as they are, and the derivative is zero.

    >>> tl.floor(tl.tensor([1.7, -1.2]))
    tensor([ 1., -2.])
    """
    return xp.floor(input) if input.dtype.kind not in "iu" else input.copy()


derivatives(floor, input=zeros_like)


@pointwise(None, hot="ceil", promotion="real numeric", out="exact")
def ceil(xp: Any, input: Tensor) -> Tensor:
    """Return each element rounded up; integers come back as they are, and the derivative is zero.

    >>> tl.ceil(tl.tensor([1.2, -1.7]))
    tensor([ 2., -1.])
    """
    return xp.ceil(input) if input.dtype.kind not in "iu" else input.copy()


derivatives(ceil, input=zeros_like)


@pointwise(None, hot="rint", promotion="real numeric", aliases=("special.round",), out="exact")
def round(xp: Any, input: Tensor, *, decimals: int = 0) -> Tensor:
    """Return each element rounded to the nearest integer, halves to the even one; the derivative is zero.

    With `decimals`, to that many digits after the point, or before it if negative. Integers come back as they are, and
    raise NotImplementedError with `decimals`.

    >>> tl.round(tl.tensor([0.5, 1.5, -1.2])), tl.round(tl.tensor([0.1234]), decimals=2)
    (tensor([ 0.,  2., -1.]), tensor([0.1200]))
    """
    if input.dtype.kind in "iu":
        if decimals != 0:
            not_implemented("round", input.dtype, "integers have no decimals, convert them first")
        return input.copy()
    if decimals == 0:
        return xp.rint(input)
    power = input.dtype.type(10 ** (-decimals if decimals < 0 else decimals))
    if decimals < 0:
        return xp.multiply(xp.rint(xp.true_divide(input, power)), power)
    return xp.true_divide(xp.rint(xp.multiply(input, power)), power)


derivatives(round, input=zeros_like)


@pointwise(None, hot="trunc", promotion="real numeric", aliases=("fix",), out="exact")
def trunc(xp: Any, input: Tensor) -> Tensor:
    """Return each element rounded towards zero; integers come back as they are, and the derivative is zero.

    >>> tl.trunc(tl.tensor([1.7, -1.7]))
    tensor([ 1., -1.])
    """
    return xp.trunc(input) if input.dtype.kind not in "iu" else input.copy()


derivatives(trunc, input=zeros_like)


@pointwise(None, promotion="floating", out="exact")
def frac(xp: Any, input: Tensor) -> Tensor:
    """Return the fractional part of each element, with its sign.

    >>> tl.frac(tl.tensor([1.5, -2.25]))
    tensor([ 0.5000, -0.2500])
    """
    return xp.subtract(input, xp.trunc(input))


derivatives(frac, input=lambda grad: grad)
