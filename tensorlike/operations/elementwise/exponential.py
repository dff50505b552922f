"""Exponentials, logarithms, powers and roots."""

# A declaration that names its ufunc has no body.
# mypy: disable-error-code="empty-body"
from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.tensor.declarations.declare import (
    composite,
    derivatives,
    internal_pointwise,
    own_operators,
    pointwise,
    raw_derivatives,
    tensor_method,
)
from tensorlike.tensor.declarations.formulas import conj, raw_product, raw_quotient
from tensorlike.tensor.declarations.runtime import dtype_name, is_number, promote_arithmetic, write_out, wrong_type
from tensorlike.tensor.dtypes import complex128, float64
from tensorlike.tensor.tensor import Tensor as TensorClass
from tensorlike.tensor.types import Array, Namespace, Number, Tensor

from ..shared import zeros_like

_LN2 = math.log(2.0)
_LN10 = math.log(10.0)


@pointwise("exp", promotion="float", inplace_function=True)
def exp(input: Tensor) -> Tensor:
    """Return e to the power of each element.

    >>> tl.exp(tl.tensor([0.0, 1.0]))
    tensor([1.0000, 2.7183])
    """


derivatives(exp, input=lambda grad, result: grad * conj(result))
raw_derivatives(exp, input=lambda grad, result: raw_product(grad, result))


@pointwise(None, fast_kernel="exp2", promotion="float", aliases=("special.exp2",), inplace_function=True)
def exp2(xp: Namespace, input: Array) -> Array:
    """Return 2 to the power of each element.

    >>> tl.exp2(tl.tensor([0.0, 3.0]))
    tensor([1., 8.])
    """
    if input.dtype.kind == "c" and xp is not np:  # CuPy's has no loop for complex numbers.
        return xp.exp(xp.multiply(input, input.dtype.type(_LN2)))
    return xp.exp2(input)  # type: ignore[no-any-return]


derivatives(exp2, input=lambda grad, result: grad * conj(result * _LN2))


@pointwise("expm1", promotion="float", aliases=("special.expm1",), inplace_function=True)
def expm1(input: Tensor) -> Tensor:
    """Return e to the power of each element, less 1, exact for small elements.

    >>> tl.expm1(tl.tensor([0.0, 1.0]))
    tensor([0.0000, 1.7183])
    """


derivatives(expm1, input=lambda grad, result: grad * conj(result + 1))


@pointwise("log", promotion="float", inplace_function=True)
def log(input: Tensor) -> Tensor:
    """Return the natural logarithm of each element: -inf for 0, nan for a negative real one.

    >>> tl.log(tl.tensor([1.0, 2.0]))
    tensor([0.0000, 0.6931])
    """


derivatives(log, input=lambda grad, input: grad / conj(input))
raw_derivatives(log, input=lambda grad, input: raw_quotient(grad, input))


@pointwise("log2", promotion="float", inplace_function=True)
def log2(input: Tensor) -> Tensor:
    """Return the logarithm to base 2 of each element.

    >>> tl.log2(tl.tensor([1.0, 8.0]))
    tensor([0., 3.])
    """


derivatives(log2, input=lambda grad, input: grad / conj(input * _LN2))


@pointwise("log10", promotion="float", inplace_function=True)
def log10(input: Tensor) -> Tensor:
    """Return the logarithm to base 10 of each element.

    >>> tl.log10(tl.tensor([1.0, 5.0]))
    tensor([0.0000, 0.6990])
    """


derivatives(log10, input=lambda grad, input: grad / conj(input * _LN10))


@pointwise("log1p", promotion="float", aliases=("special.log1p",), inplace_function=True)
def log1p(input: Tensor) -> Tensor:
    """Return the natural logarithm of 1 plus each element, exact for small elements.

    >>> tl.log1p(tl.tensor([0.0, 1.0]))
    tensor([0.0000, 0.6931])
    """


derivatives(log1p, input=lambda grad, input: grad / conj(input + 1))


@pointwise(None, promotion="inexact", inplace=False)
def logaddexp(xp: Namespace, input: Array, other: Array) -> Array:
    """Return the logarithm of the sum of the exponentials of `input` and `other`, without overflow.

    >>> tl.logaddexp(tl.tensor([100.0]), tl.tensor([100.0]))
    tensor([100.6931])
    """
    if input.dtype.kind != "c":
        return xp.logaddexp(input, other)  # type: ignore[no-any-return]
    first = xp.greater_equal(input.real, other.real)
    larger, smaller = xp.where(first, input, other), xp.where(first, other, input)
    same = xp.logical_and(xp.equal(input, other), xp.isinf(input.real))
    return xp.where(same, input, xp.add(larger, xp.log1p(xp.exp(xp.subtract(smaller, larger)))))


