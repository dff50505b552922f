"""Sums, products, quotients, remainders, signs and absolute values of elements."""

# A declaration that names its ufunc has no body.
# mypy: disable-error-code="empty-body"
from __future__ import annotations

from typing import Any

import numpy as np

from tensorlike.tensor.declarations.declare import (
    composite,
    deprecated_orders,
    derivatives,
    number_order,
    numbers_alone,
    own_operators,
    pointwise,
    raw_derivatives,
    tensor_method,
)
from tensorlike.tensor.declarations.formulas import conj, raw_product, raw_quotient
from tensorlike.tensor.declarations.runtime import promote_float, promote_real_numeric
from tensorlike.tensor.tensor import Tensor as TensorClass
from tensorlike.tensor.types import Array, Namespace, Number, Tensor

from ..shared import check_divisor, no_derivative, require_tensor, scaled, zeros_like


@pointwise(None, fast_kernel="add", operators=("__add__", "__radd__", "__iadd__"))
def add(xp: Namespace, input: Array | Number, other: Array | Number, *, alpha: Number = 1) -> Array:
    """Return `input + alpha * other`, element by element, with broadcasting.

    The result has the promoted dtype of both; booleans are added as in a logical or. Raises RuntimeError if `alpha` is
    of a higher category than that dtype.

    >>> tl.add(tl.tensor([1.0, 2.0]), tl.tensor([10.0, 20.0]), alpha=2)
    tensor([21., 42.])
    """
    return xp.add(input, scaled(xp, other, alpha))  # type: ignore[no-any-return]


deprecated_orders(add, "input alpha other")
derivatives(
    add,
    input=lambda grad: grad,
    other=lambda grad, alpha: grad if alpha == 1 else grad * conj(alpha),
)


@pointwise(
    None,
    fast_kernel="subtract",
    promotion="subtraction",
    operators=("__sub__", "__isub__"),
    aliases=("subtract",),
)
def sub(xp: Namespace, input: Array | Number, other: Array | Number, *, alpha: Number = 1) -> Array:
    """Return `input - alpha * other`, element by element, with broadcasting.

    The result has the promoted dtype of both. Raises RuntimeError for booleans: use `^` or `~`.

    >>> tl.sub(tl.tensor([5, 6]), 2)
    tensor([3, 4])
    """
    return xp.subtract(input, scaled(xp, other, alpha))


deprecated_orders(sub, "input alpha other")
number_order(sub, "input other alpha")
derivatives(
    sub,
    input=lambda grad: grad,
    other=lambda grad, alpha: -grad if alpha == 1 else grad * -conj(alpha),
)


def _subtract_from(a: Any, b: Any) -> Any:
    return np.subtract(b, a)


@pointwise(None, fast_kernel=_subtract_from, promotion="subtraction", method="__rsub__", inplace=False, out=False,
           variant=("reflected", sub))  # fmt: skip
def rsub(xp: Namespace, input: Array, other: Array | Number, *, alpha: Number = 1) -> Array:
    """Return `other - alpha * input`, element by element: `sub` with its operands exchanged.

    Raises RuntimeError for booleans.

    >>> tl.rsub(tl.tensor([1, 2]), 10), 10 - tl.tensor([1, 2])
    (tensor([9, 8]), tensor([9, 8]))
    """
    return xp.subtract(other, scaled(xp, input, alpha))


number_order(rsub, "input other alpha")
derivatives(
    rsub,
    input=lambda grad, alpha: -grad if alpha == 1 else grad * -conj(alpha),
    other=lambda grad: grad,
)


