"""A place in the graph without a tensor: `GradientEdge`."""

from __future__ import annotations

from typing import Any, NamedTuple

from .base import TensorBase
from .node import Node, edge_of

__all__ = ["GradientEdge", "get_gradient_edge"]


class GradientEdge(NamedTuple):
    """Where the gradient of a tensor goes: stands for the tensor in `autograd.grad` and `autograd.backward`.

    Source: PyTorch's `torch.autograd.graph.GradientEdge`.
    """

    node: Node
    output_nr: int
    #: A leaf, which its node does not keep alive.
    ownership_token: Any = None


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """Return the place of `tensor` in the graph; `grad` and `backward` take it for the tensor.

    It does not keep the values of a non-leaf alive. Raises RuntimeError when the tensor requires no grad.

    >>> import tensorlike as tl
    >>> x = tl.ones(2, requires_grad=True)
    >>> y = x * 2
    >>> edge = tl.autograd.graph.get_gradient_edge(y)
    >>> tl.autograd.grad(y.exp().sum(), edge)
    (tensor([7.3891, 7.3891]),)

    Source: PyTorch's `torch.autograd.graph.get_gradient_edge`.
    """
    if not isinstance(tensor, TensorBase):
        raise TypeError(f"get_gradient_edge(): argument 'tensor' must be Tensor, not {type(tensor).__name__}")
    found = edge_of(tensor) if tensor._tl_tracked else None
    if found is None:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require gradients: "
            "call requires_grad_() on it first"
        )
    return GradientEdge(*found, tensor if tensor._tl_edge is None else None)