derivatives(
    logaddexp,
    input=lambda grad, input, other: grad / conj(1 + (other - input).exp()),
    other=lambda grad, input, other: grad / conj(1 + (input - other).exp()),
)


@pointwise("logaddexp2", promotion="floating", inplace=False)
def logaddexp2(input: Tensor, other: Tensor) -> Tensor:
    """Return the logarithm to base 2 of the sum of 2 to the powers `input` and `other`, without overflow.

    >>> tl.logaddexp2(tl.tensor([100.0]), tl.tensor([100.0]))
    tensor([101.])
    """


derivatives(
    logaddexp2,
    input=lambda grad, input, other: grad / (1 + (other - input).exp2()),
    other=lambda grad, input, other: grad / (1 + (input - other).exp2()),
)


@pointwise(None, promotion="real float", aliases=("special.xlogy",), inplace_function=True)
def xlogy(xp: Namespace, input: Array | Number, other: Array | Number) -> Array:
    """Return `input * log(other)`, and 0 where `input` is 0, element by element, with broadcasting.

    >>> tl.xlogy(tl.tensor([0.0, 2.0]), tl.tensor([0.0, 1.0]))
    tensor([0., 0.])
    """
    zero = xp.logical_and(xp.equal(input, 0), xp.logical_not(xp.isnan(other)))
    return xp.where(zero, input.dtype.type(0), xp.multiply(input, xp.log(other)))


def _xlogy_backward(grad: Tensor, input: Tensor, other: Tensor | float) -> Tensor:
    if is_number(other):
        return xlogy(grad, other) if other > 0 else xlogy(grad, other).where(input != 0, 0)
    return xlogy(grad, other).where(((input == 0) & (other <= 0)).logical_not(), 0)


derivatives(xlogy, input=_xlogy_backward, other=lambda grad, input, other: grad * input / other)


@pointwise(None, promotion="float", aliases=("special.expit",), inplace_function=True)
def sigmoid(xp: Namespace, input: Array) -> Array:
    """Return `1 / (1 + exp(-input))` for each element.

    >>> tl.sigmoid(tl.tensor([0.0, 100.0]))
    tensor([0.5000, 1.0000])
    """
    result = xp.exp(xp.negative(input))
    if input.ndim == 0 or input.dtype.kind not in "fc":
        return xp.true_divide(1, xp.add(result, 1))
    xp.add(result, 1, out=result)
    return xp.reciprocal(result, out=result)  # type: ignore[no-any-return]


def _sigmoid_slope(upstream: Array, result: Array) -> Array:
    return raw_product(upstream, (1 - result) * result)


@internal_pointwise(fast_kernel=_sigmoid_slope)
def sigmoid_backward(xp: Namespace, upstream: Array, output: Array) -> Array:
    """Return `upstream` times the derivative of sigmoid where it is `output`."""
    return _sigmoid_slope(upstream, output)


derivatives(
    sigmoid_backward,
    upstream=lambda grad, output: sigmoid_backward(grad, conj(output)),
    output=lambda grad, upstream, output: conj(grad) * (upstream * conj(1 - 2 * output)),
)
raw_derivatives(
    sigmoid_backward,
    upstream=lambda grad, output: grad * ((1 - output) * output),
    output=lambda grad, upstream, output: raw_product(upstream * grad.conj(), 1 - 2 * output),
)
derivatives(sigmoid, input=lambda grad, result: sigmoid_backward(grad, result))
raw_derivatives(sigmoid, input=lambda grad, result: _sigmoid_slope(grad, result))


@pointwise(None, promotion="real float", aliases=("special.logit",), inplace_function=True)
def logit(xp: Namespace, input: Array, eps: float | None = None) -> Array:
    """Return `log(input / (1 - input))` for each element, the inverse of `sigmoid`.

    With `eps`, elements are clamped to [eps, 1 - eps] first; without, elements outside [0, 1] give nan.

    >>> tl.logit(tl.tensor([0.5, 0.75]))
    tensor([0.0000, 1.0986])
    """
    if eps is not None and eps >= 0:
        kind = input.dtype.type
        input = xp.minimum(xp.maximum(input, kind(eps)), kind(1 - eps))
    return xp.log(xp.true_divide(input, xp.subtract(1, input)))


