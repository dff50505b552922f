"""Powers and roots of elements."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.tensor.declare import composite, derivatives, pointwise, raw_derivatives, tensor_method
from tensorlike.tensor.dtypes import complex128, float64
from tensorlike.tensor.formulas import conj, raw_product, raw_quotient
from tensorlike.tensor.runtime import dtype_name, is_number, write_out, wrong_type
from tensorlike.tensor.types import Number, Tensor

from ..shared import zeros_like


# The array's operator, not the ufunc: it has fast cases for the exponents 2, 0.5 and -1.
@pointwise(
    None,
    promotion="power",
    hot=operator.pow,
    own_operators=("__pow__",),
    own_inplace_operators=("__ipow__",),
)
def pow(xp: Any, input: Tensor | Number, exponent: Tensor | Number) -> Tensor:
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
        return xp.logical_or(input, xp.logical_not(exponent))
    if exponent.ndim == 0 and type(exponent) is np.ndarray and input.dtype.kind in "fc":
        return input ** exponent.item()
    return xp.power(input, exponent)


def _power_of_base(grad: Any, input: Any, exponent: Any) -> Any:
    if is_number(exponent):
        if exponent == 0:
            return zeros_like(grad)
        return grad * conj(exponent * input ** (exponent - 1))
    return (grad * conj(exponent * input ** (exponent - 1))).where(exponent != 0, 0)


def _power_of_exponent(grad: Any, input: Any, exponent: Any, result: Any) -> Any:
    # 0 ** exponent is 0 on all sides of a positive exponent, where the product would be 0 * -inf.
    flat = (input == 0) & ((exponent.real if exponent.is_complex() else exponent) >= 0)
    # In the dtype of the result: a negative number has a complex logarithm.
    logarithm = input._tl_cast(result._tl_data.dtype).log()
    return (grad * conj(result * logarithm)).where(flat.logical_not(), 0)


derivatives(pow, input=_power_of_base, exponent=_power_of_exponent)


@tensor_method(reflects=pow)
def __rpow__(self: Tensor, other: Tensor | Number) -> Tensor:
    """Return `other ** self`, element by element.

    >>> 2 ** tl.tensor([1.0, 3.0])
    tensor([2., 8.])
    """
    return pow(other, self)


def _in_double(input: Any, exponent: Any) -> list[Any]:
    """Return base and exponent in double precision: complex if one of them is."""
    pair = (input, exponent)
    if not any(isinstance(o, TensorBase) for o in pair):
        wrong_type("float_power", "input", 1, input)
    found = any(isinstance(o, complex) or (isinstance(o, TensorBase) and o._tl_data.dtype.kind == "c") for o in pair)
    dtype, number = (complex128, complex) if found else (float64, float)
    return [o.to(dtype) if isinstance(o, TensorBase) else number(o) for o in pair]  # type: ignore[attr-defined]


@composite
def float_power(input: Tensor | Number, exponent: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return `input` to the power of `exponent` in double precision: float64, or complex128 for a complex operand.

    >>> tl.float_power(tl.tensor([2, 3]), -1)
    tensor([0.5000, 0.3333], dtype=tensorlike.float64)
    """
    found = pow(*_in_double(input, exponent))
    return found if out is None else write_out("float_power", out, found._tl_data, input, exponent, rule="exact")  # type: ignore[no-any-return]


@tensor_method(name="float_power")
def _float_power(self: Tensor, exponent: Tensor | Number) -> Tensor:
    """Return this tensor to the power of `exponent` in double precision.

    >>> tl.tensor([2, 3]).float_power(-1)
    tensor([0.5000, 0.3333], dtype=tensorlike.float64)
    """
    return pow(*_in_double(self, exponent))  # type: ignore[no-any-return]


@tensor_method(inplace_of=float_power)
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
    return self.pow_(exponent)


@pointwise(None)
def square(xp: Any, input: Tensor) -> Tensor:
    """Return the square of each element.

    Booleans give int64; every other dtype stays.

    >>> tl.square(tl.tensor([-2.0, 3.0]))
    tensor([4., 9.])
    """
    return input.astype(np.int64) if input.dtype.kind == "b" else xp.square(input)


derivatives(square, input=lambda grad, input: grad * conj(2 * input))
raw_derivatives(square, input=lambda grad, input: raw_product(grad, 2 * input))


@pointwise("sqrt", promotion="float")
def sqrt(input: Tensor) -> Tensor:
    """Return the square root of each element, nan for a negative real one.

    Integers give the default floating-point dtype.

    >>> tl.sqrt(tl.tensor([4.0, 9.0]))
    tensor([2., 3.])
    """


derivatives(sqrt, input=lambda grad, result: grad / conj(2 * result))
raw_derivatives(sqrt, input=lambda grad, result: raw_quotient(grad, 2 * result))


@pointwise(None, promotion="float")
def rsqrt(xp: Any, input: Tensor) -> Tensor:
    """Return the reciprocal of the square root of each element.

    Integers give the default floating-point dtype.

    >>> tl.rsqrt(tl.tensor([4.0, 0.25]))
    tensor([0.5000, 2.0000])
    """
    return xp.true_divide(1, xp.sqrt(input))


derivatives(rsqrt, input=lambda grad, result: -0.5 * grad * conj(result**3))


# Not NumPy's ufunc of that name, which keeps integers: a result of another dtype leaves the fast path.
@pointwise(None, promotion="float", hot=lambda a: np.true_divide(1, a))
def reciprocal(xp: Any, input: Tensor) -> Tensor:
    """Return one divided by each element.

    Integers give the default floating-point dtype.

    >>> tl.reciprocal(tl.tensor([2, 4]))
    tensor([0.5000, 0.2500])
    """
    return xp.reciprocal(input)


derivatives(reciprocal, input=lambda grad, result: -grad * conj(result * result))
