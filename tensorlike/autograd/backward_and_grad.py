"""`backward` and `grad`: the public ways to run the graph."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, overload

from tensorlike._above import above
from tensorlike.dispatch.api import handle_torch_function, has_torch_function
from tensorlike.dispatch.collect import strays
from tensorlike.dispatch.core import PLAIN, has_handler, outside_stacklevel, overriding_types
from tensorlike.dispatch.tracebacks import explained, named_errors

from . import engine
from .node import GradientEdge, edge_of, like_edge
from .tensor_base import PROVIDED, TensorBase

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tensorlike.dispatch.protocol import SupportsTorchFunction
    from tensorlike.tensor.tensor import Tensor

__all__ = ["backward", "grad"]

K = TypeVar("K")
_OneOrMore: TypeAlias = "Tensor | GradientEdge | Iterable[Tensor | GradientEdge]"
_OfTypes: TypeAlias = "SupportsTorchFunction | Iterable[SupportsTorchFunction]"


def _as_tuple(value: Any) -> tuple[Any, ...]:
    """Return a value, or the values of any iterable of several, as a tuple."""
    if value is None:
        return ()
    if isinstance(value, (TensorBase, GradientEdge)):
        return (value,)
    if isinstance(value, (tuple, list)):
        return tuple(value)
    # A type with `__torch_function__` is one value, even if it is iterable.
    several = hasattr(type(value), "__iter__") and not has_handler(value)
    return tuple(value) if several else (value,)


def _reread(value: Any) -> Any:
    """Return an iterator, such as `model.parameters()`, as a tuple, and other values unchanged."""
    return tuple(value) if hasattr(type(value), "__next__") else value


def _asked(tensors: tuple[Any, ...], inputs: tuple[Any, ...], gradients: Any) -> tuple[Any, ...]:
    """Return the operands of `backward` and `grad`; none where all are plain, and no mode is on.

    As in PyTorch, tensors among the gradients are no operands, unless they are batches or tangents of a transform.
    """
    started = [g for g in _as_tuple(gradients) if (g._tl_transformed if isinstance(g, TensorBase) else strays(g))]
    operands = (*tensors, *inputs, *started)
    return () if PLAIN.issuperset(map(type, operands)) else operands


def _inputs(value: Any) -> tuple[Any, ...]:
    return tuple(value.values()) if isinstance(value, dict) else _as_tuple(value)


def _roots(tensors: tuple[Any, ...], gradients: tuple[Any, ...], argument: str) -> list[Any]:
    for tensor in tensors:
        if not isinstance(tensor, (TensorBase, GradientEdge)):
            raise TypeError(f"{argument} must be Tensors or GradientEdges, got {type(tensor).__name__}")
    if not gradients:
        gradients = (None,) * len(tensors)
    if len(gradients) < len(tensors):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(gradients)} gradients")
    pairs = zip(tensors, gradients, strict=False)  # As in PyTorch, further gradients mean nothing.
    return [
        (tuple(t[:2]) if isinstance(t, GradientEdge) else PROVIDED.root_edge(t), PROVIDED.grad_of_root(t, g, i))
        for i, (t, g) in enumerate(pairs)
    ]


@named_errors
def backward(
    tensors: _OneOrMore,
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Tensor | Sequence[Tensor | None] | None = None,
    inputs: _OneOrMore | None = None,
) -> None:
    """Compute the gradients of `tensors` with respect to the graph's leaves and accumulate them in their `grad`.

    `grad_tensors` has one gradient for each tensor, None for those of one element. `create_graph` gives the gradients a
    history; `retain_graph`, which follows it, keeps saved values for another backward. With `inputs` (tensors or
    GradientEdges) only those receive a gradient. Raises RuntimeError when a tensor requires no grad.

    >>> x = tl.ones(2, requires_grad=True)
    >>> tl.autograd.backward((x * 3).sum())
    >>> x.grad
    tensor([3., 3.])
    """
    if grad_variables is not None:
        warnings.warn(
            "`grad_variables` is deprecated. Use `grad_tensors` instead.",
            FutureWarning,
            stacklevel=outside_stacklevel(),
        )
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only "
                "use `grad_tensors`."
            )
        grad_tensors = grad_variables
    inputs = _reread(inputs)
    wanted = _inputs(inputs)
    if inputs is not None and not wanted:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    tensors = _as_tuple(tensors)
    operands = _asked(tensors, wanted, grad_tensors)
    # Modes are called where a type is; otherwise the hooks of the graph run under them.
    if operands and overriding_types(operands) and has_torch_function(operands):
        return handle_torch_function(  # type: ignore[no-any-return]
            backward,
            operands,
            tensors,
            grad_tensors=grad_tensors,
            retain_graph=retain_graph,
            create_graph=create_graph,
            inputs=None if inputs is None else wanted,
        )
    roots = _roots(tensors, _as_tuple(grad_tensors), "tensors")
    keep = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        engine.run(roots, keep_graph=keep, create_graph=create_graph)
        return
    edges = [_input_edge(t, i) for i, t in enumerate(wanted)]
    for tensor in wanted:
        if isinstance(tensor, TensorBase) and tensor._tl_edge is not None:
            any_tensor: Any = tensor
            any_tensor.retain_grad()
    engine.run(roots, keep_graph=keep, create_graph=create_graph, captured=edges)


def _input_edge(tensor: Tensor | GradientEdge, index: int) -> Any:
    if isinstance(tensor, GradientEdge):
        return tensor[:2]
    if not isinstance(tensor, TensorBase):
        raise TypeError(
            f"all inputs have to be Tensors or GradientEdges, but got {type(tensor).__name__} at index {index}"
        )
    edge = edge_of(tensor) if tensor._tl_tracked else None
    if edge is None:
        raise RuntimeError(f"One of the differentiated Tensors does not require grad: the one at index {index}")
    return edge


@overload
def grad(  # type: ignore[overload-overlap]  # A dict is an iterable, of its keys.
    outputs: _OneOrMore,
    inputs: dict[K, Any],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: Literal[False] | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> dict[K, Tensor]: ...
@overload
def grad(  # type: ignore[overload-overlap]  # A dict is an iterable, of its keys.
    outputs: _OneOrMore,
    inputs: dict[K, Any],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    *,
    allow_unused: bool,
    is_grads_batched: bool = False,
    materialize_grads: Literal[False] = False,
) -> dict[K, Tensor | None]: ...
@overload
def grad(
    outputs: _OneOrMore,
    inputs: _OneOrMore,
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: Literal[False] | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]: ...
@overload
def grad(
    outputs: _OneOrMore,
    inputs: _OneOrMore,
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    *,
    allow_unused: bool,
    is_grads_batched: bool = False,
    materialize_grads: Literal[False] = False,
) -> tuple[Tensor | None, ...]: ...
@overload
def grad(
    outputs: _OneOrMore | _OfTypes,
    inputs: _OneOrMore | _OfTypes,
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any: ...
@named_errors
def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """Return the gradients of `outputs` with respect to `inputs`, one for each input; leaves are not touched.

    `outputs` and `inputs` are tensors or GradientEdges, one or an iterable of them, as `model.parameters()`; for a dict
    of inputs the result is a dict.
    With `create_graph` the gradients have a history and can be differentiated again; `retain_graph`, which follows it,
    keeps saved values for another backward. `only_inputs` is deprecated and ignored. With `is_grads_batched` the first
    dimension of each of `grad_outputs` is a batch, and so is that of each gradient. Raises RuntimeError when an input
    was not used in the graph, unless `allow_unused`; `materialize_grads` gives zeros for it.

    >>> x = tl.tensor(3.0, requires_grad=True)
    >>> first, = tl.autograd.grad(x**3, x, create_graph=True)
    >>> second, = tl.autograd.grad(first, x)
    >>> first.item(), second.item()
    (27.0, 18.0)
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    if allow_unused is None:
        allow_unused = materialize_grads
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for "
            "other parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=outside_stacklevel(),
        )
    outputs, inputs, grad_outputs = _reread(outputs), _reread(inputs), _reread(grad_outputs)
    wanted = _inputs(inputs)
    operands = _asked(_as_tuple(outputs), wanted, grad_outputs)
    if isinstance(inputs, dict):
        names, inputs = list(inputs), wanted
        found = grad(
            outputs, wanted, grad_outputs, retain_graph, create_graph, True, allow_unused, is_grads_batched,
            materialize_grads,
        )  # fmt: skip
        return dict(zip(names, found, strict=True))
    if operands and has_torch_function(operands):
        return handle_torch_function(
            grad,
            operands,
            _as_tuple(outputs),
            wanted,
            grad_outputs=grad_outputs,
            retain_graph=retain_graph,
            create_graph=create_graph,
            only_inputs=only_inputs,
            allow_unused=allow_unused,
            is_grads_batched=is_grads_batched,
            materialize_grads=materialize_grads,
        )
    return computed_grad(
        outputs, inputs, grad_outputs, retain_graph, create_graph, True, allow_unused, is_grads_batched,
        materialize_grads,
    )  # fmt: skip