def _logit_backward(grad: Tensor, input: Tensor, eps: float | None) -> Tensor:
    slope = grad / (input * (1 - input))
    if eps is None or eps < 0:
        return slope.where((input >= 0) & (input <= 1), math.nan)
    return slope.where(((input < eps) | (input > 1 - eps)).logical_not(), 0)


derivatives(logit, input=_logit_backward)


@pointwise(None, promotion=None, inplace_function=True)
def ldexp(xp: Namespace, input: Array, other: Array) -> Array:
    """Return `input * 2**other`, element by element, with broadcasting: a number from its mantissa and exponent.

    Integer exponents keep a floating-point or complex dtype of `input`; integers in both give the default one.

    >>> tl.ldexp(tl.tensor([1.0, 1.5]), tl.tensor([1, 4]))
    tensor([ 2., 24.])
    """
    if input.dtype.kind == "f" and other.dtype.kind in "iu":
        return xp.ldexp(input, other.astype(np.int32))  # type: ignore[no-any-return]
    if input.dtype.kind == "V" and other.dtype.kind in "iu":
        return xp.ldexp(input.astype(np.float32), other.astype(np.int32)).astype(input.dtype)  # type: ignore[no-any-return]
    if input.dtype.kind == "c" and other.dtype.kind in "iu":
        return xp.multiply(input, xp.ldexp(input.real.dtype.type(1), other.astype(np.int32)).astype(input.dtype))  # type: ignore[no-any-return]
    # As an array: a scalar would count as a Python number.
    power = xp.asarray(xp.power(*promote_arithmetic("ldexp", xp, (2.0, other))))
    return xp.multiply(*promote_arithmetic("ldexp", xp, (input, power)))  # type: ignore[no-any-return]


derivatives(
    ldexp,
    input=lambda grad, other: grad * conj(2.0**other),
    other=lambda grad, result: grad * conj(result * _LN2),
)


# The array's operator, not the ufunc: it has fast cases for the exponents 2, 0.5 and -1.
@pointwise(None, promotion="power", fast_kernel=operator.pow)
def pow(xp: Namespace, input: Array | Number, exponent: Array | Number) -> Array:
    """Return `input` to the power of `exponent`, element by element, with broadcasting.

    Integers stay integers; a negative number as exponent raises RuntimeError for them, while negative exponents in a
    tensor give 0, or 1 and -1 where the base is that.

    >>> tl.pow(tl.tensor([1.0, 2.0, 3.0]), 2), 2 ** tl.tensor([0, 1, 2])
    (tensor([1., 4., 9.]), tensor([1, 2, 4]))
    """
    if input.dtype.kind == "i" and exponent.size and (negative := xp.less(exponent, 0)).any():
        zero = input.dtype.type(0)
        one = xp.equal(xp.absolute(input), 1)
        # Only the parity of the exponent matters to 1 and -1.
        inverse = xp.where(one, xp.power(input, xp.bitwise_and(exponent, 1)), zero)
        return xp.where(negative, inverse, xp.power(input, xp.where(negative, zero, exponent)))
    if input.dtype.kind == "b":
        return xp.logical_or(input, xp.logical_not(exponent))  # type: ignore[no-any-return]
    if exponent.ndim == 0 and type(exponent) is np.ndarray and input.dtype.kind in "fc":
        return input ** exponent.item()  # type: ignore[no-any-return]
    return xp.power(input, exponent)  # type: ignore[no-any-return]


own_operators(pow, "__pow__", "__ipow__")


def _power_of_base(grad: Tensor, input: Tensor, exponent: Tensor | float | complex) -> Any:
    if is_number(exponent):
        if exponent == 0:
            return zeros_like(grad)
        return grad * conj(exponent * input ** (exponent - 1))
    return (grad * conj(exponent * input ** (exponent - 1))).where(exponent != 0, 0)


def _power_of_exponent(grad: Tensor, input: Tensor, exponent: Tensor, result: Tensor) -> Any:
    if is_number(input):  # In forward mode, which has the operands as they were passed.
        input = zeros_like(result) + input
    # 0 ** exponent is 0 on all sides of a positive exponent, where the product would be 0 * -inf.
    flat = (input == 0) & ((exponent.real if exponent.is_complex() else exponent) >= 0)
    # In the dtype of the result: a negative number has a complex logarithm.
    logarithm = input._tl_cast(result._tl_data.dtype).log()
    return (grad * conj(result * logarithm)).where(flat.logical_not(), 0)


derivatives(pow, input=_power_of_base, exponent=_power_of_exponent)
# PyTorch's names for them, and implementations written for PyTorch may look at names.
TensorClass.__pow__.__name__ = "pow"
TensorClass.__ipow__.__name__ = "pow_"


