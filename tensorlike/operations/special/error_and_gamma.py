"""The error function, the gamma function and their relatives. SciPy computes them, imported when one is called."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorlike.tensor.backends import special
from tensorlike.tensor.declarations.declare import composite, derivatives, internal_pointwise, pointwise, undispatched
from tensorlike.tensor.types import Array, Namespace, Tensor

_TWO_BY_ROOT_PI = 2 / math.sqrt(math.pi)


def special_pointwise(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare an elementwise function of `tensorlike.special` by its kernel."""
    return pointwise(
        None, namespace="tensorlike.special", method=False, inplace=False, promotion="real float", **options
    )


def compute(name: str, *arguments: Any) -> Array:
    """Run one of SciPy's functions; the result has the dtype of the last argument, an array."""
    array = arguments[-1]
    return getattr(special(array), name)(*arguments).astype(array.dtype, copy=False)  # type: ignore[no-any-return]


@pointwise(None, promotion="real float", aliases=("special.erf",), inplace_function=True)
def erf(xp: Namespace, input: Array) -> Array:
    """Return the error function of each element, `2 / sqrt(pi)` times the integral of `exp(-t * t)` from 0.

    Needs SciPy.

    >>> tl.erf(tl.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8427])
    """
    return compute("erf", input)


derivatives(erf, input=lambda grad, input: _TWO_BY_ROOT_PI * (-(input * input)).exp() * grad)


@pointwise(None, promotion="real float", aliases=("special.erfc",), inplace_function=True)
def erfc(xp: Namespace, input: Array) -> Array:
    """Return the complementary error function `1 - erf(input)` of each element, exact where that is close to 0.

    Needs SciPy.

    >>> tl.erfc(tl.tensor([0.0, 1.0]))
    tensor([1.0000, 0.1573])
    """
    return compute("erfc", input)


derivatives(erfc, input=lambda grad, input: -_TWO_BY_ROOT_PI * (-(input * input)).exp() * grad)


@pointwise(None, promotion="real float", aliases=("special.erfinv",))
def erfinv(xp: Namespace, input: Array) -> Array:
    """Return the number whose error function each element is; nan for one outside [-1, 1]. Needs SciPy.

    >>> tl.erfinv(tl.tensor([0.0, 0.5]))
    tensor([0.0000, 0.4769])
    """
    return compute("erfinv", input)


derivatives(erfinv, input=lambda grad, input: erfinv(input).square().exp() * grad / _TWO_BY_ROOT_PI)


@pointwise(None, promotion="real float", aliases=("special.gammaln",))
def lgamma(xp: Namespace, input: Array) -> Array:
    """Return the logarithm of the absolute value of the gamma function of each element. Needs SciPy.

    >>> tl.lgamma(tl.tensor([1.0, 4.0]))
    tensor([0.0000, 1.7918])
    """
    # At -inf, where the poles accumulate, SciPy returns -inf, PyTorch and C inf.
    return compute("gammaln", xp.where(xp.isinf(input), xp.absolute(input), input))


derivatives(lgamma, input=lambda grad, input: grad * input.digamma())


@pointwise(None, promotion="real float", aliases=("special.digamma", "special.psi"))
def digamma(xp: Namespace, input: Array) -> Array:
    """Return the derivative of `lgamma` of each element; nan for a negative integer, -inf for 0. Needs SciPy.

    >>> tl.digamma(tl.tensor([1.0, 0.5]))
    tensor([-0.5772, -1.9635])
    """
    return _digamma(xp, input)


def _digamma(xp: Namespace, input: Array) -> Array:
    result = compute("psi", input)
    pole = xp.logical_and(xp.less(input, 0), xp.equal(input, xp.floor(input)))
    result = xp.where(pole, input.dtype.type(math.nan), result)
    infinity = xp.copysign(input.dtype.type(math.inf), input)
    return xp.where(xp.equal(input, 0), xp.negative(infinity), result)


derivatives(digamma, input=lambda grad, input: grad * input.polygamma(1))


# The public function takes the order first, so that only the methods come from the declaration.
@internal_pointwise(name="polygamma", promotion="real float", method=True, inplace=True, out=True)
def _polygamma(xp: Namespace, input: Array, n: int) -> Array:
    """Return the n-th derivative of the digamma function of each element.

    Raises RuntimeError for a negative `n`. Needs SciPy.

    >>> tl.tensor([1.0]).polygamma(2)
    tensor([-2.4041])
    """
    order = _order(n)
    if order == 0:
        return _digamma(xp, input)
    if order > 1:
        # (-1)^(n + 1) n! zeta(n + 1, input)
        factor = math.factorial(order) if order % 2 else -math.factorial(order)
        return xp.multiply(compute("zeta", order + 1.0, input), input.dtype.type(factor))  # type: ignore[no-any-return]
    # SciPy's zeta is not defined for negative numbers: the trigamma function has a reflection formula, which needs more
    # than half precision near its poles.
    dtype = input.dtype
    input = input.astype(np.float32) if dtype.itemsize == 2 else input
    reflected = xp.less(input, 0.5)
    result = compute("zeta", 2.0, xp.where(reflected, xp.subtract(1, input), input))
    sine = xp.sin(xp.multiply(input, input.dtype.type(math.pi)))
    mirrored = xp.subtract(xp.true_divide(input.dtype.type(math.pi**2), xp.square(sine)), result)
    return xp.where(reflected, mirrored, result).astype(dtype, copy=False)


derivatives(_polygamma, input=lambda grad, input, n: grad * input.polygamma(n + 1))


def _order(n: int) -> int:
    try:
        order = operator.index(n)
    except TypeError:
        raise TypeError(f"polygamma(): argument 'n' must be int, not {type(n).__name__}") from None
    if order < 0:
        raise RuntimeError(f"polygamma(n, x) does not support negative n: got {order}")
    return order


@composite(aliases=("special.polygamma",), guard=False, variant=("namesake", _polygamma))
def polygamma(n: int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the n-th derivative of the digamma function of each element.

    Integers give the default floating-point dtype. Raises RuntimeError for a negative `n`. Needs SciPy.

    >>> tl.polygamma(1, tl.tensor([1.0, 0.5]))
    tensor([1.6449, 4.9348])
    """
    return undispatched(_polygamma)(input, n, out=out)
