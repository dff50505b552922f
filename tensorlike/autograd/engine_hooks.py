"""Calling the hooks of tensors and nodes, and checking their results.

# Note [Order of hooks]
As in PyTorch: the hooks of a node's outputs in the order they were registered, then `retain_grad`, then the capture of
the gradient, then the node's pre-hooks, the node, its post-hooks. A leaf's post-accumulate hooks come right after the
accumulation. A hook gets None for a missing gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .grad_mode import grad_enabled
from .node import Node, accumulating, as_caller, edge_of, name_of
from .tensor_base import PROVIDED, TensorBase, wrap

if TYPE_CHECKING:
    from tensorlike.tensor import Tensor

__all__ = ["call_post_hooks", "call_pre_hooks", "call_tensor_hooks", "plain_gradient"]


def _name(hook: Callable[..., Any]) -> str:
    return repr(getattr(hook, "__name__", hook))


def _checked(result: Any, value: Tensor | None, hook: Callable[..., Any]) -> Any:
    """Check the result of a hook for `value`; return it as a plain tensor."""
    if result is None:
        return None
    if not isinstance(result, TensorBase):
        raise TypeError(
            f"expected a Tensor or None, but hook {_name(hook)} returned {type(result).__name__!r}"
        )
    if value is None:
        raise RuntimeError(
            f"hook {_name(hook)} can't replace a None gradient with a non-None value: no gradient arrived here"
        )
    if result._tl_data.shape != value._tl_data.shape:
        raise RuntimeError(
            f"hook {_name(hook)} has changed the size of value: from {list(value._tl_data.shape)} to "
            f"{list(result._tl_data.shape)}"
        )
    if result._tl_data.dtype != value._tl_data.dtype:
        raise RuntimeError(
            f"hook {_name(hook)} has changed the type of value (was {value._tl_data.dtype} "
            f"got {result._tl_data.dtype}): "
            "convert what it returns"
        )
    if type(result) is not TensorBase._tl_plain and not result._tl_transformed:
        return plain_gradient(result)
    return result


def plain_gradient(tensor: Any) -> Any:
    """Return a tensor of a subclass as a plain tensor for formulas, at the same place in the graph."""
    result = wrap(tensor._tl_data)
    if tensor._tl_tracked:
        edge = edge_of(tensor)
        if edge is not None:
            result._tl_edge, result._tl_tracked = edge, True
    return result


def call_tensor_hooks(node: Node, grad: Tensor, *, retain: bool) -> Any:
    """Pass the gradients of a node's outputs through the hooks of these tensors, and `retain` them where requested."""
    single = node._tl_outputs == 1
    values = [grad] if single else [None] * len(node._tl_shape) if grad is None else grad
    for number, hooks in tuple((node._tl_tensor_hooks or {}).items()):
        for hook in tuple(hooks.values()):
            result = as_caller(hook, values[number])
            if result is not None:
                values[number] = _checked(result, values[number], hook)
    for number, reference in tuple((node._tl_retained or {}).items()) if retain else ():
        tensor, value = reference(), values[number]
        if tensor is None or value is None:
            continue
        with accumulating:
            if tensor._tl_grad_value is not None:
                tensor._tl_grad_value = tensor._tl_grad_value + value
            elif grad_enabled():
                tensor._tl_grad_value = value.clone()
            elif value._tl_transformed:  # It has no array.
                tensor._tl_grad_value = value.detach()
            else:
                tensor._tl_grad_value = wrap(PROVIDED.copy_array(value._tl_data))
    return values[0] if single else values


def _checked_tuple(result: Any, values: tuple[Any, ...], hook: Callable[..., Any], node: Node) -> tuple[Any, ...]:
    if not isinstance(result, tuple):
        raise TypeError(
            f"expected tuple, but hook {_name(hook)} of {name_of(node)} returned {type(result).__name__!r}: return a "
            "tuple of gradients or None"
        )
    if len(result) != len(values):
        raise RuntimeError(
            f"hook {_name(hook)} of {name_of(node)} has returned an incorrect number of values (got {len(result)}, but "
            f"expected {len(values)})"
        )
    return tuple(_checked(new, old, hook) for new, old in zip(result, values, strict=True))


def call_pre_hooks(node: Node, grad: Tensor) -> Any:
    """Pass the gradients of a node's outputs through its pre-hooks."""
    values = (grad,) if node._tl_outputs == 1 else tuple(grad if grad is not None else [None] * len(node._tl_shape))
    for hook in tuple(node._tl_pre_hooks.values()):
        result = as_caller(hook, values)
        if result is not None:
            values = _checked_tuple(result, values, hook, node)
    return values[0] if node._tl_outputs == 1 else list(values)


def call_post_hooks(node: Node, grads: Sequence[Tensor | None], grad: Tensor) -> Any:
    """Call a node's post-hooks with its results and inputs; a hook may replace the results."""
    outputs = (grad,) if node._tl_outputs == 1 else tuple(grad if grad is not None else [None] * len(node._tl_shape))
    grads = tuple(grads)
    for hook in tuple(node._tl_post_hooks.values()):
        result = as_caller(hook, grads, outputs)
        if result is not None:
            grads = _checked_tuple(result, grads, hook, node)
    return grads
