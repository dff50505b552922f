"""The engine: running the graph backwards.

The engine is a loop over a heap: the node created last runs first, which is a topological order, since a node is
created after those its edges lead to. Accumulators have negative numbers and so run last, each once, with the sum of
the gradients for its leaf. There is no recursion, so a chain may be of any length.

# Note [Gradients of a transform]
Gradients may be tensors of a transform, batches for one: `autograd.grad` with `is_grads_batched` runs the graph once
for all of them. They have no array, so a run with them adds as one that is recorded does, with public functions, takes
the formulas that are written with public functions, and has the transform run each node (`Run.apply`). It touches no
leaf, and retains no gradient: a tensor of a transform is invalid when the transform has ended.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Container, Mapping, Sequence
from heapq import heappop, heappush
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tensorlike._native import core
from tensorlike.dispatch.state import STATE

from . import node as node_module
from .anomaly import check_gradients, explain_failure
from .engine_hooks import call_post_hooks, call_pre_hooks, call_tensor_hooks
from .node import RELEASED, AccumulateGrad, Edge, Node, Packed, edge_of, like_edge, name_of, sum_of_gradients
from .tensor_base import PROVIDED, wrap

if TYPE_CHECKING:
    from tensorlike.tensor import Tensor

__all__ = ["Run", "copied", "current_run", "reached_from", "run", "unbroadcast_and_cast"]

class Run:
    """One run of the graph: its request and state, for code that is called inside it."""

    roots: Sequence[tuple[Edge, Any]]
    #: The nodes that run when only some gradients are requested; None for all.
    needed: set[Node] | None = None
    #: Nodes of which only some gradients are needed: see Note [Only what is needed].
    partial: set[Node] | None = None
    wanted: Mapping[Node, list[tuple[int, int]]] = MappingProxyType({})
    results: list[Any]
    accumulate: bool
    anomaly: bool | None
    #: Runs one node, when the gradients are tensors of a transform: see Note [Gradients of a transform].
    apply: Callable[[Node, Any], Any] | None
    #: A dict of data that hooks keep during this run. None until first used.
    notes: dict[Any, Any] | None = None

    def note(self) -> dict[Any, Any]:
        """Return a dict that lives as long as this run."""
        if self.notes is None:
            self.notes = {}
        return self.notes

    def visits(self, node: Node) -> bool:
        """Return whether a gradient is on its way to `node`."""
        if self.needed is not None:
            return node in self.needed or node in self.wanted
        notes = self.note()
        if "reached" not in notes:
            notes["reached"] = reached_from([edge[0] for edge, _ in self.roots])
        return node in notes["reached"]


def current_run() -> Run | None:
    """Return the innermost run of this thread or task."""
    run: Run | None = STATE.get().run
    return run


def run(
    roots: Sequence[tuple[Edge, Any]],
    *,
    keep_graph: bool,
    create_graph: bool,
    captured: Sequence[Edge] | None = None,
    accumulate: bool = True,
    apply: Callable[[Node, Any], Any] | None = None,
) -> list[Any]:
    """Send gradients from `roots` to the leaves; return the gradients that arrived at the edges `captured`.

    With `captured` only the nodes on a path to one of them run, and with `accumulate=False` leaves are not touched.
    `apply` runs the nodes for gradients of a transform, which need `create_graph` and `accumulate=False`: the caller
    detaches the results unless it needs their history.
    """
    state = STATE.get()
    this = Run()
    this.roots, this.accumulate, this.anomaly, this.apply = roots, accumulate, state.anomaly, apply
    try:
        STATE.set(state.within_run(this, create_graph))
        return _run(this, roots, keep_graph, create_graph, captured)
    finally:
        STATE.set(state)


def _run(
    run: Run,
    roots: Sequence[tuple[Edge, Any]],
    keep_graph: bool,
    create_graph: bool,
    captured: Sequence[Edge] | None,
) -> list[Any]:
    results: list[Any] = []
    # The nodes that may run at all, None when all may; and those that need `_visit`.
    alive = None
    watched: Any = ()
    if captured is not None:
        alive, watched = _pruned(run, roots, captured, create_graph)
        results = run.results
    # Whether every node needs `_visit`.
    closely = run.anomaly is not None or run.apply is not None

    if core is not None:
        # The same as what follows.
        core.run_graph(run, roots, keep_graph, create_graph, alive, watched, closely)
        return results

    buffers: dict[Node, Any] = {}
    heap: list[tuple[int, Node]] = []
    # Buffers made by the engine's own additions, without other references: further gradients are added in place.
    owned: set[Any] = set()
    add = _add_recorded if create_graph else _add_arrays
    for (node, number), grad in roots:
        if alive is None or node in alive:
            _accumulate(buffers, heap, owned, node, number, grad, add)

    while heap:
        node = heappop(heap)[1]
        grad = buffers.pop(node)
        if node._tl_special or grad is None or closely or node in watched:
            grads = _visit(run, node, grad)
            if grads is None:
                continue
        else:
            grads = node._tl_apply(grad)
        if not keep_graph:
            node._tl_release()
        for edge, gradient in zip(node._tl_edges, grads):
            if edge is None:
                continue
            following, number = edge
            if alive is not None and following not in alive:
                continue
            if gradient is None:
                if following not in buffers:
                    buffers[following] = None if following._tl_outputs == 1 else [None] * len(following._tl_shape)
                    heappush(heap, (-following._tl_sequence_number, following))
                continue
            if following._tl_outputs != 1:
                _accumulate(buffers, heap, owned, following, number, gradient, add)
                continue
            # The same as _accumulate, written out: a call costs 80 ns, a tenth of a simple node.
            data = gradient._tl_data
            if data.shape != following._tl_shape or data.dtype is not following._tl_dtype:
                gradient = unbroadcast_and_cast(gradient, following._tl_shape, following._tl_dtype, node)
            before = buffers.get(following)
            if before is None:
                if following not in buffers:
                    heappush(heap, (-following._tl_sequence_number, following))
                buffers[following] = gradient
            else:
                buffers[following] = add(before, gradient, following, owned)
        # AccumulateGrad takes a gradient over only without other references to it: Note [Taking a gradient over].
        gradient = grads = data = before = None
    return results


def _pruned(
    run: Run, roots: Sequence[tuple[Edge, Any]], captured: Sequence[Edge], create_graph: bool
) -> tuple[set[Node] | None, Container[Node]]:
    """Set the requested gradients in `run`; return the nodes that may run, None for all, and those that need `_visit`.
    """
    wanted: dict[Node, list[tuple[int, int]]] = {}
    run.results = [None] * len(captured)
    for index, (node, number) in enumerate(captured):
        wanted.setdefault(node, []).append((number, index))
    run.wanted = wanted
    reached = reached_from([node for (node, _), _ in roots])
    if all(node._tl_edges or node in wanted for node in reached):
        # Every path ends at a wanted leaf, as when all parameters are requested: all nodes are needed.
        run.needed = reached
        return None, wanted
    run.partial = None if create_graph else set()
    run.needed = _reaching(reached, wanted, run.partial)
    return run.needed | wanted.keys(), wanted.keys() | run.partial if run.partial else wanted


def _visit(run: Run, node: Node, grad: Any) -> Any:
    """Run a node with the rarer features: hooks, several outputs, captured or missing gradients.

    Returns None when the gradient ends here.
    """
    single = node._tl_outputs == 1
    wanted, needed = run.wanted, run.needed
    if node._tl_tensor_hooks is not None or node._tl_retained is not None:
        grad = call_tensor_hooks(node, grad, retain=run.apply is None)
    if node in wanted:
        for number, index in wanted[node]:
            run.results[index] = grad if single or grad is None else grad[number]
    # Of the wanted nodes only leaves run, and only when they accumulate.
    leaf = run.accumulate and node in wanted and type(node) is AccumulateGrad
    if needed is not None and (node not in needed or not node._tl_edges) and not leaf:
        return None
    if node._tl_pre_hooks:
        grad = call_pre_hooks(node, grad)
    given = grad
    if node._tl_materializes and (grad is None or (not single and not any(g is not None for g in grad))):
        # No gradient arrived here, but a custom Function further on may materialize zeros.
        grads: Any = [None] * len(node._tl_edges)
        if type(node) is AccumulateGrad:
            node.apply_nothing()
    else:
        if node._tl_materializes and not single:
            grad = _materialized(node, grad)
        worker = _narrowed(node, run) if run.partial is not None and node in run.partial else node
        if run.anomaly is None:
            grads = worker._tl_apply(grad) if run.apply is None else run.apply(worker, grad)
        else:
            try:
                grads = worker._tl_apply(grad) if run.apply is None else run.apply(worker, grad)
            except Exception as error:
                explain_failure(error, node)
                raise
            if run.anomaly:
                check_gradients(node, grads)
    if node._tl_post_hooks:
        if len(grads) == len(node._tl_edges):
            pairs = zip(grads, node._tl_edges, strict=True)
            grads = [
                g if g is None or e is None else unbroadcast_and_cast(g, *like_edge(*e), node) for g, e in pairs
            ]
        grads = call_post_hooks(node, grads, given)
    return grads


# Note [Only what is needed]
# When gradients of a few tensors are asked for, a node need not compute those that lead elsewhere. Its formulas are
# left out where its edges are None, so a copy of the node is run that has fewer edges. The node itself stays as it is:
# another thread may be running it. Not while recording, when results must lead to the node itself.

_new = object.__new__
_slots: dict[type, tuple[str, ...] | None] = {}


def _slots_of(kind: type) -> tuple[str, ...] | None:
    """Return the names of all slots of a node of class `kind`, or None if it has a `__dict__`."""
    names: list[str] = []
    for base in kind.__mro__[:-1]:
        own = base.__dict__.get("__slots__")
        if own is None:
            return None
        names += [own] if isinstance(own, str) else own
    return tuple(n for n in names if not n.startswith("__"))


def copied(node: Node, edges: Any) -> Node | None:
    """Return a copy of a node with other edges, or None where it has a `__dict__`, as that of a custom Function."""
    kind = type(node)
    if kind not in _slots:
        _slots[kind] = _slots_of(kind)
    names = _slots[kind]
    if names is None:
        return None
    copy: Node = _new(kind)
    for name in names:
        if hasattr(node, name):
            setattr(copy, name, getattr(node, name))
    copy._tl_edges = edges
    return copy


def _narrowed(node: Node, run: Run) -> Node:
    needed, wanted = run.needed or (), run.wanted
    edges = tuple([e if e and (e[0] in needed or e[0] in wanted) else None for e in node._tl_edges])
    return copied(node, edges) or node


def _accumulate(
    buffers: dict[Node, Any],
    heap: list[tuple[int, Node]],
    owned: set[Any],
    node: Node,
    number: int,
    grad: Any,
    add: Callable[[Any, Any, Any, set[Any]], Any],
) -> None:
    """Accumulate a gradient for an output of `node`, and put the node on the heap."""
    if node._tl_outputs == 1:
        grad = unbroadcast_and_cast(grad, node._tl_shape, node._tl_dtype, node)
        before = buffers.get(node)
        if before is None:
            if node not in buffers:
                heappush(heap, (-node._tl_sequence_number, node))
            buffers[node] = grad
        else:
            buffers[node] = add(before, grad, node, owned)
        return
    grad = unbroadcast_and_cast(grad, node._tl_shape[number], node._tl_dtype[number], node)
    slots = buffers.get(node)
    if slots is None:
        slots = buffers[node] = [None] * len(node._tl_shape)
        heappush(heap, (-node._tl_sequence_number, node))
    before = slots[number]
    slots[number] = grad if before is None else add(before, grad, (node, number), owned)


def _add_recorded(before: Tensor, grad: Tensor, key: object, owned: set[Any]) -> Any:
    return sum_of_gradients(before, grad)


def _add_arrays(before: Tensor, grad: Tensor, key: object, owned: set[Any]) -> Any:
    if before._tl_transformed or grad._tl_transformed:  # A sparse one has no array.
        return sum_of_gradients(before, grad)
    if key in owned:
        PROVIDED.add_arrays(before._tl_data, grad._tl_data, before._tl_data)
        return before
    total = PROVIDED.add_arrays(before._tl_data, grad._tl_data)
    if type(total) is not type(before._tl_data):
        return before + grad  # NumPy adds zero-dimensional arrays to a scalar.
    owned.add(key)
    return wrap(total)


def unbroadcast_and_cast(grad: Tensor, shape: Sequence[int], dtype: Any, node: Node) -> Any:
    """Unbroadcast `grad` and cast it, to the shape and dtype of the value that it is the gradient of."""
    data = grad._tl_data
    if data.shape != shape:
        lead = data.ndim - len(shape)
        if lead < 0 or any(n not in (1, m) for n, m in zip(shape, data.shape[lead:], strict=True)):
            raise RuntimeError(
                f"Function {name_of(node)} returned an invalid gradient - got {list(data.shape)} but expected shape "
                f"compatible with {list(shape)}"
            )
        grad = grad.sum_to_size(shape)
    if grad._tl_data.dtype is not dtype and dtype is not None:
        if grad._tl_data.dtype.kind == "c" and dtype.kind != "c":
            grad = grad.real
        if grad._tl_data.dtype != dtype:
            grad = grad._tl_cast(dtype)
    return grad


def reached_from(roots: list[Node]) -> set[Node]:
    """Return the nodes reachable from `roots`."""
    seen: set[Node] = set()
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack.extend([edge[0] for edge in node._tl_edges if edge is not None])
    return seen


_sequence_number = attrgetter("_tl_sequence_number")


def _reaching(reached: set[Node], wanted: dict[Node, Any], partial: set[Node] | None = None) -> set[Node]:
    """Return the nodes of `reached` with an edge towards a wanted node; put those with other edges too in `partial`."""
    reaching: set[Node] = set()
    for node in sorted(reached, key=_sequence_number):
        found = missed = False
        for edge in node._tl_edges:
            if edge is not None:
                if edge[0] in wanted or edge[0] in reaching:
                    found = True
                else:
                    missed = True
        if found:
            reaching.add(node)
            if missed and partial is not None:
                partial.add(node)
    return reaching


def gradients_of(node: Node, given: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the gradients of a node's inputs for those of its outputs, outside of a run."""
    single = node._tl_outputs == 1
    wanted = 1 if single else len(node._tl_shape)
    if len(given) != wanted:
        raise TypeError(f"{name_of(node)}: expected {wanted} arguments, got {len(given)} instead")
    if node._tl_materializes and all(gradient is None for gradient in given):
        return (None,) * len(node._tl_edges)
    grads: Any = given[0] if single else list(given)
    if node._tl_materializes and not single:
        grads = _materialized(node, grads)
    return tuple(
        gradient if gradient is None or edge is None else unbroadcast_and_cast(gradient, *like_edge(*edge), node)
        for gradient, edge in zip(node._tl_apply(grads), node._tl_edges)
    )


def _materialized(node: Node, grads: list[Any]) -> list[Any]:
    """Return `grads` with zeros for the outputs without a gradient."""
    given = next(g for g in grads if g is not None)
    return [
        given._tl_zeros(shape, dtype) if grad is None else grad
        for grad, shape, dtype in zip(grads, node._tl_shape, node._tl_dtype, strict=True)
    ]


if core is not None:
    core.provide_graph(
        edge_of=edge_of,
        released=RELEASED,
        packed=Packed,
        accumulate=AccumulateGrad,
        node_globals=vars(node_module),
        visit=_visit,
        add_recorded=_add_recorded,
        add_arrays=_add_arrays,
        unbroadcast=unbroadcast_and_cast,
    )
    gc.callbacks.append(core.before_collection)  # Note [Nodes at rest] in _native/node.c
    core.register_node(AccumulateGrad, (), None, ())
