"""Clamping elements between bounds."""

from __future__ import annotations

from typing import Any

from tensorlike.tensor.declare import derivatives, pointwise
from tensorlike.tensor.types import Number, Tensor


@pointwise(None, promotion="bounds", aliases=("clip",), out="exact")
def clamp(xp: Any, input: Tensor, min: Tensor | Number | None = None, max: Tensor | Number | None = None) -> Tensor:
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


def _clamp_of_min(grad: Any, input: Any, min: Any, max: Any) -> Any:
    return grad.where(input < min if max is None else (min < max) & (input < min), 0)


def _clamp_of_max(grad: Any, input: Any, min: Any, max: Any) -> Any:
    return grad.where(input > max if min is None else (max < min) | (input > max), 0)


derivatives(clamp, input=_clamp_of_input, min=_clamp_of_min, max=_clamp_of_max)


@pointwise("maximum", promotion="bounds")
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


@pointwise("minimum", promotion="bounds")
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
