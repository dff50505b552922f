"""Elementwise comparisons, and tests for nan, infinite, finite and real elements."""

# A declaration that names its ufunc has no body.
# mypy: disable-error-code="empty-body"
from __future__ import annotations

import math
from functools import partial

from tensorlike.tensor.declarations.declare import own_operators, pointwise, primitive, zero_derivatives
from tensorlike.tensor.declarations.runtime import cast_all, dtype_name, promote_arithmetic
from tensorlike.tensor.dtypes import default_float
from tensorlike.tensor.types import Array, Namespace, Number, Tensor

_comparison = partial(pointwise, differentiable=False)


@_comparison("equal")
def eq(input: Tensor, other: Tensor | Number) -> Tensor:
    """Return whether `input` equals `other`, element by element, with broadcasting.

    >>> tl.eq(tl.tensor([1, 2]), 2), tl.tensor([1, 2]) == tl.tensor([1.0, 3.0])
    (tensor([False,  True]), tensor([ True, False]))
    """


own_operators(eq, "__eq__", beside_plain=False)


@_comparison("not_equal", operators=("__ne__",), aliases=("not_equal",))
def ne(input: Tensor, other: Tensor | Number) -> Tensor:
    """Return whether `input` differs from `other`, element by element, with broadcasting; nan differs from itself.

    >>> tl.ne(tl.tensor([1, 2]), 2)
    tensor([ True, False])
    """


@_comparison("less", promotion="real", operators=("__lt__",), aliases=("less",))
def lt(input: Tensor, other: Tensor | Number) -> Tensor:
    """Return whether `input` is less than `other`, element by element, with broadcasting.

    >>> tl.lt(tl.tensor([1, 2]), 2)
    tensor([ True, False])
    """


@_comparison("less_equal", promotion="real", operators=("__le__",), aliases=("less_equal",))
def le(input: Tensor, other: Tensor | Number) -> Tensor:
    """Return whether `input` is at most `other`, element by element, with broadcasting.

    >>> tl.le(tl.tensor([1, 2, 3]), 2)
    tensor([ True,  True, False])
    """


@_comparison("greater", promotion="real", operators=("__gt__",), aliases=("greater",))
def gt(input: Tensor, other: Tensor | Number) -> Tensor:
    """Return whether `input` is greater than `other`, element by element, with broadcasting.

    >>> tl.gt(tl.tensor([1, 2, 3]), 2)
    tensor([False, False,  True])
    """


@_comparison("greater_equal", promotion="real", operators=("__ge__",), aliases=("greater_equal",))
def ge(input: Tensor, other: Tensor | Number) -> Tensor:
    """Return whether `input` is at least `other`, element by element, with broadcasting.

    >>> tl.ge(tl.tensor([1, 2, 3]), 2)
    tensor([False,  True,  True])
    """


for _compared in (eq, ne, lt, le, gt, ge):
    zero_derivatives(_compared)


@primitive()
def equal(xp: Namespace, input: Array, other: Array) -> bool:
    """Return whether both tensors have one shape and equal elements, as a Python bool; nan equals nothing.

    >>> tl.equal(tl.tensor([1, 2]), tl.tensor([1, 2])), tl.equal(tl.ones(2), tl.ones(3))
    (True, False)
    """
    if input.shape != other.shape:
        return False
    return bool(xp.equal(*promote_arithmetic("equal", xp, (input, other))).all())


def _close(xp: Namespace, name: str, input: Array, other: Array, rtol: float, atol: float, equal_nan: bool) -> Array:
    if input.dtype != other.dtype:
        raise RuntimeError(
            f"{name}(): {dtype_name(input.dtype)} did not match {dtype_name(other.dtype)}; convert one of the tensors"
        )
    for what, tolerance in (("rtol", rtol), ("atol", atol)):
        # Not `tolerance < 0`, which lets nan pass.
        if not tolerance >= 0:
            raise RuntimeError(f"{name}(): {what} must be greater than or equal to zero, but got {tolerance}")
    same = xp.equal(input, other)
    if equal_nan and input.dtype.kind in "fcV":
        same = xp.logical_or(same, xp.logical_and(xp.isnan(input), xp.isnan(other)))
    if rtol == 0 and atol == 0:
        return same
    if input.dtype.kind in "biu":
        input, other = cast_all(xp, (input, other), default_float())
    size = xp.absolute(other)
    allowed = xp.add(xp.multiply(size, size.dtype.type(rtol)), size.dtype.type(atol))
    apart = xp.absolute(xp.subtract(input, other))
    near = xp.logical_and(xp.isfinite(apart), xp.less_equal(apart, allowed))
    return xp.logical_or(same, near)  # type: ignore[no-any-return]


