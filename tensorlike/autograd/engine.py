"""Running the graph backwards.

The engine is a loop over a heap: the node created last runs first, which is a topological order, since a node is
created after those its edges lead to. Accumulators have negative numbers and so run last, each once, with everything
that arrived for its leaf. Nothing recurses, so a chain may be of any length.
"""

from __future__ import annotations

import contextvars
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any

from tensorlike.dispatch.core import CLEAR, STATE, State

from .anomaly import ANOMALY, check_gradients, warn_of_failure
from .base import add_arrays, copy_array, wrap
from .grad_mode import grad_enabled, set_recording
from .node import Edge, Node

__all__ = ["caller_state", "run"]

#: The dispatch state of whoever called backward: custom Functions run under it, formulas under none.
caller_state: contextvars.ContextVar[State] = contextvars.ContextVar("tensorlike_backward_caller", default=CLEAR)

def run(
    roots: Sequence[tuple[Edge, Any]],
    *,
    keep_graph: bool,
    create_graph: bool,
    captured: Sequence[Edge] | None = None,
    accumulate: bool = True,
) -> list[Any]:
    """Send gradients from `roots` to the leaves; return the gradients that arrived at the edges `captured`.

    With `captured` only the nodes on a path to one of them run, and with `accumulate=False` leaves are not touched.
    """
    recording = grad_enabled()
    state = STATE.get()
    if state is not CLEAR:
        STATE.set(CLEAR)
        outer = caller_state.get()
        caller_state.set(state)
    set_recording(create_graph)
    try:
        return _run(roots, keep_graph, create_graph, captured, accumulate)
    finally:
        set_recording(recording)
        if state is not CLEAR:
            caller_state.set(outer)
            STATE.set(state)


def _run(
    roots: Sequence[tuple[Edge, Any]],
    keep_graph: bool,
    create_graph: bool,
    captured: Sequence[Edge] | None,
    accumulate: bool,
) -> list[Any]:
    buffers: dict[Node, Any] = {}
    heap: list[tuple[int, Node]] = []
    # Buffers that the engine made itself by adding, which nobody else can see: further gradients are added in place.
    owned: set[Any] = set()
    results: list[Any] = []
    wanted: dict[Node, list[tuple[int, int]]] = {}
    needed: set[Node] | None = None
    if captured is not None:
        results = [None] * len(captured)
        for index, (node, number) in enumerate(captured):
            wanted.setdefault(node, []).append((number, index))
        needed = _reaching([node for (node, _), _ in roots], wanted)

    for (node, number), grad in roots:
        _deposit(buffers, heap, owned, node, number, grad, create_graph)

    anomaly = ANOMALY.get()
    while heap:
        node = heappop(heap)[1]
        grad = buffers.pop(node)
        if node.special or needed is not None or grad is None or anomaly is not None:
            grads = _visit(node, grad, wanted, needed, results, accumulate, anomaly)
            if grads is None:
                continue
        else:
            grads = node.apply(grad)
        if not keep_graph:
            node.release()
        for edge, gradient in zip(node.edges, grads):
            if edge is None:
                continue
            following, number = edge
            if needed is not None and following not in needed and following not in wanted:
                continue
            if gradient is None:
                if following not in buffers:
                    buffers[following] = None if following.outputs == 1 else [None] * len(following.shape)
                    heappush(heap, (-following.sequence_number, following))
                continue
            if following.outputs != 1:
                _deposit(buffers, heap, owned, following, number, gradient, create_graph)
                continue
            # The same as _deposit, written out: a call costs 80 ns, a tenth of a simple node.
            data = gradient._data
            if data.shape != following.shape or data.dtype is not following.dtype:
                gradient = fit(gradient, following.shape, following.dtype, node)
            before = buffers.get(following)
            if before is None:
                if following not in buffers:
                    heappush(heap, (-following.sequence_number, following))
                buffers[following] = gradient
            else:
                buffers[following] = _sum(before, gradient, following, owned, create_graph)
        # Whoever takes a gradient over must be able to see that nobody else holds it: Note [Taking a gradient over].
        gradient = grads = data = before = None
    return results


def _visit(
    node: Node,
    grad: Any,
    wanted: dict[Node, list[tuple[int, int]]],
    needed: set[Node] | None,
    results: list[Any],
    accumulate: bool,
    anomaly: bool | None,
) -> Any:
    """Run a node with everything that only some have: hooks, several outputs, gradients that are wanted or missing.

    Returns None when the gradient goes no further.
    """
    single = node.outputs == 1
    if node.tensor_hooks is not None or node.retained is not None:
        grad = _tensor_hooks(node, grad)
    if node in wanted:
        for number, index in wanted[node]:
            results[index] = grad if single else grad[number]
    if needed is not None and node not in needed and not (accumulate and node in wanted):
        return None
    if node.materializes and (grad is None or (not single and not _materialize(node, grad))):
        # Nothing arrived here, but a custom Function further on may have been promised zeros.
        return [None] * len(node.edges)
    if node.pre_hooks:
        grad = _pre_hooks(node, grad)
    if anomaly is None:
        grads = node.apply(grad)
    else:
        try:
            grads = node.apply(grad)
        except Exception:
            warn_of_failure(node)
            raise
        if anomaly:
            check_gradients(node, grads)
    if node.post_hooks:
        grads = _post_hooks(node, grads, grad)
    return grads


