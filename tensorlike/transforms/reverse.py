"""Shared by reverse mode and the other transforms: inputs to differentiate with respect to.

The graph records plain tensors. Inside a transform the input of a `grad` may be a batch, or move along a tangent, and
is then differentiated through what it holds.
"""

from __future__ import annotations

from typing import Any

from tensorlike.tensor.tensor import Tensor

from .batched import BatchedTensor, batched, is_batched
from .levels import Level, TransformTensor

__all__ = ["differentiable_alias"]


def differentiable_alias(value: Any, levels: tuple[Level, ...]) -> Any:
    """Return the same value as another tensor that requires grad, connected to the history `value` has.

    Inside `vmap` the alias has a batch at every running level, so that each example gets a gradient of its own even for
    inputs that all of them share.
    """
    from .dual import DualTensor, dual

    while levels and levels[-1].kind is DualTensor and getattr(value, "_level", None) is not levels[-1]:
        levels = levels[:-1]
    if levels and levels[-1].kind is BatchedTensor:
        level = levels[-1]
        inner = value._value if is_batched(value, level) else value.expand(level.size, *value.shape)
        return batched(differentiable_alias(inner, levels[:-1]), level)
    if isinstance(value, TransformTensor):
        level = value._level
        if type(value) is DualTensor:
            return dual(differentiable_alias(value._primal, levels[:-1]), value._tangent, level)
        return batched(differentiable_alias(value._value, levels[:-1]), level)
    if not isinstance(value, Tensor):
        raise TypeError(f"expected a Tensor to differentiate with respect to, got {type(value).__name__}")
    if value.requires_grad:
        return value.view_as(value)
    return value.detach().requires_grad_()
