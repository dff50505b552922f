"""The larger and the smaller of two elements, and clamping between bounds."""

# A declaration that names its ufunc has no body.
# mypy: disable-error-code="empty-body"
from __future__ import annotations

from typing import Any

from tensorlike.tensor.declarations.declare import derivatives, pointwise
from tensorlike.tensor.types import Array, Namespace, Number, Tensor


def _of_larger(grad: Tensor, mine: Tensor, theirs: Tensor) -> Tensor:
    # At a tie each gets half; nan makes neither comparison true and gives both the whole gradient.
    return (grad / 2).where(mine == theirs, grad).where((mine < theirs).logical_not(), 0)


def _of_smaller(grad: Tensor, mine: Tensor, theirs: Tensor) -> Tensor:
    return (grad / 2).where(mine == theirs, grad).where((mine > theirs).logical_not(), 0)


@pointwise("maximum", promotion="real", inplace=False)
def maximum(input: Tensor, other: Tensor) -> Tensor:
    """Return the larger of `input` and `other`, element by element, with broadcasting; nan if either is.

    Where both are equal each gets half of the gradient.

    >>> tl.maximum(tl.tensor([1, 5]), tl.tensor([3, 2]))
    tensor([3, 5])
    """


derivatives(
    maximum,
    input=lambda grad, input, other: _of_larger(grad, input, other),
    other=lambda grad, input, other: _of_larger(grad, other, input),
)


@pointwise("minimum", promotion="real", inplace=False)
def minimum(input: Tensor, other: Tensor) -> Tensor:
    """Return the smaller of `input` and `other`, element by element, with broadcasting; nan if either is.

    Where both are equal each gets half of the gradient.

    >>> tl.minimum(tl.tensor([1, 5]), tl.tensor([3, 2]))
    tensor([1, 2])
    """


derivatives(
    minimum,
    input=lambda grad, input, other: _of_smaller(grad, input, other),
    other=lambda grad, input, other: _of_smaller(grad, other, input),
)


@pointwise("fmax", promotion="real", inplace=False)
def fmax(input: Tensor, other: Tensor) -> Tensor:
    """Return the larger of `input` and `other`, element by element, with broadcasting; nan only if both are.

    Where both are equal `input` gets the gradient.

    >>> tl.fmax(tl.tensor([1.0, tl.nan]), tl.tensor([3.0, 2.0]))
    tensor([3., 2.])
    """


derivatives(
    fmax,
    input=lambda grad, input, other: grad.where((input >= other) | other.isnan(), 0),
    other=lambda grad, input, other: grad.where(((input >= other) | other.isnan()).logical_not(), 0),
)


@pointwise("fmin", promotion="real", inplace=False)
def fmin(input: Tensor, other: Tensor) -> Tensor:
    """Return the smaller of `input` and `other`, element by element, with broadcasting; nan only if both are.

    Where both are equal `input` gets the gradient.

    >>> tl.fmin(tl.tensor([1.0, tl.nan]), tl.tensor([3.0, 2.0]))
    tensor([1., 2.])
    """


derivatives(
    fmin,
    input=lambda grad, input, other: grad.where((input <= other) | other.isnan(), 0),
    other=lambda grad, input, other: grad.where(((input <= other) | other.isnan()).logical_not(), 0),
)


@pointwise(None, promotion="bounds", aliases=("clip",), out="exact", inplace_function=True)
def clamp(xp: Namespace, input: Array, min: Array | Number | None = None, max: Array | Number | None = None) -> Array:
    """Clamp each element between `min` and `max`, numbers or tensors that broadcast; None is no bound.

    Where `min` is larger than `max` the result is `max`. Raises RuntimeError without any bound.

    >>> tl.clamp(tl.tensor([-1.0, 0.5, 2.0]), 0, 1)
    tensor([0.0000, 0.5000, 1.0000])
    """
    if min is None and max is None:
        raise RuntimeError("clamp: At least one of 'min' or 'max' must not be None")
    if min is not None:
        input = xp.maximum(input, min)
    return input if max is None else xp.minimum(input, max)


def _clamp_of_input(grad: Any, input: Any, min: Any, max: Any) -> Any:
    if min is None:
        return grad.where(input <= max, 0)
    if max is None:
        return grad.where(input >= min, 0)
    return grad.where((input >= min) & (input <= max), 0)


def _clamp_of_min(grad: Tensor, input: Tensor, min: Tensor, max: Tensor | None) -> Tensor:
    return grad.where(input < min if max is None else (min < max) & (input < min), 0)


def _clamp_of_max(grad: Tensor, input: Tensor, min: Tensor | None, max: Tensor) -> Tensor:
    return grad.where(input > max if min is None else (max < min) | (input > max), 0)


derivatives(clamp, input=_clamp_of_input, min=_clamp_of_min, max=_clamp_of_max)


@pointwise("maximum", promotion="bounds", inplace_function=True)
def clamp_min(input: Tensor, min: Tensor | Number) -> Tensor:
    """Return each element, or `min` where that is larger.

    >>> tl.clamp_min(tl.tensor([-1.0, 2.0]), 0)
    tensor([0., 2.])
    """


derivatives(
    clamp_min,
    input=lambda grad, input, min: grad.where(input >= min, 0),
    min=lambda grad, input, min: grad.where(input < min, 0),
)


@pointwise("minimum", promotion="bounds", inplace_function=True)
def clamp_max(input: Tensor, max: Tensor | Number) -> Tensor:
    """Return each element, or `max` where that is smaller.

    >>> tl.clamp_max(tl.tensor([-1.0, 2.0]), 0)
    tensor([-1.,  0.])
    """


derivatives(
    clamp_max,
    input=lambda grad, input, max: grad.where(input <= max, 0),
    max=lambda grad, input, max: grad.where(input > max, 0),
)
