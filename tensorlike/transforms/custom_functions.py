"""Custom Functions inside transforms: their `vmap` and `jvp` static methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tensorlike.autograd.function import Function
from tensorlike.autograd.grad_mode import grad_enabled
from tensorlike.autograd.tensor_base import PROVIDED
from tensorlike.tensor.tensor import Tensor

from .batched import (
    BatchedTensor,
    ExamplesDifferError,
    batched,
    example,
    is_batched,
    shared,
    stacked_results,
    unbatched,
)
from .dual import dual, primal_of, tangent_of
from .levels import Level, TransformTensor, has_history, leaves, tree_map, without_level
from .mapped_functions import apply_mapped, can_map

__all__ = ["VmapInfo", "apply", "by_rule"]


class VmapInfo(NamedTuple):
    """The facts about the batch for the `vmap` static method of a Function."""

    batch_size: int
    randomness: str


def apply(cls: type[Function], args: tuple[Any, ...]) -> Any:
    """Run `cls.apply(*args)` if a transform's tensor is among the arguments. Called by `Function.apply`."""
    top = max(
        (v for v in leaves(args) if isinstance(v, TransformTensor)), key=lambda v: v._level.depth, default=None
    )
    if top is None:
        return NotImplemented
    if type(top) is BatchedTensor:
        return _mapped(cls, args, top._level)
    return _moved(cls, args, top._level)


def _mapped(cls: type[Function], args: tuple[Any, ...], level: Level) -> Any:
    if level.shares:
        args = shared(args, level)
    overridden = cls.vmap is not Function.vmap
    if cls.generate_vmap_rule and overridden:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overridden vmap "
            "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid "
            "ambiguity."
        )
    if overridden:
        with without_level(level):
            return by_rule(f"{cls.__name__}.vmap", cls.vmap, args, level)
    if not cls.generate_vmap_rule:
        raise ExamplesDifferError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and implement "
            "the vmap staticmethod or set generate_vmap_rule=True."
        )
    with without_level(level):
        if can_map(args, level):
            return apply_mapped(cls, args, level)
        results = [cls.apply(*example(args, level, index)) for index in range(level.size)]
        return stacked_results(cls.__name__, results, level)


def by_rule(name: str, rule: Callable[..., Any], args: Sequence[Any], level: Level) -> Any:
    """Return what a user's rule for batches, `rule(info, in_dims, *args)`, says of arguments batched at `level`."""
    in_dims = tuple(tree_map(lambda v: 0 if is_batched(v, level) else None, a) for a in args)
    returned = rule(VmapInfo(level.size, level.randomness), in_dims, *tree_map(lambda v: unbatched(v, level), args))
    if not (isinstance(returned, tuple) and len(returned) == 2):
        raise RuntimeError(
            f"{name} must return two values, the output and its out_dims, got {type(returned).__name__}"
        )
    return _placed(name, returned[0], returned[1], level)


def _placed(name: str, output: Any, out_dims: Any, level: Level) -> Any:
    if isinstance(output, (tuple, list)):
        dims = out_dims if isinstance(out_dims, (tuple, list)) else (out_dims,) * len(output)
        if len(dims) != len(output):
            raise RuntimeError(
                f"{name} returned {len(output)} outputs and out_dims for {len(dims)}: one is needed for "
                "each, None where there is no batch"
            )
        return tuple(_placed(name, o, d, level) for o, d in zip(output, dims, strict=True))
    if out_dims is None or not isinstance(output, Tensor):
        return output
    return batched(output if out_dims == 0 else output.movedim(out_dims, 0), level)


def _moved(cls: type[Function], args: tuple[Any, ...], level: Level) -> Any:
    values = tuple(primal_of(a, level) for a in args)
    with without_level(level):
        output, moved = _value_and_tangent(cls, values, tuple(tangent_of(a, level) for a in args))
    several = isinstance(output, tuple)
    outputs = output if several else (output,)
    moves = moved if isinstance(moved, tuple) else (moved,)
    if len(moves) != len(outputs):
        raise RuntimeError(
            f"{cls.__name__}.jvp returned an incorrect number of forward gradients (expected {len(outputs)}, got "
            f"{len(moves)})"
        )
    results = []
    for index, (value, tangent) in enumerate(zip(outputs, moves, strict=True)):
        written = next((a for a, v in zip(args, values, strict=True) if v is value and isinstance(a, Tensor)), None)
        if written is not None and tangent is not None and tangent_of(written, level) is tangent:
            # Written to in forward, as its tangent was in `jvp`: the argument itself is the result.
            results.append(written)
            continue
        if tangent is not None and not isinstance(tangent, Tensor):
            raise RuntimeError(
                f"{cls.__name__}.jvp must return Tensors or None, got {type(tangent).__name__} at position {index}"
            )
        if tangent is not None and not isinstance(value, Tensor):
            raise RuntimeError(
                f"{cls.__name__}.jvp returned a tangent at position {index}, where forward returned "
                f"{type(value).__name__}: return None there"
            )
        if tangent is not None and tuple(tangent.shape) != tuple(value.shape):
            raise RuntimeError(
                f"{cls.__name__}.jvp returned a tangent of shape {list(tangent.shape)} at position {index}, expected "
                f"{list(value.shape)}"
            )
        results.append(value if tangent is None else dual(value, tangent, level))
    return tuple(results) if several else results[0]


