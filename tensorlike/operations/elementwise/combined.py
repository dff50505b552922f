"""Fused arithmetic: `addcmul`, `addcdiv`, interpolation, common divisors, the step function."""

# A declaration that names its ufunc has no body.
# mypy: disable-error-code="empty-body"
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorlike.tensor.declarations.declare import deprecated_orders, derivatives, pointwise
from tensorlike.tensor.declarations.formulas import conj
from tensorlike.tensor.declarations.runtime import number_array, promote_arithmetic
from tensorlike.tensor.dtypes import dtype_of
from tensorlike.tensor.types import Array, Namespace, Number, Tensor

from ..shared import no_derivative, not_implemented

if TYPE_CHECKING:
    import numpy as np


def _factor(xp: Namespace, value: Any, dtype: np.dtype[Any]) -> Array:
    """Return the factor `value` converted for this dtype: truncated to an integer for integer dtypes."""
    if isinstance(value, complex) and dtype.kind != "c":
        raise RuntimeError(f"value cannot be converted to type {dtype_of(dtype)} without overflow: {value}")
    if dtype.kind in "iu":
        value = int(value)
    return number_array(xp, value, dtype)


@pointwise(None, promotion="numeric")
def addcmul(xp: Namespace, input: Array, tensor1: Array, tensor2: Array, *, value: Number = 1) -> Array:
    """Return `input + value * tensor1 * tensor2`, element by element, with broadcasting.

    >>> tl.addcmul(tl.ones(2), tl.tensor([1.0, 2.0]), tl.tensor([3.0, 4.0]), value=0.5)
    tensor([2.5000, 5.0000])
    """
    product = xp.multiply(tensor1, tensor2)
    if value != 1:
        product = xp.multiply(product, _factor(xp, value, product.dtype))
    return xp.add(input, product)  # type: ignore[no-any-return]


deprecated_orders(addcmul, "input value tensor1 tensor2")
derivatives(
    addcmul,
    input=lambda grad: grad,
    tensor1=lambda grad, tensor2, value: grad * conj(tensor2 * value),
    tensor2=lambda grad, tensor1, value: grad * conj(tensor1 * value),
)


@pointwise(None, promotion="quotient")
def addcdiv(xp: Namespace, input: Array, tensor1: Array, tensor2: Array, *, value: Number = 1) -> Array:
    """Return `input + value * tensor1 / tensor2`, element by element, with broadcasting.

    Raises RuntimeError for integers and booleans.

    >>> tl.addcdiv(tl.ones(2), tl.tensor([1.0, 2.0]), tl.tensor([4.0, 4.0]), value=2)
    tensor([1.5000, 2.0000])
    """
    if tensor1.dtype.kind in "biu" and tensor2.dtype.kind in "biu":
        raise RuntimeError(
            f"Integer division with addcdiv is no longer supported: tensor1 is {dtype_of(tensor1.dtype)} and tensor2 "
            f"{dtype_of(tensor2.dtype)}. Use input + value * tensor1 / tensor2, or div() with a rounding_mode"
        )
    input, tensor1, tensor2 = promote_arithmetic("addcdiv", xp, (input, tensor1, tensor2))
    quotient = xp.true_divide(tensor1, tensor2)
    if value != 1:
        quotient = xp.multiply(quotient, _factor(xp, value, quotient.dtype))
    return xp.add(input, quotient)  # type: ignore[no-any-return]


deprecated_orders(addcdiv, "input value tensor1 tensor2")
derivatives(
    addcdiv,
    input=lambda grad: grad,
    tensor1=lambda grad, tensor2, value: grad * conj(value / tensor2),
    tensor2=lambda grad, tensor1, tensor2, value: -grad * conj(value * tensor1 / (tensor2 * tensor2)),
)


@pointwise(None, promotion=None)
def lerp(xp: Namespace, input: Array, end: Array, weight: Array | Number) -> Array:
    """Return `input + weight * (end - input)`, element by element, with broadcasting.

    The tensors must have one floating-point or complex dtype; raises RuntimeError if they differ. A weight without
    dimensions may have any dtype.

    >>> tl.lerp(tl.tensor([0.0, 10.0]), tl.tensor([4.0, 20.0]), 0.25)
    tensor([ 1.0000, 12.5000])
    """
    dtype = input.dtype
    if getattr(weight, "ndim", 1) == 0 and weight.dtype != dtype:
        weight = weight.item()  # It stands for a number, whose dtype decides nothing.
    for name, operand in (("end", end), ("weight", weight)):
        if hasattr(operand, "ndim") and operand.dtype != dtype:
            raise RuntimeError(
                f"lerp(): expected dtype {dtype_of(dtype)} for `{name}` but got dtype {dtype_of(operand.dtype)}; "
                "convert it first"
            )
    if dtype.kind in "biu":
        not_implemented("lerp", dtype, "it works on floating-point and complex tensors")
    distance = xp.subtract(end, input)
    # From the nearer end, so that weights 0 and 1 give the ends exactly.
    if not hasattr(weight, "ndim"):
        if abs(weight) < 0.5:
            return xp.add(input, xp.multiply(distance, _factor(xp, weight, dtype)))  # type: ignore[no-any-return]
        return xp.subtract(end, xp.multiply(distance, _factor(xp, 1 - weight, dtype)))
    return xp.where(
        xp.less(xp.absolute(weight), 0.5),
        xp.add(input, xp.multiply(weight, distance)),
        xp.subtract(end, xp.multiply(distance, xp.subtract(1, weight))),
    )


derivatives(
    lerp,
    input=lambda grad, weight: grad * (1 - conj(weight)),
    end=lambda grad, weight: grad * conj(weight),
    weight=lambda grad, input, end: grad * conj(end - input),
)


@pointwise("gcd", promotion="integers", differentiable=False, inplace_function=True)
def gcd(input: Tensor, other: Tensor) -> Tensor:
    """Return the greatest common divisor, element by element, with broadcasting; of two zeros it is 0.

    >>> tl.gcd(tl.tensor([12, -7]), tl.tensor([18, 14]))
    tensor([6, 7])
    """


@pointwise("lcm", promotion="integers", differentiable=False, inplace_function=True)
def lcm(input: Tensor, other: Tensor) -> Tensor:
    """Return the least common multiple, element by element, with broadcasting; with a zero it is 0.

    >>> tl.lcm(tl.tensor([4, 5]), tl.tensor([6, 7]))
    tensor([12, 35])
    """


@pointwise(None, promotion=None, out="exact")
def heaviside(xp: Namespace, input: Array, values: Array) -> Array:
    """Return 0 for negative elements, 1 for positive ones and the one of `values` for zeros, with broadcasting.

    Both must have one dtype, which is not complex; raises RuntimeError otherwise. There is no derivative.

    >>> tl.heaviside(tl.tensor([-1.0, 0.0, 2.0]), tl.tensor(0.5))
    tensor([0.0000, 0.5000, 1.0000])
    """
    if "c" in (input.dtype.kind, values.dtype.kind):
        raise RuntimeError("heaviside is not yet implemented for complex tensors: use it on the real part")
    if input.dtype != values.dtype:
        raise RuntimeError(
            "heaviside is not yet implemented for tensors with different dtypes: "
            f"{dtype_of(input.dtype)} and {dtype_of(values.dtype)}; convert one of them"
        )
    return xp.where(xp.equal(input, 0), values, xp.greater(input, 0).astype(input.dtype))


derivatives(heaviside, input=lambda grad: no_derivative("heaviside"), values=lambda grad: no_derivative("heaviside"))