def computed_grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """Compute what `grad` returns, asking no type."""
    wanted = _inputs(inputs)
    if not wanted:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    if is_grads_batched:
        results = _batched(_as_tuple(outputs), wanted, _as_tuple(grad_outputs), retain_graph, create_graph)
    else:
        roots = _roots(_as_tuple(outputs), _as_tuple(grad_outputs), "outputs")
        keep = create_graph if retain_graph is None else retain_graph
        edges = [_input_edge(t, i) for i, t in enumerate(wanted)]
        results = engine.run(roots, keep_graph=keep, create_graph=create_graph, captured=edges, accumulate=False)
    if materialize_grads and any(isinstance(t, GradientEdge) for t in wanted):
        raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
    for index, (tensor, gradient) in enumerate(zip(wanted, results, strict=True)):
        if gradient is None:
            if not allow_unused:
                raise explained(
                    RuntimeError, "unused-in-graph",
                    f"The differentiated Tensor at index {index} appears to not have been used in the graph. Set "
                    "allow_unused=True if this is the desired behavior.",
                )  # fmt: skip
            if materialize_grads:
                zeros = tensor._tl_zeros(tensor._tl_data.shape, tensor._tl_data.dtype)
                # As in PyTorch: so that it can be differentiated again like a gradient that was computed.
                results[index] = zeros.requires_grad_() if create_graph else zeros
    return tuple(results)


