"""Elementwise functions of the standard: each calls the public function of this library that it is made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tensorlike._originals import tl

from ._promotion import Array, Number, promoted

Unary: TypeAlias = Callable[[Array], Array]
Binary: TypeAlias = Callable[[Array | Number, Array | Number], Array]


def _unary(function: Callable[..., Array], name: str = "") -> Unary:
    def call(x: Array, /) -> Array:
        return function(x)

    call.__name__ = call.__qualname__ = name or function.__name__
    call.__doc__ = f"Return `tensorlike.{function.__name__}(x)`, element by element."
    return call


def _binary(function: Callable[..., Array], name: str = "") -> Binary:
    name = name or function.__name__

    def call(x1: Array | Number, x2: Array | Number, /) -> Array:
        return function(*promoted(name, x1, x2))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Return `tensorlike.{function.__name__}(x1, x2)`, element by element, of operands of one dtype."
    return call


# Of a function with several names, the one that types of users answer: `mul`, not its alias `multiply`.
abs = _unary(tl.abs)
acos = _unary(tl.acos)
acosh = _unary(tl.acosh)
asin = _unary(tl.asin)
asinh = _unary(tl.asinh)
atan = _unary(tl.atan)
atanh = _unary(tl.atanh)
ceil = _unary(tl.ceil)
conj = _unary(tl.conj)
cos = _unary(tl.cos)
cosh = _unary(tl.cosh)
exp = _unary(tl.exp)
expm1 = _unary(tl.expm1)
floor = _unary(tl.floor)
imag = _unary(tl.imag)
isfinite = _unary(tl.isfinite)
isinf = _unary(tl.isinf)
isnan = _unary(tl.isnan)
log = _unary(tl.log)
log10 = _unary(tl.log10)
log1p = _unary(tl.log1p)
log2 = _unary(tl.log2)
logical_not = _unary(tl.logical_not)
negative = _unary(tl.neg, "negative")
positive = _unary(tl.positive)
real = _unary(tl.real)
reciprocal = _unary(tl.reciprocal)
signbit = _unary(tl.signbit)
sin = _unary(tl.sin)
sinh = _unary(tl.sinh)
sqrt = _unary(tl.sqrt)
square = _unary(tl.square)
tan = _unary(tl.tan)
tanh = _unary(tl.tanh)
trunc = _unary(tl.trunc)
bitwise_invert = _unary(tl.bitwise_not, "bitwise_invert")

add = _binary(tl.add)
atan2 = _binary(tl.atan2)
bitwise_and = _binary(tl.bitwise_and)
bitwise_left_shift = _binary(tl.bitwise_left_shift)
bitwise_or = _binary(tl.bitwise_or)
bitwise_right_shift = _binary(tl.bitwise_right_shift)
bitwise_xor = _binary(tl.bitwise_xor)
copysign = _binary(tl.copysign)
divide = _binary(tl.div, "divide")
equal = _binary(tl.eq, "equal")
greater = _binary(tl.gt, "greater")
greater_equal = _binary(tl.ge, "greater_equal")
hypot = _binary(tl.hypot)
less = _binary(tl.lt, "less")
less_equal = _binary(tl.le, "less_equal")
logaddexp = _binary(tl.logaddexp)
logical_and = _binary(tl.logical_and)
logical_or = _binary(tl.logical_or)
logical_xor = _binary(tl.logical_xor)
maximum = _binary(tl.maximum)
minimum = _binary(tl.minimum)
multiply = _binary(tl.mul, "multiply")
nextafter = _binary(tl.nextafter)
not_equal = _binary(tl.ne, "not_equal")
pow = _binary(tl.pow)
remainder = _binary(tl.remainder)
subtract = _binary(tl.sub, "subtract")


def floor_divide(x1: Array | Number, x2: Array | Number, /) -> Array:
    """Return quotients rounded down. With infinities they are the standard's, where PyTorch has nan or -1."""
    one, two = promoted("floor_divide", x1, x2)
    found = tl.floor_divide(one, two)
    if not one.dtype.is_floating_point:
        return found
    return tl.where(tl.logical_or(tl.isinf(one), tl.isinf(two)), tl.floor(one / two), found)


def round(x: Array, /) -> Array:
    """Return the nearest integers, even ones of two as near; of complex numbers both parts."""
    if x.dtype.is_complex:
        return tl.complex(tl.round(tl.real(x)), tl.round(tl.imag(x)))
    return tl.round(x)


def sign(x: Array, /) -> Array:
    """Return the sign of each element; of a complex one the number of absolute value 1 in its direction."""
    if x.dtype.is_complex:
        return tl.sgn(x)
    return tl.where(tl.isnan(x), x, tl.sign(x)) if x.dtype.is_floating_point else tl.sign(x)


def clip(x: Array, /, min: Array | Number | None = None, max: Array | Number | None = None) -> Array:
    """Return `x` with elements below `min` and above `max` replaced by these; the dtype is that of `x`."""
    for bound, function in ((min, tl.maximum), (max, tl.minimum)):
        if bound is not None:
            limit = tl.asarray(bound, device=x.device) if isinstance(bound, (bool, int, float, complex)) else bound
            x = function(x, limit.to(x.dtype))
    return tl.clone(x) if min is None and max is None else x
