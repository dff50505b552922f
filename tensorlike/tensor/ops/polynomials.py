"""Orthogonal polynomials. SciPy computes them, imported when one is called."""

from __future__ import annotations

from typing import Any

from tensorlike.tensor.backends import special
from tensorlike.tensor.declare import pointwise
from tensorlike.tensor.types import Number, Tensor

__all__: list[str] = []


#: Degrees from which on Chebyshev polynomials are computed by their closed forms: SciPy takes n steps for degree n.
_LARGE = 100_000


def _degree(xp: Any, n: Any) -> Any:
    # Clipped to what the difference of two degrees does not take out of the range of integers.
    return xp.clip(xp.trunc(n), -1.0, 2.0**62).astype("int64")


def _evaluate(xp: Any, name: str, input: Any, n: Any) -> Any:
    """Return a polynomial of SciPy's in double precision; 0 for a negative degree."""
    degree = _degree(xp, n)
    result = getattr(special(input), name)(xp.maximum(degree, 0), input.astype("float64"))
    return xp.where(xp.less(degree, 0), 0.0, result)


def _chebyshev(xp: Any, name: str, input: Any, n: Any) -> Any:
    """Return a Chebyshev polynomial of the first or second kind, of any degree."""
    degree = _degree(xp, n)
    large = xp.greater(degree, _LARGE)
    result = _evaluate(xp, name, input, xp.where(large, 0, degree))
    if not bool(xp.any(large)):
        return result
    x, count = input.astype("float64"), degree.astype("float64")
    inside = xp.less_equal(xp.abs(x), 1)
    angle = xp.arccos(xp.clip(x, -1, 1))
    growth = xp.arccosh(xp.maximum(xp.abs(x), 1))
    sign = xp.where(xp.logical_and(xp.less(x, 0), xp.not_equal(degree % 2, 0)), -1.0, 1.0)
    if name == "eval_chebyt":
        closed = xp.where(inside, xp.cos(count * angle), sign * xp.cosh(count * growth))
    else:
        count = count + 1
        # At 1 and -1 both forms are 0 / 0, and the limit is the degree and one.
        within = xp.where(xp.equal(xp.abs(x), 1), sign * count, xp.sin(count * angle) / xp.sin(angle))
        closed = xp.where(inside, within, sign * xp.sinh(count * growth) / xp.sinh(growth))
    return xp.where(large, xp.where(xp.isnan(x), x, closed), result)


def _first(xp: Any, input: Any, n: Any) -> Any:
    return _chebyshev(xp, "eval_chebyt", input, n)


def _second(xp: Any, input: Any, n: Any) -> Any:
    return _chebyshev(xp, "eval_chebyu", input, n)


# Those of the third and fourth kind are differences and sums of two of the second.
def _third(xp: Any, input: Any, n: Any) -> Any:
    return xp.subtract(_second(xp, input, n), _second(xp, input, _degree(xp, n) - 1))


def _fourth(xp: Any, input: Any, n: Any) -> Any:
    return xp.add(_second(xp, input, n), _second(xp, input, _degree(xp, n) - 1))


def _shifted(xp: Any, input: Any) -> Any:
    return xp.subtract(xp.multiply(input.astype("float64"), 2), 1)