def _deposit(
    buffers: dict[Node, Any],
    heap: list[tuple[int, Node]],
    owned: set[Any],
    node: Node,
    number: int,
    grad: Any,
    create_graph: bool,
) -> None:
    if node.outputs == 1:
        grad = fit(grad, node.shape, node.dtype, node)
        before = buffers.get(node)
        if before is None:
            if node not in buffers:
                heappush(heap, (-node.sequence_number, node))
            buffers[node] = grad
        else:
            buffers[node] = _sum(before, grad, node, owned, create_graph)
        return
    grad = fit(grad, node.shape[number], node.dtype[number], node)
    slots = buffers.get(node)
    if slots is None:
        slots = buffers[node] = [None] * len(node.shape)
        heappush(heap, (-node.sequence_number, node))
    before = slots[number]
    slots[number] = grad if before is None else _sum(before, grad, (node, number), owned, create_graph)


def _sum(before: Any, grad: Any, key: Any, owned: set[Any], create_graph: bool) -> Any:
    if create_graph:
        return before + grad
    if key in owned:
        add_arrays[0](before._data, grad._data, before._data)
        return before
    total = add_arrays[0](before._data, grad._data)
    if type(total) is not type(before._data):
        return before + grad  # NumPy adds zero-dimensional arrays to a scalar.
    owned.add(key)
    return wrap(total)


def fit(grad: Any, shape: Any, dtype: Any, node: Node) -> Any:
    """Return `grad` in the shape and dtype of what it is the gradient of: this is where broadcasting is undone."""
    data = grad._data
    if data.shape != shape:
        lead = data.ndim - len(shape)
        if lead < 0 or any(n not in (1, m) for n, m in zip(shape, data.shape[lead:], strict=True)):
            raise RuntimeError(
                f"Function {node.name()} returned an invalid gradient - got {list(data.shape)} but expected shape "
                f"compatible with {list(shape)}"
            )
        grad = grad.sum_to_size(shape)
    if grad._data.dtype is not dtype and dtype is not None:
        if grad._data.dtype.kind == "c" and dtype.kind != "c":
            grad = grad.real
        if grad._data.dtype != dtype:
            grad = grad._cast(dtype)
    return grad


def _reaching(roots: list[Node], wanted: dict[Node, Any]) -> set[Node]:
    """Return the nodes from which an edge leads on to a wanted node."""
    seen: set[Node] = set()
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        stack.extend(edge[0] for edge in node.edges if edge is not None)
    reaching: set[Node] = set()
    for node in sorted(seen, key=lambda n: n.sequence_number):
        if any(e is not None and (e[0] in wanted or e[0] in reaching) for e in node.edges):
            reaching.add(node)
    return reaching


def _materialize(node: Node, grads: list[Any]) -> bool:
    """Fill in zeros for the outputs that nothing arrived for; return False when nothing arrived at all."""
    given = next((g for g in grads if g is not None), None)
    if given is None:
        return False
    for number, grad in enumerate(grads):
        if grad is None:
            grads[number] = given._zeros(node.shape[number], node.dtype[number])
    return True


def _tensor_hooks(node: Node, grad: Any) -> Any:
    single = node.outputs == 1
    if grad is None:
        return None
    values = [grad] if single else grad
    hooks_of = node.tensor_hooks or {}
    for number, hooks in tuple(hooks_of.items()):
        if values[number] is None:
            continue
        for hook in tuple(hooks.values()):
            result = hook(values[number])
            if result is not None:
                shape = node.shape if single else node.shape[number]
                if not hasattr(result, "_data"):
                    raise TypeError(f"hook {hook!r} returned {type(result).__name__}; expected a Tensor or None")
                if result._data.shape != shape:
                    raise RuntimeError(
                        f"hook {getattr(hook, '__name__', hook)!r} has changed the size of value: from {list(shape)} "
                        f"to {list(result._data.shape)}"
                    )
                values[number] = result
    for number, reference in (node.retained or {}).items():
        tensor = reference()
        if tensor is not None and values[number] is not None:
            grad_now = values[number]
            if tensor._grad_value is not None:
                tensor._grad_value = tensor._grad_value + grad_now
            else:
                tensor._grad_value = grad_now if grad_enabled() else wrap(copy_array[0](grad_now._data))
    return values[0] if single else values


def _pre_hooks(node: Node, grad: Any) -> Any:
    values = (grad,) if node.outputs == 1 else tuple(grad)
    for hook in tuple(node.pre_hooks.values()):
        result = hook(values)
        if result is not None:
            values = result if isinstance(result, tuple) else (result,)
    return values[0] if node.outputs == 1 else list(values)


def _post_hooks(node: Node, grads: Any, grad: Any) -> Any:
    outputs = (grad,) if node.outputs == 1 else tuple(grad)
    grads = tuple(grads)
    for hook in tuple(node.post_hooks.values()):
        result = hook(grads, outputs)
        if result is not None:
            if not isinstance(result, tuple):
                result = (result,)
            if len(result) != len(grads):
                raise RuntimeError(
                    f"hook {getattr(hook, '__name__', hook)!r} of {node.name()} returned {len(result)} gradients; "
                    f"expected {len(grads)}, one for each input"
                )
            grads = result
    return grads
