"""The normal distribution's functions, entropies, incomplete gamma functions and zeta. SciPy computes most of them."""

from __future__ import annotations

import math
import operator
from typing import Any, NoReturn

from tensorlike.tensor.declarations.declare import derivatives, pointwise
from tensorlike.tensor.declarations.promotion_rules import Promotion
from tensorlike.tensor.types import Array, Namespace, Number, Tensor

from .error_and_gamma import compute, lgamma, special_pointwise

_TWO_BY_ROOT_PI = 2 / math.sqrt(math.pi)
_ROOT_TWO_PI = math.sqrt(2 * math.pi)


@special_pointwise()
def ndtr(xp: Namespace, input: Array) -> Array:
    """Return the standard normal distribution function of each element. Needs SciPy.

    >>> tl.special.ndtr(tl.tensor([0.0, 1.0]))
    tensor([0.5000, 0.8413])
    """
    return compute("ndtr", input)


derivatives(ndtr, input=lambda grad, input: grad * (input * input * -0.5).exp() / _ROOT_TWO_PI)


@special_pointwise()
def ndtri(xp: Namespace, input: Array) -> Array:
    """Return the quantile of the standard normal distribution at each element, the inverse of `ndtr`.

    Elements outside [0, 1] give nan. Needs SciPy.

    >>> tl.special.ndtri(tl.tensor([0.5, 0.9]))
    tensor([0.0000, 1.2816])
    """
    return compute("ndtri", input)


derivatives(ndtri, input=lambda grad, result: grad * (result * result * 0.5).exp() * _ROOT_TWO_PI)


@special_pointwise()
def log_ndtr(xp: Namespace, input: Array) -> Array:
    """Return the logarithm of `ndtr` of each element, exact where that is close to 0. Needs SciPy.

    >>> tl.special.log_ndtr(tl.tensor([0.0, -10.0]))
    tensor([ -0.6931, -53.2313])
    """
    return compute("log_ndtr", input)


derivatives(log_ndtr, input=lambda grad, input: grad * math.sqrt(2 / math.pi) / erfcx(input * -math.sqrt(0.5)))


@special_pointwise()
def erfcx(xp: Namespace, input: Array) -> Array:
    """Return `exp(input ** 2) * erfc(input)` of each element, which neither overflows nor vanishes for large ones.

    Needs SciPy.

    >>> tl.special.erfcx(tl.tensor([0.0, 10.0]))
    tensor([1.0000, 0.0561])
    """
    return compute("erfcx", input)


derivatives(erfcx, input=lambda grad, input, result: grad * (2 * input * result - _TWO_BY_ROOT_PI))


@special_pointwise()
def entr(xp: Namespace, input: Array) -> Array:
    """Return `-input * log(input)` of each element: 0 for 0, and -inf for a negative one.

    >>> tl.special.entr(tl.tensor([0.0, 0.5]))
    tensor([0.0000, 0.3466])
    """
    kind = input.dtype.type
    inside = xp.multiply(input, xp.negative(xp.log(xp.where(xp.greater(input, 0), input, kind(1)))))
    outside = xp.where(xp.less(input, 0), kind(-math.inf), xp.add(inside, kind(0)))
    return xp.where(xp.isnan(input), input, outside)


derivatives(entr, input=lambda grad, input: grad * (-input.log() - 1))


@special_pointwise()
def xlog1py(xp: Namespace, input: Array | Number, other: Array | Number) -> Array:
    """Return `input * log1p(other)`, and 0 where `input` is 0, element by element, with broadcasting.

    >>> tl.special.xlog1py(tl.tensor([0.0, 2.0]), tl.tensor([-1.0, 1.0]))
    tensor([0.0000, 1.3863])
    """
    zero = xp.logical_and(xp.equal(input, 0), xp.logical_not(xp.isnan(other)))
    return xp.where(zero, input.dtype.type(0), xp.multiply(input, xp.log1p(other)))


def _xlog1py_backward(grad: Tensor, input: Tensor, other: Tensor | float) -> Any:
    product = xlog1py(grad, other)
    # Where `input` is 0 and the logarithm is undefined, the result is constant 0.
    if isinstance(other, (int, float)):
        return product if other > -1 else product.where(input != 0, 0)
    return product.where(((input == 0) & (other <= -1)).logical_not(), 0)


derivatives(xlog1py, input=_xlog1py_backward, other=lambda grad, input, other: grad * input / (other + 1))