@pointwise(
    None, namespace="tensorlike.special", method=False, inplace=False, promotion="real float", differentiable=False
)
def chebyshev_polynomial_t(xp: Any, input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """Return the Chebyshev polynomial of the first kind of degree `n` at each element of `input`.

    Both broadcast; a negative degree gives 0. Integers give the default floating-point dtype. Raises
    NotImplementedError for complex elements. PyTorch gives it no derivative. Needs SciPy.

    >>> import tensorlike as tl
    >>> tl.special.chebyshev_polynomial_t(tl.tensor([0.25, 0.5]), tl.tensor([2, 3]))
    tensor([-0.8750, -1.0000])

    Same as PyTorch's function of that name.
    """
    return _first(xp, input, n).astype(input.dtype, copy=False)


@pointwise(
    None, namespace="tensorlike.special", method=False, inplace=False, promotion="real float", differentiable=False
)
def chebyshev_polynomial_u(xp: Any, input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """Return the Chebyshev polynomial of the second kind of degree `n` at each element of `input`.

    Both broadcast; a negative degree gives 0. Integers give the default floating-point dtype. Raises
    NotImplementedError for complex elements. PyTorch gives it no derivative. Needs SciPy.

    >>> import tensorlike as tl
    >>> tl.special.chebyshev_polynomial_u(tl.tensor([0.25, 0.5]), tl.tensor([2, 3]))
    tensor([-0.7500, -1.0000])

    Same as PyTorch's function of that name.
    """
    return _second(xp, input, n).astype(input.dtype, copy=False)


@pointwise(
    None, namespace="tensorlike.special", method=False, inplace=False, promotion="real float", differentiable=False
)
def chebyshev_polynomial_v(xp: Any, input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """Return the Chebyshev polynomial of the third kind of degree `n` at each element of `input`.

    Both broadcast; a negative degree gives 0. Integers give the default floating-point dtype. Raises
    NotImplementedError for complex elements. PyTorch gives it no derivative. Needs SciPy.

    >>> import tensorlike as tl
    >>> tl.special.chebyshev_polynomial_v(tl.tensor([0.25, 0.5]), tl.tensor([2, 3]))
    tensor([-1.2500, -1.0000])

    Same as PyTorch's function of that name.
    """
    return _third(xp, input, n).astype(input.dtype, copy=False)


@pointwise(
    None, namespace="tensorlike.special", method=False, inplace=False, promotion="real float", differentiable=False
)
def chebyshev_polynomial_w(xp: Any, input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """Return the Chebyshev polynomial of the fourth kind of degree `n` at each element of `input`.

    Both broadcast; a negative degree gives 0. Integers give the default floating-point dtype. Raises
    NotImplementedError for complex elements. PyTorch gives it no derivative. Needs SciPy.

    >>> import tensorlike as tl
    >>> tl.special.chebyshev_polynomial_w(tl.tensor([0.25, 0.5]), tl.tensor([2, 3]))
    tensor([-0.2500, -1.0000])

    Same as PyTorch's function of that name.
    """
    return _fourth(xp, input, n).astype(input.dtype, copy=False)


@pointwise(
    None, namespace="tensorlike.special", method=False, inplace=False, promotion="real float", differentiable=False
)
def shifted_chebyshev_polynomial_t(xp: Any, input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """Return the Chebyshev polynomial of the first kind of degree `n` at `2 * input - 1`.

    Both broadcast; a negative degree gives 0. Integers give the default floating-point dtype. Raises
    NotImplementedError for complex elements. PyTorch gives it no derivative. Needs SciPy.

    >>> import tensorlike as tl
    >>> tl.special.shifted_chebyshev_polynomial_t(tl.tensor([0.25, 0.5]), tl.tensor([2, 3]))
    tensor([-0.5000, -0.0000])

    Same as PyTorch's function of that name.
    """
    return _first(xp, _shifted(xp, input), n).astype(input.dtype, copy=False)


@pointwise(
    None, namespace="tensorlike.special", method=False, inplace=False, promotion="real float", differentiable=False
)
def shifted_chebyshev_polynomial_u(xp: Any, input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """Return the Chebyshev polynomial of the second kind of degree `n` at `2 * input - 1`.

    Both broadcast; a negative degree gives 0. Integers give the default floating-point dtype. Raises
    NotImplementedError for complex elements. PyTorch gives it no derivative. Needs SciPy.

    >>> import tensorlike as tl
    >>> tl.special.shifted_chebyshev_polynomial_u(tl.tensor([0.25, 0.5]), tl.tensor([2, 3]))
    tensor([0., -0.])

    Same as PyTorch's function of that name.
    """
    return _second(xp, _shifted(xp, input), n).astype(input.dtype, copy=False)


@pointwise(
    None, namespace="tensorlike.special", method=False, inplace=False, promotion="real float", differentiable=False
)
def shifted_chebyshev_polynomial_v(xp: Any, input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """Return the Chebyshev polynomial of the third kind of degree `n` at `2 * input - 1`.

    Both broadcast; a negative degree gives 0. Integers give the default floating-point dtype. Raises
    NotImplementedError for complex elements. PyTorch gives it no derivative. Needs SciPy.

    >>> import tensorlike as tl
    >>> tl.special.shifted_chebyshev_polynomial_v(tl.tensor([0.25, 0.5]), tl.tensor([2, 3]))
    tensor([1., 1.])

    Same as PyTorch's function of that name.
    """
    return _third(xp, _shifted(xp, input), n).astype(input.dtype, copy=False)


@pointwise(
    None, namespace="tensorlike.special", method=False, inplace=False, promotion="real float", differentiable=False
)
def shifted_chebyshev_polynomial_w(xp: Any, input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """Return the Chebyshev polynomial of the fourth kind of degree `n` at `2 * input - 1`.

    Both broadcast; a negative degree gives 0. Integers give the default floating-point dtype. Raises
    NotImplementedError for complex elements. PyTorch gives it no derivative. Needs SciPy.

    >>> import tensorlike as tl
    >>> tl.special.shifted_chebyshev_polynomial_w(tl.tensor([0.25, 0.5]), tl.tensor([2, 3]))
    tensor([-1., -1.])

    Same as PyTorch's function of that name.
    """
    return _fourth(xp, _shifted(xp, input), n).astype(input.dtype, copy=False)


@pointwise(
    None, namespace="tensorlike.special", method=False, inplace=False, promotion="real float", differentiable=False
)
def hermite_polynomial_h(xp: Any, input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """Return the physicist's Hermite polynomial of degree `n` at each element of `input`.

    Both broadcast; a negative degree gives 0. Integers give the default floating-point dtype. Raises
    NotImplementedError for complex elements. PyTorch gives it no derivative. Needs SciPy.

    >>> import tensorlike as tl
    >>> tl.special.hermite_polynomial_h(tl.tensor([0.25, 0.5]), tl.tensor([2, 3]))
    tensor([-1.7500, -5.0000])

    Same as PyTorch's function of that name.
    """
    return _evaluate(xp, "eval_hermite", input, n).astype(input.dtype, copy=False)


@pointwise(
    None, namespace="tensorlike.special", method=False, inplace=False, promotion="real float", differentiable=False
)
def hermite_polynomial_he(xp: Any, input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """Return the probabilist's Hermite polynomial of degree `n` at each element of `input`.

    Both broadcast; a negative degree gives 0. Integers give the default floating-point dtype. Raises
    NotImplementedError for complex elements. PyTorch gives it no derivative. Needs SciPy.

    >>> import tensorlike as tl
    >>> tl.special.hermite_polynomial_he(tl.tensor([0.25, 0.5]), tl.tensor([2, 3]))
    tensor([-0.9375, -1.3750])

    Same as PyTorch's function of that name.
    """
    return _evaluate(xp, "eval_hermitenorm", input, n).astype(input.dtype, copy=False)


@pointwise(
    None, namespace="tensorlike.special", method=False, inplace=False, promotion="real float", differentiable=False
)
def laguerre_polynomial_l(xp: Any, input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """Return the Laguerre polynomial of degree `n` at each element of `input`.

    Both broadcast; a negative degree gives 0. Integers give the default floating-point dtype. Raises
    NotImplementedError for complex elements. PyTorch gives it no derivative. Needs SciPy.

    >>> import tensorlike as tl
    >>> tl.special.laguerre_polynomial_l(tl.tensor([0.25, 0.5]), tl.tensor([2, 3]))
    tensor([ 0.5312, -0.1458])

    Same as PyTorch's function of that name.
    """
    return _evaluate(xp, "eval_laguerre", input, n).astype(input.dtype, copy=False)


@pointwise(
    None, namespace="tensorlike.special", method=False, inplace=False, promotion="real float", differentiable=False
)
def legendre_polynomial_p(xp: Any, input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """Return the Legendre polynomial of degree `n` at each element of `input`.

    Both broadcast; a negative degree gives 0. Integers give the default floating-point dtype. Raises
    NotImplementedError for complex elements. PyTorch gives it no derivative. Needs SciPy.

    >>> import tensorlike as tl
    >>> tl.special.legendre_polynomial_p(tl.tensor([0.25, 0.5]), tl.tensor([2, 3]))
    tensor([-0.4062, -0.4375])

    Same as PyTorch's function of that name.
    """
    return _evaluate(xp, "eval_legendre", input, n).astype(input.dtype, copy=False)
