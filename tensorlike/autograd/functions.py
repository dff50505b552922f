"""`backward` and `grad`: the public ways to run the graph."""

from __future__ import annotations

from typing import Any

from tensorlike.dispatch.api import handle_torch_function, has_torch_function
from tensorlike.dispatch.core import PLAIN

from . import engine
from .base import TensorBase
from .node import edge_of

__all__ = ["backward", "grad"]

#: Set by the tensor package, which knows how to make the gradient that backward starts with.
root_edge: Any = None
grad_of_root: Any = None


def register_roots(edge: Any, gradient: Any) -> None:
    """Name the functions that check a root and make its first gradient."""
    global root_edge, grad_of_root
    root_edge, grad_of_root = edge, gradient


def _as_tuple(value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _roots(tensors: tuple[Any, ...], gradients: tuple[Any, ...], argument: str) -> list[Any]:
    for tensor in tensors:
        if not isinstance(tensor, TensorBase):
            raise TypeError(f"{argument} must be Tensors, got {type(tensor).__name__}")
    if not gradients:
        gradients = (None,) * len(tensors)
    if len(gradients) != len(tensors):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(gradients)} gradients")
    return [(root_edge(t), grad_of_root(t, g)) for t, g in zip(tensors, gradients, strict=True)]


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Compute the gradients of `tensors` with respect to the graph's leaves and accumulate them in their `grad`.

    `grad_tensors` has one gradient for each tensor, None for those of one element. Raises RuntimeError when a tensor
    requires no grad.

    >>> import tensorlike as tl
    >>> x = tl.ones(2, requires_grad=True)
    >>> tl.autograd.backward((x * 3).sum())
    >>> x.grad
    tensor([3., 3.])

    Source: PyTorch's `torch.autograd.backward`.
    """
    if inputs is not None and len(_as_tuple(inputs)) == 0:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    roots = _roots(_as_tuple(tensors), _as_tuple(grad_tensors), "tensors")
    keep = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        engine.run(roots, keep_graph=keep, create_graph=create_graph)
        return
    wanted = _as_tuple(inputs)
    edges = [_input_edge(t, i) for i, t in enumerate(wanted)]
    found = engine.run(roots, keep_graph=keep, create_graph=create_graph, captured=edges)
    for tensor, gradient in zip(wanted, found, strict=True):
        if tensor._edge is not None and gradient is not None:
            before = tensor._grad_value
            tensor._grad_value = gradient if before is None else before + gradient


def _input_edge(tensor: Any, index: int) -> Any:
    if not isinstance(tensor, TensorBase):
        raise TypeError(f"inputs must be Tensors, got {type(tensor).__name__} at index {index}")
    edge = edge_of(tensor) if tensor._tracked else None
    if edge is None:
        raise RuntimeError(f"One of the differentiated Tensors does not require grad: the one at index {index}")
    return edge


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    is_grads_batched: bool = False,
    allow_unused: bool | None = None,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """Return the gradients of `outputs` with respect to `inputs`, one for each input; leaves are not touched.

    With `create_graph` the gradients have a history and can be differentiated again. Raises RuntimeError when an input
    was not used in the graph, unless `allow_unused`; `materialize_grads` gives zeros for it.

    >>> import tensorlike as tl
    >>> x = tl.tensor(3.0, requires_grad=True)
    >>> first, = tl.autograd.grad(x**3, x, create_graph=True)
    >>> second, = tl.autograd.grad(first, x)
    >>> first.item(), second.item()
    (27.0, 18.0)

    Source: PyTorch's `torch.autograd.grad`.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, got False")
    if allow_unused is None:
        allow_unused = materialize_grads
    wanted = _as_tuple(inputs)
    if not wanted:
        raise ValueError("grad requires non-empty inputs.")
    operands = (*_as_tuple(outputs), *wanted, *_as_tuple(grad_outputs))
    if not PLAIN.issuperset(map(type, operands)) and has_torch_function(operands):
        return handle_torch_function(  # type: ignore[no-any-return]
            grad,
            operands,
            outputs,
            inputs,
            grad_outputs=grad_outputs,
            retain_graph=retain_graph,
            create_graph=create_graph,
            is_grads_batched=is_grads_batched,
            allow_unused=allow_unused,
            materialize_grads=materialize_grads,
        )
    if is_grads_batched:
        return _batched(outputs, wanted, grad_outputs, create_graph, allow_unused, materialize_grads)
    roots = _roots(_as_tuple(outputs), _as_tuple(grad_outputs), "outputs")
    keep = create_graph if retain_graph is None else retain_graph
    edges = [_input_edge(t, i) for i, t in enumerate(wanted)]
    found = engine.run(roots, keep_graph=keep, create_graph=create_graph, captured=edges, accumulate=False)
    results = []
    for index, (tensor, gradient) in enumerate(zip(wanted, found, strict=True)):
        if gradient is None:
            if not allow_unused:
                raise RuntimeError(
                    f"One of the differentiated Tensors, the one at index {index}, appears to not have been used in "
                    "the graph. Set allow_unused=True if this is the desired behavior."
                )
            if materialize_grads:
                gradient = tensor._zeros(tensor._data.shape, tensor._data.dtype)
        results.append(gradient)
    return tuple(results)


def _batched(
    outputs: Any, inputs: tuple[Any, ...], grad_outputs: Any, create_graph: bool, allow_unused: bool, zeros: bool
) -> tuple[Any, ...]:
    batches = _as_tuple(grad_outputs)
    if not batches or any(g is None for g in batches):
        raise RuntimeError("grad(): is_grads_batched=True needs a batch of gradients in grad_outputs for each output")
    rows = [
        grad(
            outputs,
            inputs,
            tuple(g[i] for g in batches),
            retain_graph=True,
            create_graph=create_graph,
            allow_unused=allow_unused,
            materialize_grads=zeros,
        )
        for i in range(len(batches[0]))
    ]
    return tuple(
        None if column[0] is None else column[0]._stacked(column) for column in zip(*rows, strict=True)
    )
