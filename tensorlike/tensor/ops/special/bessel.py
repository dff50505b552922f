"""Bessel functions and Airy's. SciPy computes them, imported when one is called."""

from __future__ import annotations

from typing import Any

from tensorlike.tensor.backends import special
from tensorlike.tensor.declare import derivatives, pointwise
from tensorlike.tensor.types import Tensor

from .error_and_gamma import compute


@pointwise(None, promotion="real float", aliases=("special.i0",))
def i0(xp: Any, input: Tensor) -> Tensor:
    """Return the modified Bessel function of the first kind, of order 0, of each element.

    Integers give the default floating-point dtype. Raises NotImplementedError for complex elements. Needs SciPy.

    >>> tl.i0(tl.tensor([0.5, 2.0]))
    tensor([1.0635, 2.2796])
    """
    return compute("i0", input)


derivatives(i0, input=lambda grad, input: grad * i1(input))


@pointwise(None, namespace="tensorlike.special", method=False, inplace=False, promotion="real float")
def i0e(xp: Any, input: Tensor) -> Tensor:
    """Return `i0` of each element, scaled by `exp(-abs(input))`.

    Integers give the default floating-point dtype. Raises NotImplementedError for complex elements. Needs SciPy.

    >>> tl.special.i0e(tl.tensor([0.5, 2.0]))
    tensor([0.6450, 0.3085])
    """
    return compute("i0e", input)


derivatives(i0e, input=lambda grad, input, result: grad * (i1e(input) - input.sgn() * result))


@pointwise(None, namespace="tensorlike.special", method=False, inplace=False, promotion="real float")
def i1(xp: Any, input: Tensor) -> Tensor:
    """Return the modified Bessel function of the first kind, of order 1, of each element.

    Integers give the default floating-point dtype. Raises NotImplementedError for complex elements. Needs SciPy.

    >>> tl.special.i1(tl.tensor([0.5, 2.0]))
    tensor([0.2579, 1.5906])
    """
    return compute("i1", input)


derivatives(i1, input=lambda grad, input, result: grad * (i0(input) - _ratio(result, input)))


@pointwise(None, namespace="tensorlike.special", method=False, inplace=False, promotion="real float")
def i1e(xp: Any, input: Tensor) -> Tensor:
    """Return `i1` of each element, scaled by `exp(-abs(input))`.

    Integers give the default floating-point dtype. Raises NotImplementedError for complex elements. Needs SciPy.

    >>> tl.special.i1e(tl.tensor([0.5, 2.0]))
    tensor([0.1564, 0.2153])
    """
    return compute("i1e", input)


derivatives(i1e, input=lambda grad, input, result: grad * (i0e(input) - input.sgn() * result - _ratio(result, input)))


def _ratio(result: Any, input: Any) -> Any:
    """Return `i1(input) / input`, scaled or not, whose limit at 0 is one half."""
    at_zero = input == 0
    return (result / input.masked_fill(at_zero, 1)).masked_fill(at_zero, 0.5)


@pointwise(
    None, namespace="tensorlike.special", method=False, inplace=False, promotion="real float", differentiable=False
)
def bessel_j0(xp: Any, input: Tensor) -> Tensor:
    """Return the Bessel function of the first kind, of order 0, of each element.

    Integers give the default floating-point dtype. Raises NotImplementedError for complex elements. PyTorch gives it no
    derivative. Needs SciPy.

    >>> tl.special.bessel_j0(tl.tensor([0.5, 2.0]))
    tensor([0.9385, 0.2239])
    """
    return compute("j0", input)


@pointwise(
    None, namespace="tensorlike.special", method=False, inplace=False, promotion="real float", differentiable=False
)
def bessel_j1(xp: Any, input: Tensor) -> Tensor:
    """Return the Bessel function of the first kind, of order 1, of each element.

    Integers give the default floating-point dtype. Raises NotImplementedError for complex elements. PyTorch gives it no
    derivative. Needs SciPy.

    >>> tl.special.bessel_j1(tl.tensor([0.5, 2.0]))
    tensor([0.2423, 0.5767])
    """
    return compute("j1", input)


@pointwise(
    None, namespace="tensorlike.special", method=False, inplace=False, promotion="real float", differentiable=False
)
def bessel_y0(xp: Any, input: Tensor) -> Tensor:
    """Return the Bessel function of the second kind, of order 0, of each element.

    Integers give the default floating-point dtype. Raises NotImplementedError for complex elements. PyTorch gives it no
    derivative. Needs SciPy.

    >>> tl.special.bessel_y0(tl.tensor([0.5, 2.0]))
    tensor([-0.4445,  0.5104])
    """
    return compute("y0", input)


@pointwise(
    None, namespace="tensorlike.special", method=False, inplace=False, promotion="real float", differentiable=False
)
def bessel_y1(xp: Any, input: Tensor) -> Tensor:
    """Return the Bessel function of the second kind, of order 1, of each element.

    Integers give the default floating-point dtype. Raises NotImplementedError for complex elements. PyTorch gives it no
    derivative. Needs SciPy.

    >>> tl.special.bessel_y1(tl.tensor([0.5, 2.0]))
    tensor([-1.4715, -0.1070])
    """
    return compute("y1", input)


