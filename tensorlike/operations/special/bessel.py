"""Bessel functions and Airy's. SciPy computes them, imported when one is called."""

from __future__ import annotations

from tensorlike.tensor.backends import special
from tensorlike.tensor.declarations.declare import derivatives, pointwise
from tensorlike.tensor.types import Array, Namespace, Tensor

from .error_and_gamma import compute, special_pointwise


@pointwise(None, promotion="real float", aliases=("special.i0",), inplace_function=True)
def i0(xp: Namespace, input: Array) -> Array:
    """Return the modified Bessel function of the first kind, of order 0, of each element. Needs SciPy.

    >>> tl.i0(tl.tensor([0.5, 2.0]))
    tensor([1.0635, 2.2796])
    """
    return compute("i0", input)


derivatives(i0, input=lambda grad, input: grad * i1(input))


@special_pointwise()
def i0e(xp: Namespace, input: Array) -> Array:
    """Return `i0` of each element, scaled by `exp(-abs(input))`. Needs SciPy.

    >>> tl.special.i0e(tl.tensor([0.5, 2.0]))
    tensor([0.6450, 0.3085])
    """
    return compute("i0e", input)


derivatives(i0e, input=lambda grad, input, result: grad * (i1e(input) - input.sgn() * result))


@special_pointwise()
def i1(xp: Namespace, input: Array) -> Array:
    """Return the modified Bessel function of the first kind, of order 1, of each element. Needs SciPy.

    >>> tl.special.i1(tl.tensor([0.5, 2.0]))
    tensor([0.2579, 1.5906])
    """
    return compute("i1", input)


derivatives(i1, input=lambda grad, input, result: grad * (i0(input) - _ratio(result, input)))


@special_pointwise()
def i1e(xp: Namespace, input: Array) -> Array:
    """Return `i1` of each element, scaled by `exp(-abs(input))`. Needs SciPy.

    >>> tl.special.i1e(tl.tensor([0.5, 2.0]))
    tensor([0.1564, 0.2153])
    """
    return compute("i1e", input)


derivatives(i1e, input=lambda grad, input, result: grad * (i0e(input) - input.sgn() * result - _ratio(result, input)))


def _ratio(result: Tensor, input: Tensor) -> Tensor:
    """Return `i1(input) / input`, scaled or not, whose limit at 0 is one half."""
    at_zero = input == 0
    return (result / input.masked_fill(at_zero, 1)).masked_fill(at_zero, 0.5)


def _bessel(name: str, computed_by: str, result: str, values: str) -> None:
    """Declare a function that SciPy computes; `values` are those at 0.5 and 2."""

    def bessel(xp: Namespace, input: Array) -> Array:
        return compute(computed_by, input)

    bessel.__doc__ = f"""Return {result} of each element.

    PyTorch gives it no derivative. Needs SciPy.

    >>> tl.special.{name}(tl.tensor([0.5, 2.0]))
    tensor([{values}])
    """
    special_pointwise(name=name, differentiable=False)(bessel)


_bessel("bessel_j0", "j0", "the Bessel function of the first kind, of order 0,", "0.9385, 0.2239")
_bessel("bessel_j1", "j1", "the Bessel function of the first kind, of order 1,", "0.2423, 0.5767")
_bessel("bessel_y0", "y0", "the Bessel function of the second kind, of order 0,", "-0.4445,  0.5104")
_bessel("bessel_y1", "y1", "the Bessel function of the second kind, of order 1,", "-1.4715, -0.1070")
_bessel("modified_bessel_i0", "i0", "the modified Bessel function of the first kind, of order 0,", "1.0635, 2.2796")
_bessel("modified_bessel_i1", "i1", "the modified Bessel function of the first kind, of order 1,", "0.2579, 1.5906")
_bessel("modified_bessel_k0", "k0", "the modified Bessel function of the second kind, of order 0,", "0.9244, 0.1139")
_bessel("modified_bessel_k1", "k1", "the modified Bessel function of the second kind, of order 1,", "1.6564, 0.1399")
_bessel("scaled_modified_bessel_k0", "k0e", "`exp(input) * modified_bessel_k0(input)`", "1.5241, 0.8416")
_bessel("scaled_modified_bessel_k1", "k1e", "`exp(input) * modified_bessel_k1(input)`", "2.7310, 1.0335")


@special_pointwise(differentiable=False)
def spherical_bessel_j0(xp: Namespace, input: Array) -> Array:
    """Return the spherical Bessel function of the first kind, of order 0, of each element: `sin(input) / input`.

    PyTorch gives it no derivative. Needs SciPy.

    >>> tl.special.spherical_bessel_j0(tl.tensor([0.5, 2.0]))
    tensor([0.9589, 0.4546])
    """
    result = xp.true_divide(xp.sin(input), input)
    at_zero = xp.where(xp.equal(input, 0), input.dtype.type(1), result)
    return xp.where(xp.isinf(input), input.dtype.type(0), at_zero)


@special_pointwise(differentiable=False)
def airy_ai(xp: Namespace, input: Array) -> Array:
    """Return Airy's function Ai of each element. PyTorch gives it no derivative. Needs SciPy.

    >>> tl.special.airy_ai(tl.tensor([0.5, 2.0]))
    tensor([0.2317, 0.0349])
    """
    return special(input).airy(input)[0].astype(input.dtype, copy=False)  # type: ignore[no-any-return]