def _underivable(name: str) -> NoReturn:
    raise NotImplementedError(
        f"the derivative for '{name}' is not implemented: PyTorch has none either. detach() that operand"
    )


@special_pointwise()
def zeta(xp: Namespace, input: Array | Number, other: Array | Number) -> Array:
    """Return Hurwitz's zeta function: the sum of `(k + other) ** -input` over `k` from 0 on, with broadcasting.

    The result is nan unless `input` is greater than 1; only `other` has a derivative. Needs SciPy.

    >>> tl.special.zeta(tl.tensor([2.0, 4.0]), 1)
    tensor([1.6449, 1.0823])
    """
    return compute("zeta", input, other)


derivatives(
    zeta,
    input=lambda grad: _underivable("zeta"),
    other=lambda grad, input, other: grad * -input * zeta(input + 1, other),
)


def _igamma_backward(grad: Tensor, input: Tensor, other: Tensor) -> Tensor:
    return grad * ((input - 1) * other.log() - other - lgamma(input)).exp()


@pointwise(None, promotion="floating", aliases=("special.gammainc",))
def igamma(xp: Namespace, input: Array, other: Array) -> Array:
    """Return the regularized lower incomplete gamma function of order `input` at `other`, with broadcasting.

    The result is nan if either is negative; only `other` has a derivative. Needs SciPy.

    >>> tl.igamma(tl.tensor([1.0, 2.0]), tl.tensor([1.0, 2.0]))
    tensor([0.6321, 0.5940])
    """
    return compute("gammainc", input, other)


derivatives(igamma, input=lambda grad: _underivable("igamma: input"), other=_igamma_backward)


@pointwise(None, promotion="floating", aliases=("special.gammaincc",))
def igammac(xp: Namespace, input: Array, other: Array) -> Array:
    """Return the regularized upper incomplete gamma function of order `input` at `other`, with broadcasting.

    The result is nan if either is negative; only `other` has a derivative. Needs SciPy.

    >>> tl.igammac(tl.tensor([1.0, 2.0]), tl.tensor([1.0, 2.0]))
    tensor([0.3679, 0.4060])
    """
    return compute("gammaincc", input, other)


derivatives(
    igammac,
    input=lambda grad: _underivable("igammac: input"),
    other=lambda grad, input, other: -_igamma_backward(grad, input, other),
)


def _order(p: int) -> int:
    try:
        order = operator.index(p)
    except TypeError:
        raise TypeError(f"mvlgamma(): argument 'p' (position 2) must be int, not {type(p).__name__}") from None
    if order < 1:
        raise RuntimeError(f"p has to be greater than or equal to 1: got {order}")
    return order


def _mvlgamma_backward(grad: Tensor, input: Tensor, p: int) -> Tensor:
    total = input.digamma()
    for index in range(1, p):
        total = total + (input - index / 2).digamma()
    return grad * total


# Check before promoting: boolean tensors raise.
@pointwise(None, promotion="quotient", aliases=("special.multigammaln",))
def mvlgamma(xp: Namespace, input: Array, p: int) -> Array:
    """Return the logarithm of the multivariate gamma function of dimension `p` of each element.

    Elements are greater than `(p - 1) / 2`. Integers give the default floating-point dtype. Raises RuntimeError when
    `p` is less than 1, and for a boolean tensor. Needs SciPy.

    >>> tl.mvlgamma(tl.tensor([2.0, 3.0]), 2)
    tensor([0.4516, 1.5502])
    """
    order = _order(p)
    if input.dtype.kind == "b":
        raise RuntimeError("mvlgamma(): The input tensor may not be a boolean tensor: convert it to numbers first")
    (input,) = Promotion.REAL_FLOAT.rule("mvlgamma", xp, (input,))
    kind = input.dtype.type
    steps = xp.asarray([index / 2 for index in range(order)], dtype=input.dtype)
    shifted = xp.subtract(input.reshape(-1, 1), steps)
    terms = compute("gammaln", xp.where(xp.isinf(shifted), xp.absolute(shifted), shifted))  # As in lgamma().
    # Contiguous however the input lies in memory, as in PyTorch.
    return xp.add(terms.sum(axis=-1), kind(order * (order - 1) / 4 * math.log(math.pi))).reshape(input.shape)  # type: ignore[no-any-return]


derivatives(mvlgamma, input=_mvlgamma_backward)