@pointwise(
    None, namespace="tensorlike.special", method=False, inplace=False, promotion="real float", differentiable=False
)
def modified_bessel_i0(xp: Any, input: Tensor) -> Tensor:
    """Return the modified Bessel function of the first kind, of order 0, of each element.

    Integers give the default floating-point dtype. Raises NotImplementedError for complex elements. PyTorch gives it no
    derivative. Needs SciPy.

    >>> tl.special.modified_bessel_i0(tl.tensor([0.5, 2.0]))
    tensor([1.0635, 2.2796])
    """
    return compute("i0", input)


@pointwise(
    None, namespace="tensorlike.special", method=False, inplace=False, promotion="real float", differentiable=False
)
def modified_bessel_i1(xp: Any, input: Tensor) -> Tensor:
    """Return the modified Bessel function of the first kind, of order 1, of each element.

    Integers give the default floating-point dtype. Raises NotImplementedError for complex elements. PyTorch gives it no
    derivative. Needs SciPy.

    >>> tl.special.modified_bessel_i1(tl.tensor([0.5, 2.0]))
    tensor([0.2579, 1.5906])
    """
    return compute("i1", input)


@pointwise(
    None, namespace="tensorlike.special", method=False, inplace=False, promotion="real float", differentiable=False
)
def modified_bessel_k0(xp: Any, input: Tensor) -> Tensor:
    """Return the modified Bessel function of the second kind, of order 0, of each element.

    Integers give the default floating-point dtype. Raises NotImplementedError for complex elements. PyTorch gives it no
    derivative. Needs SciPy.

    >>> tl.special.modified_bessel_k0(tl.tensor([0.5, 2.0]))
    tensor([0.9244, 0.1139])
    """
    return compute("k0", input)


@pointwise(
    None, namespace="tensorlike.special", method=False, inplace=False, promotion="real float", differentiable=False
)
def modified_bessel_k1(xp: Any, input: Tensor) -> Tensor:
    """Return the modified Bessel function of the second kind, of order 1, of each element.

    Integers give the default floating-point dtype. Raises NotImplementedError for complex elements. PyTorch gives it no
    derivative. Needs SciPy.

    >>> tl.special.modified_bessel_k1(tl.tensor([0.5, 2.0]))
    tensor([1.6564, 0.1399])
    """
    return compute("k1", input)


@pointwise(
    None, namespace="tensorlike.special", method=False, inplace=False, promotion="real float", differentiable=False
)
def scaled_modified_bessel_k0(xp: Any, input: Tensor) -> Tensor:
    """Return `modified_bessel_k0` of each element, scaled by `exp(input)`.

    Integers give the default floating-point dtype. Raises NotImplementedError for complex elements. PyTorch gives it no
    derivative. Needs SciPy.

    >>> tl.special.scaled_modified_bessel_k0(tl.tensor([0.5, 2.0]))
    tensor([1.5241, 0.8416])
    """
    return compute("k0e", input)


@pointwise(
    None, namespace="tensorlike.special", method=False, inplace=False, promotion="real float", differentiable=False
)
def scaled_modified_bessel_k1(xp: Any, input: Tensor) -> Tensor:
    """Return `modified_bessel_k1` of each element, scaled by `exp(input)`.

    Integers give the default floating-point dtype. Raises NotImplementedError for complex elements. PyTorch gives it no
    derivative. Needs SciPy.

    >>> tl.special.scaled_modified_bessel_k1(tl.tensor([0.5, 2.0]))
    tensor([2.7310, 1.0335])
    """
    return compute("k1e", input)


@pointwise(
    None, namespace="tensorlike.special", method=False, inplace=False, promotion="real float", differentiable=False
)
def spherical_bessel_j0(xp: Any, input: Tensor) -> Tensor:
    """Return the spherical Bessel function of the first kind, of order 0, of each element: `sin(input) / input`.

    Integers give the default floating-point dtype. Raises NotImplementedError for complex elements. PyTorch gives it no
    derivative. Needs SciPy.

    >>> tl.special.spherical_bessel_j0(tl.tensor([0.5, 2.0]))
    tensor([0.9589, 0.4546])
    """
    result = xp.true_divide(xp.sin(input), input)
    at_zero = xp.where(xp.equal(input, 0), input.dtype.type(1), result)
    return xp.where(xp.isinf(input), input.dtype.type(0), at_zero)


@pointwise(
    None, namespace="tensorlike.special", method=False, inplace=False, promotion="real float", differentiable=False
)
def airy_ai(xp: Any, input: Tensor) -> Tensor:
    """Return Airy's function Ai of each element.

    Integers give the default floating-point dtype. Raises NotImplementedError for complex elements. PyTorch gives it no
    derivative. Needs SciPy.

    >>> tl.special.airy_ai(tl.tensor([0.5, 2.0]))
    tensor([0.2317, 0.0349])
    """
    return special(input).airy(input)[0].astype(input.dtype, copy=False)
