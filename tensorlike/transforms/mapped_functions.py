"""Custom Functions with `generate_vmap_rule`: mapping a Function of examples over a batch.

# Note [Functions on batches]
`Mapped` runs the user's `forward`, `backward` and `jvp` once each, inside a `vmap` of its own. Between them the batches
lie in its context as they are, without the level that showed them as examples, for that is over by then. A gradient of
an argument that all examples share is summed over the batch.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tensorlike.autograd.function import Function, once_differentiable
from tensorlike.autograd.function_node import FunctionCtx, backward_of, reducible
from tensorlike.tensor.tensor import Tensor

from .batched import BatchedTensor, batch_of, batched, is_batched, unbatched
from .levels import Level, leaves, push_level, tree_map

__all__ = ["apply_mapped", "can_map"]


class _Plan(NamedTuple):
    """The plan of a `Mapped` call: the function and batch to run, and the places of the outputs, filled by it."""

    function: type[Function]
    size: int
    randomness: str
    #: Which of the arguments are batches.
    marks: tuple[bool, ...]
    #: Filled by forward: which outputs are batches, and what kind of tuple they came in, None for a single one.
    found: list[Any]


class _Kept:
    """A batch between two runs of the user's code."""

    __slots__ = ("value",)

    def __init__(self, value: Tensor) -> None:
        self.value = value


def _kept(value: Any, level: Level) -> Any:
    return tree_map(lambda v: _Kept(v._value) if is_batched(v, level) else v, value)


def _shown(value: Any, level: Level) -> Any:
    return tree_map(lambda v: batched(v.value, level) if type(v) is _Kept else v, value)


class _Context(FunctionCtx):
    """The context that the user's code sees: of one example."""

    saved_tensors: tuple[Any, ...] = ()


def can_map(args: tuple[Any, ...], level: Level) -> bool:
    """Return whether the batches are arguments themselves, and not inside lists."""
    return not any(
        is_batched(v, level) for a in args if not isinstance(a, Tensor) for v in leaves(a)
    )


def apply_mapped(function: type[Function], args: tuple[Any, ...], level: Level) -> Any:
    """Return `function.apply` of each example; run below `level`."""
    plan = _Plan(function, level.size, level.randomness, tuple(is_batched(a, level) for a in args), [])
    outputs = Mapped.apply(plan, *(unbatched(a, level) for a in args))
    marks, kind = plan.found
    results = [batched(o, level) if m else _shown(o, level) for o, m in zip(outputs, marks, strict=True)]
    if kind is None:
        return results[0]
    return kind._make(results) if hasattr(kind, "_make") else tuple(results)