def _value_and_tangent(cls: type[Function], values: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
    top = max(
        (v for v in leaves((values, tangents)) if isinstance(v, TransformTensor)),
        key=lambda v: v._level.depth,
        default=None,
    )
    if type(top) is BatchedTensor:
        level = top._level
        if level.shares:
            values, tangents = shared(values, level), shared(tangents, level)
        with without_level(level):
            rows = [_value_and_tangent(cls, *example((values, tangents), level, i)) for i in range(level.size)]
            return stacked_results(cls.__name__, rows, level)
    if top is not None and grad_enabled() and has_history((values, tangents)):
        raise RuntimeError(
            f"{cls.__name__}: reverse mode through forward mode of forward mode is not supported for custom Functions"
        )
    output, context = cls._recorded(values, cls.setup_context is not Function.setup_context)
    if context._tl_materialize:
        tangents = tuple(_or_zeros(t, v) for t, v in zip(tangents, values, strict=True))
    versions = {i: _version(tangents[i]) for i in context._tl_written.values()}
    moved = cls.jvp(context, *tangents)
    context._tl_saved_for_forward = None
    _check_tangents(context, output, moved, values, tangents, versions)
    return output, moved


def _version(tangent: Tensor | None) -> Any:
    return tangent._version if isinstance(tangent, Tensor) else None


def _check_tangents(
    context: Any, output: Any, moved: Any, values: tuple[Any, ...], tangents: tuple[Any, ...],
    versions: dict[int, Any],
) -> None:  # fmt: skip
    """Raise unless tangents are to each other as the values are: written to, views, or none."""
    name = type(context)._tl_function.__name__
    outputs = output if isinstance(output, tuple) else (output,)
    moves = moved if isinstance(moved, tuple) else (moved,)
    for number, (value, tangent) in enumerate(zip(outputs, moves, strict=False)):
        if number in context._tl_written:
            given = context._tl_written[number]
            if tangents[given] is not None and (tangent is not tangents[given] or _version(tangent) == versions[given]):
                raise RuntimeError(
                    f"An inplace custom Function is not modifying the forward mode gradients inplace. {name}.forward "
                    f"modifies argument {given} inplace: then the jvp function must modify the corresponding gradient "
                    "inplace, and return it."
                )
        elif tangent is None:
            continue
        elif number in context._tl_fixed:
            raise RuntimeError(
                f"{name}.jvp returned a gradient at position {number}, but the corresponding forward output is not a "
                "differentiable Tensor: it was marked by mark_non_differentiable. You should return None at that "
                "position instead."
            )
        elif isinstance(value, Tensor) and isinstance(tangent, Tensor) and value._tl_view_base is not None:
            _check_view(name, value, tangent, values, tangents)


def _check_view(name: str, value: Tensor, tangent: Tensor, values: tuple[Any, ...], tangents: tuple[Any, ...]) -> None:
    """Raise unless the tangent of an output that is a view of an input is a view of the tangent of that input."""
    for source, given in zip(values, tangents, strict=True):
        if not (isinstance(source, Tensor) and isinstance(given, Tensor)) or given._tl_transformed:
            continue
        if value._tl_view_base is not source and value._tl_view_base is not source._tl_view_base:
            continue
        if tangent._tl_view_base is None:
            raise RuntimeError(
                "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a "
                f"view. Let {name}.jvp return the same view of the gradient it is given, such as gradient.view_as("
                "gradient) for an input as-is."
            )
        if tangent._tl_view_base is not (given if given._tl_view_base is None else given._tl_view_base):
            of = "the given" if given._tl_view_base is None else "the same base as the given"
            raise RuntimeError(
                f"A custom Function is returning a view but the jvp is not returning a view of {of} grad input: "
                f"see {name}.jvp."
            )
        return


def _or_zeros(tangent: Tensor | None, value: Any) -> Any:
    if tangent is None and isinstance(value, Tensor) and (value.is_floating_point() or value.is_complex()):
        return value.new_zeros(value.shape)
    return tangent


PROVIDED.apply_transformed = apply
