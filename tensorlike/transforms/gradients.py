"""`autograd.grad` inside transforms.

# Note [Gradients through a transform]
A batch is differentiated through the tensor it holds: examples do not depend on each other, so the gradient of the
whole batch is the batch of the gradients. For a dual output y + y' e of dual inputs x + x' e, and a dual cotangent
u + u' e, the value of the gradient is J^T u, and its tangent is the derivative of that along x':
grad(y', x, u) + grad(y, x, u'), by the symmetry of second derivatives.

Cotangents may belong to levels further in than the outputs (`jacrev` maps over a basis of them). Those levels are kept
on the outside of what each step here works on, and the graph is then run with batches for gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorlike.autograd import backward_and_grad, engine
from tensorlike.autograd.node import edge_of
from tensorlike.autograd.tensor_base import PROVIDED
from tensorlike.dispatch.core import plan_for
from tensorlike.dispatch.state import STATE
from tensorlike.tensor import Tensor
from tensorlike.tensor.propagation import finalized, settled
from tensorlike.tensor.tensor import converted

from .batched import BatchedTensor, apply_node, as_batch, batch_of, batched, unbatched
from .dual import DualTensor, dual
from .levels import Level, TransformTensor, keeps_type, without_history
from .mapping import vmap

__all__ = ["answer_grad"]

_PARAMETERS = (
    "outputs", "inputs", "grad_outputs", "retain_graph", "create_graph", "only_inputs", "allow_unused",
    "is_grads_batched", "materialize_grads",
)  # fmt: skip


def answer_grad(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Run `autograd.grad` when a transform's tensor is among its arguments."""
    given = {**dict(zip(_PARAMETERS, args, strict=False)), **kwargs}
    outputs, inputs = _as_tuple(given["outputs"]), _as_tuple(given["inputs"])
    grads = _as_tuple(given.get("grad_outputs")) or (None,) * len(outputs)
    create_graph = bool(given.get("create_graph", False))
    if given.get("is_grads_batched"):
        shown = {k: given[k] for k in ("allow_unused", "materialize_grads") if k in given}

        def one(*cotangents: Any) -> tuple[Any, ...]:
            return backward_and_grad.grad(  # type: ignore[no-any-return]
                outputs, inputs, cotangents, retain_graph=True, create_graph=create_graph, **shown
            )

        return tuple(vmap(one)(*grads))
    if len(grads) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(grads)} gradients")
    starts = [_start(o, g) for o, g in zip(outputs, grads, strict=True)]
    retain = given.get("retain_graph")
    found = _gradients(outputs, inputs, starts, create_graph, create_graph if retain is None else retain)
    results = []
    materialize = bool(given.get("materialize_grads", False))
    unused = given.get("allow_unused")
    for index, (tensor, gradient) in enumerate(zip(inputs, found, strict=True)):
        if gradient is None and not (materialize if unused is None else unused):
            raise RuntimeError(
                f"One of the differentiated Tensors, the one at index {index}, appears to not have been used in the "
                "graph. Set allow_unused=True if this is the desired behavior."
            )
        results.append(tensor.new_zeros(tensor.shape) if gradient is None and materialize else gradient)
    return tuple(results)


def batched_grad(
    roots: Sequence[Any], edges: Sequence[Any], gradients: Sequence[Any], keep_graph: bool, create_graph: bool
) -> list[Any]:
    """Run `autograd.grad` with `is_grads_batched` on plain tensors: one backward for the whole batch."""
    arrived: list[bool] = []

    def one(*cotangents: Any) -> tuple[Any, ...]:
        starts = list(zip(roots, cotangents, strict=True))
        found = _run(starts, edges, keep_graph)
        arrived.extend(g is not None for g in found)
        return tuple(g for g in found if g is not None)

    results = iter(vmap(one, randomness="different")(*gradients))
    values = [next(results) if there else None for there in arrived]
    return values if create_graph else [None if g is None else without_history(g) for g in values]


PROVIDED.batched_grad = batched_grad