def _batched(
    outputs: tuple[Any, ...],
    inputs: tuple[Any, ...],
    gradients: tuple[Any, ...],
    retain_graph: bool | None,
    create_graph: bool,
) -> list[Any]:
    if not gradients or len(gradients) != len(outputs):
        raise RuntimeError(
            f"grad(): is_grads_batched=True needs a batch of gradients in grad_outputs for each of the {len(outputs)} "
            f"outputs, got {len(gradients)}"
        )
    for index, (output, gradient) in enumerate(zip(outputs, gradients, strict=True)):
        if not isinstance(gradient, TensorBase):
            raise TypeError(
                f"grad(): is_grads_batched=True needs Tensors in grad_outputs, got {type(gradient).__name__} at index "
                f"{index}"
            )
        shape = _shape_of(output)
        if gradient._tl_data.shape[1:] != shape or not gradient._tl_data.shape:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                "dimension. The sizes of the remaining dimensions are expected to match the shape of corresponding "
                f"output, but a mismatch was detected: grad_output[{index}] has a shape of "
                f"{list(gradient._tl_data.shape)} and output[{index}] has a shape of {list(shape)}."
            )
    sizes = [g._tl_data.shape[0] for g in gradients]
    if len(set(sizes)) > 1:
        raise ValueError(
            "grad(): is_grads_batched=True: Expected all tensors to have the same size in the mapped dimension, got "
            f"sizes {sizes} for the mapped dimension"
        )
    if PROVIDED.batched_grad is None:
        # Written with the operations, which stand above this package.
        above("transforms.gradients")
    keep = create_graph if retain_graph is None else retain_graph
    roots = [tuple(o[:2]) if isinstance(o, GradientEdge) else PROVIDED.root_edge(o) for o in outputs]
    edges = [_input_edge(t, i) for i, t in enumerate(inputs)]
    assert PROVIDED.batched_grad is not None
    return PROVIDED.batched_grad(roots, edges, gradients, keep, create_graph)


def _shape_of(output: Any) -> Any:
    if isinstance(output, TensorBase):
        return output._tl_data.shape
    if isinstance(output, GradientEdge):
        return like_edge(output.node, output.output_nr)[0]
    raise TypeError(f"outputs must be Tensors or GradientEdges, got {type(output).__name__}")
