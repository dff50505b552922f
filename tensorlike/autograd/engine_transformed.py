"""Running the graph backwards with gradients that are no plain tensors: batches of them, say.

The same loop as in engine.py, on what the formulas compute with public functions alone: gradients are asked for their
shape, dtype and sum through the dispatch layer. Leaves are never touched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import Any

from tensorlike.dispatch.state import CLEAR, STATE

from .engine import _reaching, reached_from
from .node import Edge, Node

__all__ = ["run_transformed"]


def run_transformed(
    roots: Sequence[tuple[Edge, Any]],
    captured: Sequence[Edge],
    *,
    keep_graph: bool,
    apply: Callable[[Node, Any], Any],
) -> list[Any]:
    """Send gradients from `roots` to the edges `captured` and return what arrived there.

    `apply` runs one node. The formulas are recorded: whoever does not want the history detaches the results.
    """
    state = STATE.get()
    try:
        STATE.set(state.asking_as(CLEAR).recording_as(True))
        return _run(roots, captured, keep_graph, apply)
    finally:
        STATE.set(state)


def _run(
    roots: Sequence[tuple[Edge, Any]], captured: Sequence[Edge], keep_graph: bool, apply: Callable[[Node, Any], Any]
) -> list[Any]:
    wanted: dict[Node, list[tuple[int, int]]] = {}
    for index, (node, number) in enumerate(captured):
        wanted.setdefault(node, []).append((number, index))
    needed = _reaching(reached_from([node for (node, _), _ in roots]), wanted)
    results: list[Any] = [None] * len(captured)
    buffers: dict[Node, dict[int, Any]] = {}
    heap: list[tuple[int, Node]] = []

    def deposit(node: Node, number: int, grad: Any) -> None:
        slots = buffers.get(node)
        if slots is None:
            slots = buffers[node] = {}
            heappush(heap, (-node.sequence_number, node))
        if grad is not None:
            grad = _fit(grad, node, number)
            before = slots.get(number)
            slots[number] = grad if before is None else before + grad

    for (node, number), grad in roots:
        if node in needed or node in wanted:
            deposit(node, number, grad)
    while heap:
        node = heappop(heap)[1]
        slots = buffers.pop(node)
        if node.tensor_hooks is not None:
            _call_tensor_hooks(node, slots)
        for number, index in wanted.get(node, ()):
            results[index] = slots.get(number)
        if node not in needed:
            continue
        grads: Any
        if node.pre_hooks:
            _call_pre_hooks(node, slots)
        if node.outputs == 1:
            grad = slots.get(0)
            grads = None if grad is None else apply(node, grad)
        else:
            given = [slots.get(i) for i in range(len(node.shape))]
            some = next((g for g in given if g is not None), None)
            if some is not None and node.materializes:
                given = [
                    some._tl_zeros(shape, dtype) if g is None else g
                    for g, shape, dtype in zip(given, node.shape, node.dtype, strict=True)
                ]
            grads = None if some is None else apply(node, given)
        if node.post_hooks and grads is not None:
            grads = _call_post_hooks(node, tuple(grads), slots)
        if not keep_graph:
            node.release()
        for position, edge in enumerate(node.edges):
            if edge is not None and (edge[0] in needed or edge[0] in wanted):
                deposit(edge[0], edge[1], None if grads is None else grads[position])
    return results


def _call_tensor_hooks(node: Node, slots: dict[int, Any]) -> None:
    for number, hooks in tuple(node.tensor_hooks.items()):
        for hook in tuple(hooks.values()):
            result = hook(slots.get(number))
            if result is not None:
                slots[number] = result


def _given(node: Node, slots: dict[int, Any]) -> tuple[Any, ...]:
    return tuple(slots.get(i) for i in range(1 if node.outputs == 1 else len(node.shape)))


def _call_pre_hooks(node: Node, slots: dict[int, Any]) -> None:
    for hook in tuple(node.pre_hooks.values()):
        result = hook(_given(node, slots))
        if result is not None:
            slots.update(enumerate(result))


def _call_post_hooks(node: Node, grads: tuple[Any, ...], slots: dict[int, Any]) -> tuple[Any, ...]:
    for hook in tuple(node.post_hooks.values()):
        result = hook(grads, _given(node, slots))
        if result is not None:
            grads = tuple(result)
    return grads


def _fit(grad: Any, node: Node, number: int) -> Any:
    shape, dtype = (node.shape, node.dtype) if node.outputs == 1 else (node.shape[number], node.dtype[number])
    # What stands for the array of a transform's tensor says the same as three calls of public functions, 10 us sooner.
    data = grad._tl_data
    if tuple(data.shape) != tuple(shape):
        grad = grad.sum_to_size(tuple(shape))
    if data.dtype.kind == "c" and dtype.kind != "c":
        grad = grad.real
        data = grad._tl_data
    return grad if data.dtype == dtype else grad._tl_cast(dtype)