@pointwise(None, promotion=None, inplace=False, out=False, differentiable=False)
def isclose(
    xp: Namespace, input: Array, other: Array, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Array:
    """Return whether `abs(input - other) <= atol + rtol * abs(other)`, element by element, with broadcasting.

    Infinities are close to themselves only, nan to nothing unless `equal_nan`. Raises RuntimeError for tensors of
    different dtypes and for negative tolerances.

    >>> tl.isclose(tl.tensor([1.0, 2.0]), tl.tensor([1.0 + 1e-6, 2.1]))
    tensor([ True, False])
    """
    return _close(xp, "isclose", input, other, rtol, atol, equal_nan)


@pointwise(None, promotion=None, inplace=False, out=False)
def allclose(
    xp: Namespace, input: Array, other: Array, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Return whether all elements are close, as `isclose` has it, as a Python bool.

    Raises RuntimeError for tensors of different dtypes and for negative tolerances.

    >>> tl.allclose(tl.tensor([1.0, 2.0]), tl.tensor([1.0 + 1e-6, 2.0]))
    True
    """
    return bool(_close(xp, "allclose", input, other, rtol, atol, equal_nan).all())


@pointwise("isnan", differentiable=False, inplace=False, out=False)
def isnan(input: Tensor) -> Tensor:
    """Return whether each element is nan; for complex ones, whether one of its parts is.

    >>> tl.isnan(tl.tensor([1.0, tl.nan]))
    tensor([False,  True])
    """


@pointwise("isinf", differentiable=False, inplace=False, out=False)
def isinf(input: Tensor) -> Tensor:
    """Return whether each element is infinite; for complex ones, whether one of its parts is.

    >>> tl.isinf(tl.tensor([1.0, -tl.inf]))
    tensor([False,  True])
    """


@pointwise("isfinite", differentiable=False, inplace=False, out=False)
def isfinite(input: Tensor) -> Tensor:
    """Return whether each element is neither infinite nor nan.

    >>> tl.isfinite(tl.tensor([1.0, tl.inf, tl.nan]))
    tensor([ True, False, False])
    """


@_comparison(None, promotion="real", inplace=False, out="exact")
def isposinf(xp: Namespace, input: Array) -> Array:
    """Return whether each element is positive infinity.

    >>> tl.isposinf(tl.tensor([tl.inf, -tl.inf]))
    tensor([ True, False])
    """
    if input.dtype.kind not in "fV":
        return xp.zeros(input.shape, dtype=bool)
    return xp.equal(input, input.dtype.type(math.inf))


@_comparison(None, promotion="real", inplace=False, out="exact")
def isneginf(xp: Namespace, input: Array) -> Array:
    """Return whether each element is negative infinity.

    >>> tl.isneginf(tl.tensor([tl.inf, -tl.inf]))
    tensor([False,  True])
    """
    if input.dtype.kind not in "fV":
        return xp.zeros(input.shape, dtype=bool)
    return xp.equal(input, input.dtype.type(-math.inf))


@_comparison(None, inplace=False, out=False)
def isreal(xp: Namespace, input: Array) -> Array:
    """Return whether each element is real: a complex one is where its imaginary part is zero.

    >>> tl.isreal(tl.tensor([1 + 0j, 1 + 1j]))
    tensor([ True, False])
    """
    if input.dtype.kind == "c":
        return xp.equal(input.imag, 0)
    return xp.ones(input.shape, dtype=bool)
