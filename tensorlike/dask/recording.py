"""How results in chunks are recorded: by the formulas of their operation, or as steps with a derivative of their own.

# Note [Gradients in chunks]
A result in chunks is recorded as any other: the node is that of the operation's declaration, and saves the operands,
whose `Chunks` become chunked tensors again when a formula needs them. The formulas are written with public functions,
which make tasks, so that `backward` builds the graph of the gradients and computes nothing. An ordinary tensor that was
computed with, a parameter say, gets a gradient in chunks as well; `compute` makes it an ordinary one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any

from tensorlike.autograd.grad_mode import grad_enabled
from tensorlike.autograd.node import Node, edge_of, next_sequence_number
from tensorlike.autograd.tensor_base import wrap_as
from tensorlike.dispatch.operation import Form
from tensorlike.dispatch.pytree import instances
from tensorlike.tensor.declarations.declaration import Declaration
from tensorlike.tensor.declarations.recording import DIFFERENTIABLE, save
from tensorlike.tensor.tensor import Tensor

from .chunked import ChunkedTensor, chunked, rule, sample_of
from .mapping import constant

Given = dict[str, Any]


def arguments(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Given:
    """Return the arguments of a call by the names that the operation's declaration has for them, defaults filled in.

    What is passed as `*sizes` is a tuple.
    """
    given: Given = {}
    names = [p.name for p in form.parameters]
    for index, p in enumerate(form.parameters):
        if p.kind == "variadic":
            rest = args[index:]
            if len(rest) == 1 and isinstance(rest[0], (tuple, list)):
                rest = tuple(rest[0])
            if not rest and p.name in kwargs:
                rest = kwargs[p.name]
            given[p.name] = rest
        elif index < len(args) and not any(q.kind == "variadic" for q in form.parameters[:index]):
            given[p.name] = args[index]
        elif p.name in kwargs:
            given[p.name] = kwargs[p.name]
        else:
            given[p.name] = p.default
    for extra in kwargs:
        if extra not in names:
            raise TypeError(f"{form.name}() got an unexpected keyword argument {extra!r}")
    declared = form.operation.parameters
    if names and declared and names[0] != declared[0].name:
        given = {declared[0].name: given.pop(names[0]), **given}
    given.pop("out", None)
    return given


def computed(*functions: Any) -> Callable[[Callable[..., Any]], Any]:
    """Give the operations of these functions a rule `f(form, given)`, whose results are recorded by their formulas.

    It is called with the arguments by name and returns a chunked tensor without history, several of them, or
    NotImplemented.
    """

    def register(compute: Callable[..., Any]) -> Any:
        @wraps(compute)
        def answer(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            given = arguments(form, args, kwargs)
            result = compute(form, given)
            return result if result is NotImplemented else record(form.operation, given, result)

        rule(*functions)(answer)
        return compute

    return register


def needs_grad(tensor: Tensor) -> bool:
    """Return whether gradients flow to a tensor, without asking its type."""
    return bool(tensor._tl_tracked) and edge_of(tensor) is not None


def kept(tensor: Tensor, array: Any = None) -> Any:
    """Return a tensor with the elements and the place in the graph that `tensor` has now, for a derivative to use.

    The tensor may be written to later. Of an ordinary one `array` is the dask array of the copy that the tasks use.
    """
    if isinstance(tensor, ChunkedTensor):
        result = wrap_as(ChunkedTensor, tensor._tl_data)
    else:
        result = chunked(array, sample_of(tensor))
    if needs_grad(tensor):
        result._tl_edge, result._tl_tracked = edge_of(tensor), True
    return result


def record(operation: Any, given: Given, result: Any) -> Any:
    """Return `result` with its place in the graph, by the formulas of a declaration."""
    tracked = any(t._tl_tracked for t in instances(tuple(given.values()), Tensor))
    if not tracked or not grad_enabled() or not isinstance(operation, Declaration) or operation.vjp is None:
        return _named(operation, result)
    several = isinstance(result, (tuple, list))
    results = list(result) if several else [result]
    if not any(r._tl_data.dtype.kind in DIFFERENTIABLE for r in results):
        return _named(operation, result)
    node = operation.making()(*[given[p.name] for p in operation.recorded().parameters])
    if node is not None:
        node._tl_special = True  # The native core has no programs for what it saves.
        if several:
            node._tl_shape = tuple(r._tl_data.shape for r in results)
            node._tl_dtype = tuple(r._tl_data.dtype for r in results)
        else:
            node._tl_shape, node._tl_dtype = result._tl_data.shape, result._tl_data.dtype
        for number, one in enumerate(results):
            if one._tl_data.dtype.kind in DIFFERENTIABLE:
                one._tl_edge, one._tl_tracked = (node, number), True
        names = operation.recorded().names
        if "result" in names:
            node._saved_result = save(result)
        if "results" in names:
            node._saved_results = [save(r) for r in results]
        for name, number in operation.recorded().outputs.items():
            if name in names:
                setattr(node, f"_saved_{name}", save(results[number]))
    return _named(operation, result)


def _named(operation: Any, result: Any) -> Any:
    several = isinstance(operation, Declaration) and operation.outputs and type(result) in (tuple, list)
    return operation._pack(list(result)) if several else result


# -------------------------------------------------------------------------------------------------------------- steps


class ChunkedBackward(Node):
    """The node of a step whose derivative is a function of tensors, which may be recorded."""

    __slots__ = ("backward",)

    backward: Any

    def _tl_apply(self, grad: Tensor) -> Any:
        if self.backward is None:
            raise RuntimeError(
                "Trying to backward through the graph a second time (or directly access saved tensors after they have "
                "already been freed). Specify retain_graph=True if you need to backward through the graph a second "
                "time."
            )
        if not isinstance(grad, ChunkedTensor):  # A hook has replaced it.
            grad = chunked(constant(grad), sample_of(grad))
        found = self.backward(grad)
        return found if isinstance(found, tuple) else (found,)

    def _tl_release(self) -> None:
        self.backward = None


@cache
def _node_class(name: str) -> type[ChunkedBackward]:
    return type(name, (ChunkedBackward,), {"__slots__": (), "__module__": "tensorlike.autograd"})


def step(name: str, result: Tensor, inputs: tuple[Any, ...], backward: Callable[[Any], Any]) -> Any:
    """Return `result` with its place in the graph: `backward(grad)` returns the gradient of each of `inputs`."""
    if not grad_enabled() or result._tl_data.dtype.kind not in DIFFERENTIABLE:
        return result
    edges = tuple([edge_of(t) if isinstance(t, Tensor) and t._tl_tracked else None for t in inputs])
    if not any(edges):
        return result
    node = _node_class(name)()
    node._tl_edges, node._tl_sequence_number = edges, next_sequence_number()
    node._tl_shape, node._tl_dtype = result._tl_data.shape, result._tl_data.dtype
    node.backward = backward
    result._tl_edge, result._tl_tracked = (node, 0), True
    return result
