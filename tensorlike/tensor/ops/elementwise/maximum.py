"""The larger and the smaller of two elements: maximum, minimum, fmax, fmin."""

from __future__ import annotations

from typing import Any

from tensorlike.tensor.declare import derivatives, pointwise
from tensorlike.tensor.types import Tensor


def _of_larger(grad: Any, mine: Any, theirs: Any) -> Any:
    # At a tie each gets half; nan makes neither comparison true and gives both the whole gradient.
    return (grad / 2).where(mine == theirs, grad).where((mine < theirs).logical_not(), 0)


def _of_smaller(grad: Any, mine: Any, theirs: Any) -> Any:
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
