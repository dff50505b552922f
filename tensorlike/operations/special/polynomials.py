"""Orthogonal polynomials. SciPy computes them, imported when one is called."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tensorlike.tensor.backends import special
from tensorlike.tensor.types import Array, Namespace, Number

from .error_and_gamma import special_pointwise

#: Degrees from which on polynomials are computed by closed forms: SciPy takes n steps for degree n.
_LARGE = 100_000
#: The largest degrees of Hermite polynomials by the bytes of an element; PyTorch returns NaN for larger ones.
_LARGEST_HERMITE = {2: 128, 4: 128, 8: 512}


def _degree(xp: Namespace, n: Array) -> Any:
    """Return the degree as an integer: -1 for NaN and numbers beyond 64 bits, as PyTorch's conversion has it."""
    n = n.astype("float64")
    within = xp.logical_and(xp.greater(n, -1.0), xp.less(n, 2.0**63))
    # Clipped, so that the difference of two degrees does not overflow.
    return xp.minimum(xp.trunc(xp.where(within, n, -1.0)), 2.0**62).astype("int64")


def _steps(xp: Namespace, name: str, input: Array, degree: Array) -> Array:
    """Compute a polynomial by SciPy in double precision; 0 for a negative degree."""
    result = getattr(special(input), name)(xp.maximum(degree, 0), input.astype("float64"))
    return xp.where(xp.less(degree, 0), 0.0, result)


def _evaluate(name: str, closed: Callable[..., Any], xp: Namespace, input: Array, n: Array) -> Array:
    """Return a polynomial of any degree: `closed(xp, x, degree)` is its closed form for large degrees."""
    degree = _degree(xp, n)
    large = xp.greater(degree, _LARGE)
    result = _steps(xp, name, input, xp.where(large, 0, degree))
    if not bool(xp.any(large)):
        return result
    x = input.astype("float64")
    value = closed(xp, x, degree)
    # PyTorch's recurrence subtracts infinite values from each other.
    return xp.where(large, xp.where(xp.isfinite(value), value, xp.nan), result)


def _hermite(name: str, xp: Namespace, input: Array, n: Array) -> Array:
    """Return a Hermite polynomial; NaN for a large degree."""
    degree = _degree(xp, n)
    large = xp.greater(degree, _LARGEST_HERMITE[input.dtype.itemsize])
    return xp.where(large, xp.nan, _steps(xp, name, input, xp.where(large, 0, degree)))


def _sign(xp: Namespace, x: Any, degree: Any) -> Any:
    """Return the sign of a polynomial at `x` below -1, or 1 above 1."""
    return xp.where(xp.logical_and(xp.less(x, 0), xp.not_equal(degree % 2, 0)), -1.0, 1.0)


def _first_closed(xp: Namespace, x: Any, degree: Any) -> Any:
    count = degree.astype("float64")
    inside = xp.cos(count * xp.arccos(xp.clip(x, -1, 1)))
    outside = _sign(xp, x, degree) * xp.cosh(count * xp.arccosh(xp.maximum(xp.abs(x), 1)))
    return xp.where(xp.less(xp.abs(x), 1), inside, outside)


def _second_closed(xp: Namespace, x: Any, degree: Any) -> Any:
    count = degree.astype("float64") + 1
    angle = xp.arccos(xp.clip(x, -1, 1))
    growth = xp.arccosh(xp.maximum(xp.abs(x), 1))
    sign = _sign(xp, x, degree)
    # At 1 and -1 both forms are 0 / 0, with the limit degree + 1.
    inside = xp.where(xp.equal(xp.abs(x), 1), sign * count, xp.sin(count * angle) / xp.sin(angle))
    return xp.where(xp.less_equal(xp.abs(x), 1), inside, sign * xp.sinh(count * growth) / xp.sinh(growth))


def _legendre_closed(xp: Namespace, x: Any, degree: Any) -> Any:
    """Return Hilb's approximation, whose error is below 1e-7 for these degrees."""
    bessel, count = special(x), degree.astype("float64") + 0.5
    across = xp.abs(x)
    angle = xp.arccos(xp.minimum(across, 1))
    growth = xp.arccosh(xp.maximum(across, 1))
    inside = xp.sqrt(angle / xp.sin(angle)) * bessel.j0(count * angle)
    outside = xp.sqrt(growth / xp.sinh(growth)) * bessel.i0(count * growth)
    value = xp.where(xp.less(across, 1), inside, xp.where(xp.equal(across, 1), 1.0, outside))
    return xp.where(xp.isnan(x), x, _sign(xp, x, degree) * value)