@tensor_method(variant=("reflected", pow))
def __rpow__(self: Tensor, other: Tensor | Number) -> Tensor:
    """Return `other ** self`, element by element.

    >>> 2 ** tl.tensor([1.0, 3.0])
    tensor([2., 8.])
    """
    return pow(other, self)


def _in_double(input: Tensor, exponent: Tensor | float) -> list[Any]:
    """Return base and exponent in double precision: complex if one of them is."""
    pair = (input, exponent)
    if not any(isinstance(o, TensorBase) for o in pair):
        wrong_type("float_power", "input", 1, input)
    found = any(isinstance(o, complex) or (isinstance(o, TensorBase) and o._tl_data.dtype.kind == "c") for o in pair)
    dtype, number = (complex128, complex) if found else (float64, float)
    return [o.to(dtype) if isinstance(o, TensorBase) else number(o) for o in pair]


@composite
def float_power(input: Tensor | Number, exponent: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return `input` to the power of `exponent` in double precision: float64, or complex128 for a complex operand.

    >>> tl.float_power(tl.tensor([2, 3]), -1)
    tensor([0.5000, 0.3333], dtype=tensorlike.float64)
    """
    found = pow(*_in_double(input, exponent))
    return found if out is None else write_out("float_power", out, found._tl_data, input, exponent, rule="exact")


@tensor_method(name="float_power", variant=("namesake", float_power))
def _float_power(self: Tensor, exponent: Tensor | Number) -> Tensor:
    """Return this tensor to the power of `exponent` in double precision.

    >>> tl.tensor([2, 3]).float_power(-1)
    tensor([0.5000, 0.3333], dtype=tensorlike.float64)
    """
    return pow(*_in_double(self, exponent))


@tensor_method(variant=("inplace", float_power))
def float_power_(self: Tensor, exponent: Tensor | Number) -> Tensor:
    """Write this tensor to the power of `exponent` into it, and return it.

    Raises RuntimeError unless it has the dtype of the result: float64, or complex128 for a complex operand.

    >>> tl.tensor([2.0, 3.0], dtype=tl.float64).float_power_(2)
    tensor([4., 9.], dtype=tensorlike.float64)
    """
    base, exponent = _in_double(self, exponent)
    if base.dtype != self.dtype:
        raise RuntimeError(
            f"float_power_(): the base given to float_power_ has dtype {dtype_name(self._tl_data.dtype)} but the "
            f"operation's result requires dtype {dtype_name(base._tl_data.dtype)}: convert it first"
        )
    return self.pow_(exponent)  # type: ignore[no-any-return]


@pointwise(None, inplace_function=True)
def square(xp: Namespace, input: Array) -> Array:
    """Return the square of each element.

    Booleans give int64; every other dtype stays.

    >>> tl.square(tl.tensor([-2.0, 3.0]))
    tensor([4., 9.])
    """
    return input.astype(np.int64) if input.dtype.kind == "b" else xp.square(input)


derivatives(square, input=lambda grad, input: grad * conj(2 * input))
raw_derivatives(square, input=lambda grad, input: raw_product(grad, 2 * input))


@pointwise("sqrt", promotion="float", inplace_function=True)
def sqrt(input: Tensor) -> Tensor:
    """Return the square root of each element, nan for a negative real one.

    >>> tl.sqrt(tl.tensor([4.0, 9.0]))
    tensor([2., 3.])
    """


derivatives(sqrt, input=lambda grad, result: grad / conj(2 * result))
raw_derivatives(sqrt, input=lambda grad, result: raw_quotient(grad, 2 * result))


@pointwise(None, promotion="float", inplace_function=True)
def rsqrt(xp: Namespace, input: Array) -> Array:
    """Return the reciprocal of the square root of each element.

    >>> tl.rsqrt(tl.tensor([4.0, 0.25]))
    tensor([0.5000, 2.0000])
    """
    return xp.true_divide(1, xp.sqrt(input))


derivatives(rsqrt, input=lambda grad, result: -0.5 * grad * conj(result**3))


# Not NumPy's ufunc of that name, which keeps integers.
@pointwise(None, promotion="float", fast_kernel=lambda a: np.true_divide(1, a), inplace_function=True)
def reciprocal(xp: Namespace, input: Array) -> Array:
    """Return one divided by each element.

    >>> tl.reciprocal(tl.tensor([2.0, 4.0]))
    tensor([0.5000, 0.2500])
    """
    return xp.reciprocal(input)  # type: ignore[no-any-return]


derivatives(reciprocal, input=lambda grad, result: -grad * conj(result * result))