def _run(roots: Sequence[Any], edges: Sequence[Any], keep_graph: bool) -> list[Any]:
    """Run the graph with gradients of a transform: see Note [Gradients of a transform] in autograd/engine.py."""
    return engine.run(
        roots, keep_graph=keep_graph, create_graph=True, captured=edges, accumulate=False, apply=apply_node
    )


def _as_tuple(value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _start(output: Any, grad: Any) -> Any:
    if grad is None:
        if output.numel() != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        return output.detach().new_ones(output.shape)
    if tuple(grad.shape) != tuple(output.shape):
        raise RuntimeError(
            f"Mismatch in shape: grad_output has a shape of {grad.shape} and output has a shape of {output.shape}."
        )
    return grad


def _gradients(
    outputs: Sequence[Any], inputs: Sequence[Any], grads: Sequence[Any], create_graph: bool, retain: bool
) -> list[Any]:
    running = [v._level for v in (*outputs, *inputs) if isinstance(v, TransformTensor)]
    level = max(running, key=lambda v: v.depth, default=None)
    if level is None:
        return _plain_gradients(outputs, inputs, grads, create_graph, retain)
    if level.kind is BatchedTensor:
        return _through_batch(level, outputs, inputs, grads, create_graph, retain)
    return _through_dual(level, outputs, inputs, grads, create_graph, retain)


def _plain_gradients(
    outputs: Sequence[Any], inputs: Sequence[Any], grads: Sequence[Any], create_graph: bool, retain: bool
) -> list[Any]:
    pairs = [(o, g) for o, g in zip(outputs, grads, strict=True) if o._tl_tracked and edge_of(o) is not None]
    if not pairs:
        return [None] * len(inputs)
    shares = any(level.shares for level in STATE.get().levels)
    if not shares and not any(isinstance(g, TransformTensor) for _, g in pairs):
        return list(
            backward_and_grad.grad(
                [o for o, _ in pairs], list(inputs), [g for _, g in pairs], retain_graph=retain,
                create_graph=create_graph, allow_unused=True,
            )
        )  # fmt: skip
    roots = [(edge_of(o), g) for o, g in pairs]
    edges = [backward_and_grad._input_edge(t, i) for i, t in enumerate(inputs)]
    found = _run(roots, edges, retain)
    found = found if create_graph else [None if g is None else without_history(g) for g in found]
    return _typed(found, outputs, inputs)


def _typed(gradients: list[Any], outputs: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
    """Give gradients the subclass and the declared attributes that `autograd.grad` of the plain tensors gives them."""
    kinds = plan_for(tuple(map(type, (*outputs, *inputs)))).types
    cls = next((k for k in kinds if all(issubclass(k, other) for other in kinds)), None)
    if cls is None or not keeps_type(cls):
        return gradients
    given = tuple(outputs), tuple(inputs)
    attributes = settled(cls, backward_and_grad.grad, given, {}) if _propagates(cls) else None

    def typed(value: Tensor) -> Any:
        if isinstance(value, TransformTensor):
            return value.remade([typed(v) for v in value.held()])
        result = converted(value, cls, (), {}, fresh=False)
        return result if attributes is None else finalized(cls, backward_and_grad.grad, result, attributes, {})

    return [None if g is None else typed(g) for g in gradients]


def _propagates(cls: Any) -> bool:
    return bool(cls.__tensor_attributes__) or cls.__tensor_finalize__ is not None


def _through_batch(
    level: Level, outputs: Sequence[Any], inputs: Sequence[Any], grads: Sequence[Any], create_graph: bool, retain: bool
) -> list[Any]:
    for value in inputs:
        if not (level.shares or _is(value, BatchedTensor, level)):
            raise RuntimeError(
                "autograd.grad inside vmap: an input that is not mapped over has one gradient for all examples "
                "together. Use func.grad, or map over the input."
            )
    found = _gradients(
        [unbatched(o, level) for o in outputs],
        [unbatched(x, level) for x in inputs],
        [_batch_first(g, level) if _is(o, BatchedTensor, level) else g for o, g in zip(outputs, grads, strict=True)],
        create_graph,
        retain,
    )
    # Those of inputs without a batch have got one on their way, if they have any.
    return [
        as_batch(g, level) if g is not None and _is(x, BatchedTensor, level) else g
        for g, x in zip(found, inputs, strict=True)
    ]


def _is(value: object, kind: type[TransformTensor], level: Level) -> bool:
    return type(value) is kind and value._level is level


def _batch_first(value: Tensor, level: Level) -> Any:
    """Return `value` with its batch at `level` as its first dimension, under any inner levels."""
    if type(value) is DualTensor and value._level.depth > level.depth:
        return dual(_batch_first(value._primal, level), _batch_first(value._tangent, level), value._level)
    if isinstance(value, BatchedTensor) and value._level.depth > level.depth:
        return batched(_batch_first(value._value, level).movedim(0, 1), value._level)
    return batch_of(value, level)


def _through_dual(
    level: Level, outputs: Sequence[Any], inputs: Sequence[Any], grads: Sequence[Any], create_graph: bool, retain: bool
) -> list[Any]:
    values = [x._primal if _is(x, DualTensor, level) else x for x in inputs]
    outs = [o._primal if _is(o, DualTensor, level) else o for o in outputs]
    starts = [_parts(g, level) for g in grads]
    found = _gradients(outs, values, [u for u, _ in starts], create_graph, True)
    moving = [(o._tangent, u) for o, (u, _) in zip(outputs, starts, strict=True) if _is(o, DualTensor, level)]
    moved = [(o, du) for o, (_, du) in zip(outs, starts, strict=True) if du is not None]
    tangents: list[Any] = [None] * len(values)
    for pairs in (moving, moved):
        pairs = [(o, u) for o, u in pairs if o.requires_grad]
        if pairs:
            part = _gradients([o for o, _ in pairs], values, [u for _, u in pairs], create_graph, True)
            tangents = [p if t is None else t if p is None else t + p for t, p in zip(tangents, part, strict=True)]
    results: list[Any] = []
    for value, tangent in zip(found, tangents, strict=True):
        if value is None and tangent is None:
            results.append(None)
        elif tangent is None:
            results.append(value)
        else:
            results.append(_moving(tangent.new_zeros(tangent.shape) if value is None else value, tangent, level))
    return results


def _parts(value: Any, level: Level) -> tuple[Any, Any]:
    """Return value and tangent of a cotangent at `level`, under any inner levels."""
    if _is(value, DualTensor, level):
        return value._primal, value._tangent
    if isinstance(value, TransformTensor) and value._level.depth > level.depth:
        if type(value) is BatchedTensor:
            u, du = _parts(value._value, level)
            return batched(u, value._level), None if du is None else batched(du, value._level)
        u, du = _parts(value._primal, level)
        v, dv = _parts(value._tangent, level)
        if du is None and dv is None:
            return value, None
        du = u.new_zeros(u.shape) if du is None else du
        dv = v.new_zeros(v.shape) if dv is None else dv
        return dual(u, v, value._level), dual(du, dv, value._level)
    return value, None


def _moving(value: Any, tangent: Any, level: Level) -> Any:
    """Undo `_parts`."""
    above = [v._level for v in (value, tangent) if isinstance(v, TransformTensor) and v._level.depth > level.depth]
    inner = max(above, key=lambda v: v.depth, default=None)
    if inner is None:
        return dual(value, tangent, level)
    if inner.kind is BatchedTensor:
        return batched(_moving(batch_of(value, inner), batch_of(tangent, inner), level), inner)
    first, first_moves = (value._primal, value._tangent) if _is(value, DualTensor, inner) else (value, None)
    second, second_moves = (tangent._primal, tangent._tangent) if _is(tangent, DualTensor, inner) else (tangent, None)
    if first_moves is None:
        first_moves = first.new_zeros(first.shape)
    if second_moves is None:
        second_moves = second.new_zeros(second.shape)
    return dual(_moving(first, second, level), _moving(first_moves, second_moves, level), inner)
