"""Shared by reverse mode and the other transforms: inputs to differentiate with respect to.

The graph records plain tensors. Inside a transform the input of a `grad` may be a batch, or move along a tangent, and
is then differentiated through what it holds.

# Note [Inputs that examples share]
An input may have no batch at a `vmap` around, and yet a gradient of its own for each example. There are two ways:

- It gets a batch: what is computed of it is computed for each example, and a gradient is the batch of gradients.
- It gets none, and what is computed of it has none either, until that meets a batch. There a node of the graph gives
  it one (`shared` in batched.py). The gradient that comes back to this node is a batch, and goes on as one through the
  rest of the graph: see Note [Gradients of a transform].

The first is faster, since all gradients are plain tensors. The second is taken where forward mode runs inside of the
`vmap`, as in `jacfwd(grad(f))`: only tangents have batches there, so that `f` can write values into tensors it makes.
"""

from __future__ import annotations

from typing import Any

from tensorlike.tensor.tensor import Tensor

from .batched import BatchedTensor, batch_of, batched, is_batched
from .levels import Level, TransformTensor

__all__ = ["differentiable_alias"]


def differentiable_alias(value: Tensor, levels: tuple[Level, ...], forward: bool = False) -> Any:
    """Return the same value as another tensor that requires grad, connected to the history `value` has.

    Each example of the `vmap` levels among `levels` gets a gradient of its own: see Note [Inputs that examples share].
    `forward` says whether forward mode runs inside of all of them.
    """
    while levels and levels[-1].kind is not BatchedTensor and getattr(value, "_level", None) is not levels[-1]:
        levels = levels[:-1]
        forward = True
    if levels and levels[-1].kind is BatchedTensor:
        level = levels[-1]
        if forward and not is_batched(value, level):
            level.shares = True
            return differentiable_alias(value, levels[:-1], True)
        return batched(differentiable_alias(batch_of(value, level), levels[:-1], forward), level)
    if isinstance(value, TransformTensor):
        if type(value) is BatchedTensor:
            return batched(differentiable_alias(value._value, levels[:-1], forward), value._level)
        return value.with_primal(differentiable_alias(value._primal, levels[:-1], True))
    if not isinstance(value, Tensor):
        raise TypeError(f"expected a Tensor to differentiate with respect to, got {type(value).__name__}")
    if value.requires_grad:
        return value.view_as(value)
    return value.detach().requires_grad_()
