"""Rounding; the neighbours and parts of floating-point numbers, and finite numbers for NaN and infinity."""

# A declaration that names its ufunc has no body.
# mypy: disable-error-code="empty-body"
from __future__ import annotations

import numpy as np

from tensorlike.tensor.declarations.declare import derivatives, pointwise, primitive
from tensorlike.tensor.declarations.runtime import dtype_name
from tensorlike.tensor.dtypes import dtype_of, finfo
from tensorlike.tensor.types import Array, Namespace, Tensor

from ..shared import not_implemented, zeros_like


@pointwise(None, fast_kernel="floor", promotion="real numeric", out="exact", inplace_function=True)
def floor(xp: Namespace, input: Array) -> Array:
    """Return each element rounded down; integers come back as they are, and the derivative is zero.

    >>> tl.floor(tl.tensor([1.7, -1.2]))
    tensor([ 1., -2.])
    """
    return xp.floor(input) if input.dtype.kind not in "iu" else input.copy("K")


derivatives(floor, input=zeros_like)


@pointwise(None, fast_kernel="ceil", promotion="real numeric", out="exact", inplace_function=True)
def ceil(xp: Namespace, input: Array) -> Array:
    """Return each element rounded up; integers come back as they are, and the derivative is zero.

    >>> tl.ceil(tl.tensor([1.2, -1.7]))
    tensor([ 2., -1.])
    """
    return xp.ceil(input) if input.dtype.kind not in "iu" else input.copy("K")


derivatives(ceil, input=zeros_like)


@pointwise(
    None, fast_kernel="rint", promotion="real numeric", aliases=("special.round",), out="exact", inplace_function=True
)
def round(xp: Namespace, input: Array, *, decimals: int = 0) -> Array:
    """Return each element rounded to the nearest integer, halves to the even one; the derivative is zero.

    With `decimals`, to that many digits after the point, or before it if negative. Integers come back as they are, and
    raise NotImplementedError with `decimals`.

    >>> tl.round(tl.tensor([0.5, 1.5, -1.2])), tl.round(tl.tensor([0.1234]), decimals=2)
    (tensor([ 0.,  2., -1.]), tensor([0.1200]))
    """
    if input.dtype.kind in "iu":
        if decimals != 0:
            not_implemented("round", input.dtype, "integers have no decimals, convert them first")
        return input.copy("K")
    if decimals == 0:
        return xp.rint(input)  # type: ignore[no-any-return]
    # In single precision for half, as in PyTorch. The power is infinite where it is too large, as there; 10**decimals
    # would be an int of that many digits.
    wide = input.astype(np.float32) if input.dtype.itemsize == 2 else input
    power = np.asarray(float(f"1e{abs(decimals)}")).astype(wide.dtype)[()]
    first, last = (xp.true_divide, xp.multiply) if decimals < 0 else (xp.multiply, xp.true_divide)
    return last(xp.rint(first(wide, power)), power).astype(input.dtype, copy=False)



derivatives(round, input=zeros_like)


@pointwise(None, fast_kernel="trunc", promotion="real numeric", aliases=("fix",), out="exact", inplace_function=True)
def trunc(xp: Namespace, input: Array) -> Array:
    """Return each element rounded towards zero; integers come back as they are, and the derivative is zero.

    >>> tl.trunc(tl.tensor([1.7, -1.7]))
    tensor([ 1., -1.])
    """
    return xp.trunc(input) if input.dtype.kind not in "iu" else input.copy("K")


derivatives(trunc, input=zeros_like)


@pointwise(None, promotion="floating", out="exact", inplace_function=True)
def frac(xp: Namespace, input: Array) -> Array:
    """Return the fractional part of each element, with its sign.

    >>> tl.frac(tl.tensor([1.5, -2.25]))
    tensor([ 0.5000, -0.2500])
    """
    return xp.subtract(input, xp.trunc(input))


derivatives(frac, input=lambda grad: grad)


@pointwise("nextafter", promotion="floating")
def nextafter(input: Tensor, other: Tensor) -> Tensor:
    """Return the floating-point number next to each element of `input`, in the direction of `other`.

    Both broadcast.

    >>> tl.nextafter(tl.tensor([1.0]), tl.tensor([2.0])) > 1
    tensor([True])
    """


derivatives(
    nextafter,
    input=lambda grad, input, other: grad.masked_fill(input == other, 0),
    other=lambda grad: zeros_like(grad),
)


@primitive(out=True, outputs=("mantissa", "exponent"))
def frexp(xp: Namespace, input: Array) -> tuple[Array, Array]:
    """Decompose each element into a mantissa, of absolute value in [0.5, 1), and an exponent of two.

    The exponents are of dtype int32. Raises RuntimeError unless the elements are floating-point.

    >>> mantissa, exponent = tl.frexp(tl.tensor([1.0, 10.0]))
    >>> mantissa, exponent
    (tensor([0.5000, 0.6250]), tensor([1, 4], dtype=tensorlike.int32))
    """
    if input.dtype.kind not in "fV":
        raise RuntimeError(f"frexp() only supports floating-point dtypes: the input is of {dtype_name(input.dtype)}")
    mantissa, exponent = xp.frexp(input)
    return xp.asarray(mantissa), xp.asarray(exponent)


derivatives(frexp, input=lambda grads, exponent: grads[0] / exponent.exp2())


@pointwise(None, out="exact", inplace_function=True)
def nan_to_num(
    xp: Namespace, input: Array, nan: float | None = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Array:
    """Return `input` with its nan and infinite elements replaced by finite numbers.

    `posinf` and `neginf` are the largest and the smallest number of the dtype unless given. The derivative of replaced
    elements is zero.

    >>> tl.nan_to_num(tl.tensor([tl.nan, tl.inf, 1.0]), posinf=9.0)
    tensor([0., 9., 1.])
    """
    if input.dtype.kind == "V":
        limits = finfo(dtype_of(input.dtype))
        posinf, neginf = limits.max if posinf is None else posinf, limits.min if neginf is None else neginf
        wide = xp.nan_to_num(input.astype(np.float32), nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)
        return wide.astype(input.dtype)  # type: ignore[no-any-return]
    if input.dtype.kind not in "fc":
        return input.copy("K")
    return xp.nan_to_num(input, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)  # type: ignore[no-any-return]


derivatives(nan_to_num, input=lambda grad, input: grad.where(input.isfinite(), 0))