class Mapped(Function):
    """A custom Function on a batch: see Note [Functions on batches]."""

    generate_vmap_rule = True

    @staticmethod
    def forward(ctx: Any, plan: _Plan, *values: Any) -> Any:
        """Run the user's forward on the batch."""
        function, context = plan.function, _Context()
        context.needs_input_grad = ctx.needs_input_grad[1:]
        with push_level(BatchedTensor, plan.size, plan.randomness) as level:
            shown = tuple(batched(v, level) if m else v for v, m in zip(values, plan.marks, strict=True))
            if function.setup_context is not Function.setup_context:
                output = function.forward(*shown)
                function.setup_context(context, shown, output)
            else:
                output = function.forward(context, *shown)
            several = isinstance(output, tuple)
            outputs = output if several else (output,)
            marks = tuple(is_batched(o, level) for o in outputs)

            def raw(tensors: Any) -> tuple[Any, ...]:
                return tuple(unbatched(t, level) for t in tensors or ())

            saved, saved_for_forward = context._tl_to_save, context._tl_saved_for_forward
            ctx.save_for_backward(*raw(saved))
            ctx.saved_marks = tuple(is_batched(t, level) for t in saved or ())
            ctx.forward_marks = None
            if saved_for_forward is not None:
                ctx.save_for_forward(*raw(saved_for_forward))
                ctx.forward_marks = tuple(is_batched(t, level) for t in saved_for_forward)
            ctx.mark_dirty(*raw(context._tl_dirty))
            ctx.mark_non_differentiable(*raw(context._tl_non_differentiable))
            ctx.set_materialize_grads(context._tl_materialize)
            context._tl_to_save = context._tl_saved_for_forward = None
            context._tl_dirty = context._tl_non_differentiable = ()
            ctx.attributes = {name: _kept(value, level) for name, value in context.__dict__.items()}
            ctx.shapes = tuple(tuple(v.shape) if isinstance(v, Tensor) else None for v in shown)
            ctx.plan, ctx.marks = plan, marks
            plan.found[:] = marks, type(output) if several else None
            return tuple(unbatched(o, level) if m else _kept(o, level) for o, m in zip(outputs, marks, strict=True))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        """Run the user's backward on the batch."""
        if getattr(backward_of(ctx.plan.function), "once", False):
            return once_differentiable(_backward)(ctx, *grads)
        return _backward(ctx, *grads)

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> Any:
        """Run the user's jvp on the batch."""
        plan, name = ctx.plan, ctx.plan.function.__name__
        marks = ctx.saved_marks if ctx.forward_marks is None else ctx.forward_marks
        with push_level(BatchedTensor, plan.size, plan.randomness) as level:
            context = _restored(ctx, ctx.saved_tensors, marks, level)
            shown = [_example(t, m, level) for t, m in zip(tangents[1:], plan.marks, strict=True)]
            moved = plan.function.jvp(context, *shown)
            result = moved if isinstance(moved, tuple) else (moved,)
            if len(result) != len(ctx.marks):
                raise RuntimeError(
                    f"{name}.jvp returned an incorrect number of forward gradients (expected {len(ctx.marks)}, got "
                    f"{len(result)})"
                )
            if any(is_batched(t, level) and not m for t, m in zip(result, ctx.marks, strict=True)):
                raise RuntimeError(
                    f"{name}.jvp returned tangents that differ from example to example for an output that does not"
                )
            return tuple(
                batch_of(t, level) if m and isinstance(t, Tensor) else t for t, m in zip(result, ctx.marks, strict=True)
            )


def _example(value: Any, mark: bool, level: Level) -> Any:
    return batched(value, level) if mark and value is not None else value


def _restored(ctx: Any, saved: tuple[Any, ...], marks: tuple[bool, ...], level: Level) -> _Context:
    context = _Context()
    context.__dict__.update({name: _shown(value, level) for name, value in ctx.attributes.items()})
    context.saved_tensors = tuple(_example(t, m, level) for t, m in zip(saved, marks, strict=True))
    return context


def _backward(ctx: Any, *grads: Tensor | None) -> Any:
    plan, count = ctx.plan, len(ctx.shapes)
    with push_level(BatchedTensor, plan.size, plan.randomness) as level:
        context = _restored(ctx, ctx.saved_tensors, ctx.saved_marks, level)
        shown = [_example(g, m, level) for g, m in zip(grads, ctx.marks, strict=True)]
        result = backward_of(plan.function)(context, *shown)
        result = result if isinstance(result, tuple) else (result,)
        if len(result) < count or any(g is not None for g in result[count:]):
            raise RuntimeError(
                f"function {plan.function.__name__}Backward returned an incorrect number of gradients (expected "
                f"{count}, got {len(result)}): backward returns one for each argument of forward, None where there is "
                "none"
            )
        found = [
            _for_argument(g, shape, m, level) for g, shape, m in zip(result, ctx.shapes, plan.marks, strict=False)
        ]
    return (None, *found)


def _for_argument(gradient: Any, shape: tuple[int, ...] | None, mark: bool, level: Level) -> Any:
    """Return the gradient of one argument for the whole batch."""
    if shape is None or not isinstance(gradient, Tensor):
        return gradient
    if tuple(gradient.shape) != shape and reducible(tuple(gradient.shape), shape):
        gradient = gradient.sum_to_size(shape)
    if mark:
        return batch_of(gradient, level)
    return gradient._value.sum(0) if is_batched(gradient, level) else gradient