def _laguerre_closed(xp: Namespace, x: Any, degree: Any) -> Any:
    """Return Erdelyi's approximation by Bessel functions, whose relative error is below 1e-5 for these degrees."""
    bessel, count = special(x), 4 * degree.astype("float64") + 2
    # Beyond half of its range the value has overflown.
    part = xp.minimum(xp.abs(x) / count, 0.5)
    root = xp.sqrt(part)
    positive = (xp.sqrt(part - part * part) + xp.arcsin(root)) / 2
    negative = (xp.sqrt(part + part * part) + xp.arcsinh(root)) / 2
    waves = xp.sqrt(positive) / (part * (1 - part)) ** 0.25 * xp.exp(x / 2) * bessel.j0(count * positive)
    growing = xp.sqrt(negative) / (part * (1 + part)) ** 0.25 * bessel.i0e(count * negative)
    value = xp.where(xp.greater(x, 0), waves, growing * xp.exp(count * negative + x / 2))
    return xp.where(xp.equal(x, 0), 1.0, value)


_first = partial(_evaluate, "eval_chebyt", _first_closed)
_second = partial(_evaluate, "eval_chebyu", _second_closed)
_physicists = partial(_hermite, "eval_hermite")
_probabilists = partial(_hermite, "eval_hermitenorm")
_laguerre = partial(_evaluate, "eval_laguerre", _laguerre_closed)
_legendre = partial(_evaluate, "eval_legendre", _legendre_closed)


# Polynomials of the third and fourth kind are differences and sums of two of the second.
def _third(xp: Namespace, input: Array, n: Array) -> Array:
    return xp.subtract(_second(xp, input, n), _second(xp, input, _degree(xp, n) - 1))


def _fourth(xp: Namespace, input: Array, n: Array) -> Any:
    return xp.add(_second(xp, input, n), _second(xp, input, _degree(xp, n) - 1))


def _polynomial(name: str, evaluate: Callable[..., Any], kind: str, values: str, *, shifted: bool = False) -> None:
    """Declare a polynomial, of `2 * input - 1` if `shifted`; `values` are of degree 2 at 0.25, 3 at 0.5."""

    def polynomial(xp: Namespace, input: Array | Number, n: Array | Number) -> Array:
        x = xp.subtract(xp.multiply(input.astype("float64"), 2), 1) if shifted else input
        return evaluate(xp, x, n).astype(input.dtype, copy=False)  # type: ignore[no-any-return]

    place = "`2 * input - 1`" if shifted else "each element of `input`"
    polynomial.__doc__ = f"""Return the {kind} of degree `n` at {place}.

    Both broadcast; a negative degree gives 0. PyTorch gives it no derivative. Needs SciPy.

    >>> tl.special.{name}(tl.tensor([0.25, 0.5]), tl.tensor([2, 3]))
    tensor([{values}])
    """
    special_pointwise(name=name, differentiable=False)(polynomial)


_polynomial("chebyshev_polynomial_t", _first, "Chebyshev polynomial of the first kind", "-0.8750, -1.0000")
_polynomial("chebyshev_polynomial_u", _second, "Chebyshev polynomial of the second kind", "-0.7500, -1.0000")
_polynomial("chebyshev_polynomial_v", _third, "Chebyshev polynomial of the third kind", "-1.2500, -1.0000")
_polynomial("chebyshev_polynomial_w", _fourth, "Chebyshev polynomial of the fourth kind", "-0.2500, -1.0000")
_polynomial(
    "shifted_chebyshev_polynomial_t", _first, "Chebyshev polynomial of the first kind", "-0.5000, -0.0000", shifted=True
)
_polynomial(
    "shifted_chebyshev_polynomial_u", _second, "Chebyshev polynomial of the second kind", "0., -0.", shifted=True
)
_polynomial("shifted_chebyshev_polynomial_v", _third, "Chebyshev polynomial of the third kind", "1., 1.", shifted=True)
_polynomial(
    "shifted_chebyshev_polynomial_w", _fourth, "Chebyshev polynomial of the fourth kind", "-1., -1.", shifted=True
)
_polynomial("hermite_polynomial_h", _physicists, "physicist's Hermite polynomial", "-1.7500, -5.0000")
_polynomial("hermite_polynomial_he", _probabilists, "probabilist's Hermite polynomial", "-0.9375, -1.3750")
_polynomial("laguerre_polynomial_l", _laguerre, "Laguerre polynomial", " 0.5312, -0.1458")
_polynomial("legendre_polynomial_p", _legendre, "Legendre polynomial", "-0.4062, -0.4375")