@pointwise("multiply", operators=("__mul__", "__rmul__", "__imul__"), aliases=("multiply",))
def mul(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Return the product of `input` and `other`, element by element, with broadcasting.

    The result has the promoted dtype of both; booleans are multiplied as in a logical and.

    >>> tl.mul(tl.tensor([[1.0, 1.0], [2.0, 2.0]]), tl.tensor([3.0, 4.0]))
    tensor([[3., 4.],
            [6., 8.]])
    """


derivatives(
    mul,
    input=lambda grad, other: grad * conj(other),
    other=lambda grad, input: grad * conj(input),
)
raw_derivatives(
    mul,
    input=raw_product,
    other=lambda grad, input: raw_product(grad, input),
)


@pointwise(
    None,
    fast_kernel="true_divide",
    promotion="quotient",
    operators=("__truediv__", "__itruediv__"),
    aliases=("divide",),
)
def div(xp: Namespace, input: Array | Number, other: Array | Number, *, rounding_mode: str | None = None) -> Array:
    """Return the quotient of `input` and `other`, element by element, with broadcasting.

    `rounding_mode` None is true division, whose result is never an integer; "trunc" rounds towards zero and "floor"
    down, and both keep an integer dtype. Raises RuntimeError for another mode, and for an integer divided by zero with
    rounding.

    >>> tl.div(tl.tensor([7.0, -7.0]), 2)
    tensor([ 3.5000, -3.5000])
    >>> tl.div(tl.tensor([7, -7]), 2, rounding_mode="floor"), tl.div(tl.tensor([7, -7]), 2, rounding_mode="trunc")
    (tensor([ 3, -4]), tensor([ 3, -3]))
    """
    if rounding_mode is None:
        return xp.true_divide(*promote_float("div", xp, (input, other)))
    if rounding_mode not in ("floor", "trunc"):
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found {rounding_mode!r}"
        )
    input, other = promote_real_numeric(f"div_{rounding_mode}", xp, (input, other))
    return _floor_quotient(xp, input, other) if rounding_mode == "floor" else _truncated_quotient(xp, input, other)


def _floor_quotient(xp: Namespace, input: Array, other: Array) -> Array:
    check_divisor(xp, input, other)
    return xp.floor_divide(input, other)  # type: ignore[no-any-return]


def _truncated_quotient(xp: Namespace, input: Array, other: Array) -> Array:
    check_divisor(xp, input, other)
    if input.dtype.kind == "f":
        return xp.trunc(xp.true_divide(input, other))  # type: ignore[no-any-return]
    if input.dtype.kind == "u":
        return xp.floor_divide(input, other)  # type: ignore[no-any-return]
    # Rounded down, and one up again where that was away from zero.
    quotient = xp.floor_divide(input, other)
    away = xp.logical_and(xp.less(quotient, 0), xp.not_equal(xp.multiply(quotient, other), input))
    return xp.add(quotient, away.astype(quotient.dtype))  # type: ignore[no-any-return]


derivatives(
    div,
    input=lambda grad, other, rounding_mode: grad / conj(other) if rounding_mode is None else zeros_like(grad),
    other=lambda grad, input, other, rounding_mode: (
        -grad * conj(input / other / other) if rounding_mode is None else zeros_like(grad)
    ),
)


@pointwise("true_divide", promotion="float", variant=("special case", div))
def true_divide(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Return the quotient of `input` and `other`, element by element, with broadcasting: `div` without rounding.

    >>> tl.true_divide(tl.tensor([1.0, 2.0]), 4)
    tensor([0.2500, 0.5000])
    """


derivatives(
    true_divide,
    input=lambda grad, other: grad / conj(other),
    other=lambda grad, input, other: -grad * conj(input / other / other),
)
raw_derivatives(
    true_divide,
    input=raw_quotient,
    other=lambda grad, input, other: raw_product(-grad, input / other / other),
)


def _divide_into(a: Any, b: Any) -> Any:
    return np.true_divide(b, a)


@pointwise(
    None,
    name="__rtruediv__",
    function=False,
    method="__rtruediv__",
    variant=("reflected", div),
    promotion="float",
    fast_kernel=_divide_into,
    inplace=False,
    out=False,
)
def _rtruediv(xp: Namespace, input: Array, other: Array | Number) -> Array:
    """Return `other / input`, element by element.

    >>> 1 / tl.tensor([2.0, 4.0])
    tensor([0.5000, 0.2500])
    """
    return xp.true_divide(other, input)


derivatives(
    _rtruediv,
    input=lambda grad, input, other: -grad * conj(other / input / input),
    other=lambda grad, input: grad / conj(input),
)
# PyTorch keeps Python 2's name for it, and implementations written for PyTorch may look at names.
TensorClass.__rtruediv__.__name__ = "__rdiv__"
setattr(TensorClass, "__rdiv__", TensorClass.__rtruediv__)  # noqa: B010


@pointwise(None, promotion="real numeric", fast_kernel=("floor_divide", "f"), operators=("__ifloordiv__",))
def floor_divide(xp: Namespace, input: Array | Number, other: Array | Number) -> Array:
    """Return the quotient rounded down, element by element, with broadcasting.

    Integers stay integers. Raises RuntimeError for an integer divided by zero, and in the backward pass: there is no
    derivative; `div(..., rounding_mode="floor")` has one, zero.

    >>> tl.floor_divide(tl.tensor([7, -7]), 2), tl.tensor([7.5, -7.5]) // 2
    (tensor([ 3, -4]), tensor([ 3., -4.]))
    """
    return _floor_quotient(xp, input, other)


own_operators(floor_divide, "__floordiv__")
numbers_alone(add, sub, mul, div, true_divide, floor_divide)
derivatives(
    floor_divide,
    input=lambda grad: no_derivative("floor_divide"),
    other=lambda grad: no_derivative("floor_divide"),
)


@tensor_method(variant=("reflected", floor_divide))
def __rfloordiv__(self: Tensor, other: Tensor | Number) -> Tensor:
    """Return `other // self`, element by element, rounded down.

    >>> 7 // tl.tensor([2, 3])
    tensor([3, 2])
    """
    return floor_divide(other, self)


@pointwise(None, promotion="real numeric", fast_kernel=("remainder", "f"), operators=("__mod__", "__imod__"))
def remainder(xp: Namespace, input: Array | Number, other: Array | Number) -> Array:
    """Return the remainder of division with Python's sign, that of `other`, element by element, with broadcasting.

    Raises RuntimeError for an integer divided by zero; a floating-point one gives nan.

    >>> tl.remainder(tl.tensor([-3.0, 3.0]), 2), tl.tensor([5, -5]) % 3
    (tensor([1., 1.]), tensor([2, 1]))
    """
    check_divisor(xp, input, other)
    return xp.remainder(input, other)  # type: ignore[no-any-return]


derivatives(
    remainder,
    input=lambda grad: grad,
    other=lambda grad, input, other: -grad * div(input, other, rounding_mode="floor"),
)


@tensor_method(variant=("reflected", remainder))
def __rmod__(self: Tensor, other: Tensor | Number) -> Tensor:
    """Return `other % self`, element by element, with the sign of `self`.

    >>> 7 % tl.tensor([2, 4])
    tensor([1, 3])
    """
    return remainder(other, self)


@pointwise(None, promotion="real numeric", fast_kernel=("fmod", "f"))
def fmod(xp: Namespace, input: Array, other: Array | Number) -> Array:
    """Return the remainder of division with C's sign, that of `input`, element by element, with broadcasting.

    Raises RuntimeError for an integer divided by zero; a floating-point one gives nan.

    >>> tl.fmod(tl.tensor([-3.0, 3.0]), 2)
    tensor([-1.,  1.])
    """
    check_divisor(xp, input, other)
    return xp.fmod(input, other)  # type: ignore[no-any-return]


derivatives(
    fmod,
    input=lambda grad: grad,
    other=lambda grad, input, other: -grad * div(input, other, rounding_mode="trunc"),
)


@pointwise(
    "negative", promotion="negation", operators=("__neg__",), aliases=("negative",), out="exact", linear_in=("input",),
    inplace_function=True,
)
def neg(input: Tensor) -> Tensor:
    """Return the negative of each element; unsigned integers wrap around.

    Raises RuntimeError for booleans: use `~`.

    >>> -tl.tensor([1.0, -2.0])
    tensor([-1.,  2.])
    """


derivatives(neg, input=lambda grad: -grad)
raw_derivatives(neg, input=lambda grad: -grad)


@composite(method=True)
def positive(input: Tensor) -> Tensor:
    """Return `input` itself.

    Raises RuntimeError for booleans.

    >>> +tl.tensor([1, -2])
    tensor([ 1, -2])
    """
    require_tensor("positive", input)
    if input._tl_data.dtype.kind == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported. Convert it first, e.g. with .int()")
    return input


# One function under two names, so that the operator reports the method.
setattr(TensorClass, "__pos__", TensorClass.positive)  # noqa: B010


@pointwise(
    "absolute", promotion="magnitude", operators=("__abs__",), aliases=("absolute",), out="exact",
    inplace_function="abs_",
)
def abs(input: Tensor) -> Tensor:
    """Return the absolute value of each element; of complex ones a real tensor.

    Raises NotImplementedError for booleans, and RuntimeError for complex elements in place.

    >>> tl.abs(tl.tensor([-1.0, 2.0])), abs(tl.tensor([3 + 4j]))
    (tensor([1., 2.]), tensor([5.]))
    """


derivatives(abs, input=lambda grad, input: grad * input.sgn())


@pointwise(None, promotion="real", out="exact")
def sign(xp: Namespace, input: Array) -> Array:
    """Return -1, 0 or 1 for each element, in its dtype; the derivative is zero.

    For complex elements use `sgn`.

    >>> tl.sign(tl.tensor([-2.5, 0.0, 3.0]))
    tensor([-1.,  0.,  1.])
    """
    return _sign(xp, input)


def _sign(xp: Namespace, array: Array) -> Array:
    if array.dtype.kind == "b":
        return array.copy()
    # PyTorch's sign of nan is 0.
    return (
        xp.subtract(xp.greater(array, 0), xp.less(array, 0), dtype=array.dtype)
        if array.dtype.kind == "f"
        else (xp.sign(array))
    )


derivatives(sign, input=zeros_like)


@pointwise(None, out="exact")
def sgn(xp: Namespace, input: Array) -> Array:
    """Return each element divided by its absolute value, 0 for 0: the sign, defined for complex numbers too.

    >>> tl.sgn(tl.tensor([3 + 4j, 0j]))
    tensor([0.6000+0.8000j, 0.0000+0.0000j])
    """
    if input.dtype.kind != "c":
        return _sign(xp, input)
    size = xp.absolute(input)
    return xp.where(xp.equal(size, 0), input.dtype.type(0), xp.true_divide(input, size))


def _sgn_backward(grad: Tensor, input: Tensor, result: Tensor) -> Tensor:
    if not input.is_complex():
        return zeros_like(grad)
    # Only the tangential component of the gradient counts: the absolute value of the result is constant.
    size = input.abs()
    along = (grad * result.conj()).real * result
    return ((grad - along) / size).where(size != 0, 0)


derivatives(sgn, input=_sgn_backward)


@pointwise(
    None, promotion="real", fast_kernel="signbit", inplace=False, differentiable=False, out="exact"
)
def signbit(xp: Namespace, input: Array) -> Array:
    """Return whether the sign of each element is negative, which it is for -0.0 too.

    >>> tl.signbit(tl.tensor([-1.0, -0.0, 0.0]))
    tensor([ True,  True, False])
    """
    return xp.signbit(input) if input.dtype.kind in "fV" else xp.less(input, 0)


@pointwise("copysign", promotion="real float")
def copysign(input: Tensor, other: Tensor | Number) -> Tensor:
    """Return the size of `input` with the sign of `other`, element by element, with broadcasting.

    >>> tl.copysign(tl.tensor([1.0, -2.0]), tl.tensor([-1.0, 0.0]))
    tensor([-1.,  2.])
    """


derivatives(
    copysign,
    input=lambda grad, input, result: (grad * (result / input)).where(input != 0, 0),
    other=zeros_like,
)
