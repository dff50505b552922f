"""`BatchedTensor`: one tensor that stands for a batch, and the implementation of functions on it.

A call is computed by the batching rule of the function if there is one (`batching/`), by the elementwise rule if the
operation is elementwise, by its own code if it is made of other public functions, and otherwise by calling it once per
example. The last is slow and always right.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from tensorlike.autograd.engine import copied
from tensorlike.autograd.node import Edge, Node, edge_of, like_edge, name_of, next_sequence_number
from tensorlike.dispatch.core import inherits_default, plan_for
from tensorlike.dispatch.operation import Form, form_of, operation_of
from tensorlike.dispatch.pytree import children_of, rebuilt
from tensorlike.dispatch.state import STATE
from tensorlike.dispatch.tracebacks import explained
from tensorlike.operations.memory import placement
from tensorlike.operations.shape import resizing
from tensorlike.operations.shape.joining import stack
from tensorlike.tensor.backends import data_pointer
from tensorlike.tensor.dtypes import dtype_of
from tensorlike.tensor.memory.views import detached
from tensorlike.tensor.promotion import can_cast
from tensorlike.tensor.queries import result_type
from tensorlike.tensor.size import Size
from tensorlike.tensor.tensor import Tensor

from .levels import (
    Level,
    Method,
    NoArray,
    TransformTensor,
    first_of,
    follow,
    functional_of,
    given_out,
    has_history,
    leaves,
    memory_key,
    of_inplace_form,
    physical,
    plain_of,
    set_no_state,
    shape_of,
    tree_map,
    without_level,
    without_option,
)

__all__ = ["BatchedTensor", "as_batch", "batch_of", "batched", "example", "rule", "shared", "unbatched", "written"]

_new = object.__new__


class ExamplesDifferError(RuntimeError):
    """Raised by operations whose result differs between examples, such as reading the value of an element."""


Rule = Callable[[Level, Form, tuple[Any, ...], dict[str, Any]], Any]


def rule(*functions: Any) -> Callable[[Rule], Rule]:
    """Give the operations of these functions a batching rule `f(level, form, args, kwargs)`.

    It is called with the arguments of the call, of which some are batched at `level`, and returns what the function
    returns for the whole batch, or NotImplemented. It answers for all forms of an operation but the in-place ones,
    which write what the others return.
    """

    def register(answer: Rule) -> Rule:
        for function in functions:
            operation_of(function).def_batching(answer)
        return answer

    return register


class BatchedTensor(TransformTensor):
    """A batch of tensors that the function mapped by `vmap` sees as a single example.

    `_value` has one dimension more, the batch, always the first.
    """

    words: ClassVar[str] = "a tensor inside vmap"
    holds: ClassVar[tuple[str, ...]] = ("_value",)
    batch_dimensions: ClassVar[int] = 1
    _value: Any

    def held_as(self, cls: type) -> Any:
        return batched(self._value.as_subclass(cls), self._level)

    @staticmethod
    def apply_node(node: Node, grad: Any, level: Level) -> Any:
        """Run a node with gradients of which some are batches: once for each example."""
        rows = []
        for index in range(level.size):
            own = _of_example(node, level, index) if level.shares else node
            row = tuple(apply_node(own or node, example(grad, level, index)))
            if own is None and has_history(row):
                raise RuntimeError(
                    f"vmap: {name_of(node)} computes with the elements of its gradient, and what it is the gradient of "
                    "has no batch: compute its backward with functions of tensors"
                )
            rows.append(row)
        return tuple(None if c[0] is None else batched(_stacked(name_of(node), list(c)), level) for c in zip(*rows))

    @classmethod
    def answer(cls, level: Level, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not level.alive:
            raise RuntimeError(
                "a tensor of a vmap that has returned was used: return it from the mapped function instead of keeping "
                "it elsewhere"
            )
        result = _asked(func, args, kwargs)
        if result is not NotImplemented:
            return result
        if level.shares:
            args, kwargs = shared(args, level), shared(kwargs, level)
        form = form_of(func)
        if form is None:
            with without_level(level):
                return _per_example(level, func, args, kwargs)
        if given_out(form, args, kwargs) is not None:
            return _written_out(level, form, func, args, kwargs)
        unwritten = without_option(form, args, kwargs)
        if unwritten is not None:
            return written(level, form, func, *unwritten)
        operation = form.operation
        if operation.batching is not None and not of_inplace_form(form):
            with without_level(level):
                result = operation.batching(level, form, args, kwargs)
            if result is not NotImplemented:
                return result
        function = functional_of(form)
        if function is not None:
            return written(level, form, function, args, kwargs)
        if operation.elementwise and not form.inplace:
            with without_level(level):
                return _elementwise(level, func, args, kwargs)
        if operation.composite:
            try:
                return follow(form, args, kwargs)
            except (NoArray, ExamplesDifferError):
                pass
        if form.inplace:
            _check_target(level, form, first_of(form, args, kwargs))
        with without_level(level):
            return _per_example(level, func, args, kwargs)

    # The attributes of a gradient that the graph reads: see Note [Gradients of a transform].

    def _tl_zeros(self, shape: Sequence[int], dtype: np.dtype[Any]) -> Any:
        return plain_of(self)._tl_zeros(shape, dtype)

    def _tl_cast(self, dtype: np.dtype[Any]) -> Any:
        return self.to(dtype_of(dtype))


def _asked(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Ask the users' types in the batches of a call: see Note [A user's type inside a transform]."""
    state = STATE.get()
    if state.subclasses_disabled or state.all_disabled:
        return NotImplemented
    kinds = [type(plain_of(v)) for v in leaves((args, kwargs)) if isinstance(v, Tensor)]
    if not any(k is not Tensor for k in kinds):
        return NotImplemented
    types = plan_for(tuple(kinds)).types
    for kind in types:
        # Tensors in chunks hold others, as those of a transform do: they answer the calls that it makes.
        if not inherits_default(kind) and not getattr(kind, "_tl_transformed", False):
            result = kind.__torch_function__(func, types, args, kwargs)  # type: ignore[attr-defined]
            if result is not NotImplemented:
                return result
    return NotImplemented


def batched(value: Tensor, level: Level) -> Any:
    """Return a tensor whose first dimension is the batch of `level`, as one of that level."""
    result: Any = _new(BatchedTensor)
    set_no_state(result)
    own = result.__dict__
    own["_value"], own["_level"] = value, level
    return result


def is_batched(value: object, level: Level) -> bool:
    """Return whether `value` has a batch at `level`."""
    return type(value) is BatchedTensor and value._level is level


def unbatched(value: Any, level: Level) -> Any:
    """Return the batch that `value` holds at `level`, or `value` itself."""
    return value._value if is_batched(value, level) else value


class SharedBackward(Node):
    """The node of a tensor that examples share, where it meets a batch: see Note [Inputs that examples share]."""

    #: The dimension of the batch, behind those of the levels around.
    dim: int
    level: Level

    def _tl_apply(self, grad: Tensor) -> tuple[Any]:
        level = self.level
        if not level.alive:
            return (grad.sum(self.dim),)
        return (as_batch(grad.movedim(self.dim, 0) if self.dim else grad, level),)


def shared(value: Any, level: Level) -> Any:
    """Return nested operands of a call inside a `vmap` with a batch for each tensor that has a history and no batch."""
    if not STATE.get().recording:
        return value
    # As in `example`.
    return tree_map(lambda leaf: _shared_leaf(leaf, level), value)


def _shared_leaf(leaf: Any, level: Level) -> Any:
    if not isinstance(leaf, Tensor) or is_batched(leaf, level) or not has_history(leaf):
        return leaf
    if isinstance(leaf, TransformTensor) and leaf._level.depth > level.depth:
        return leaf.remade([_shared_leaf(part, level) for part in leaf.held()])
    with without_level(level):
        return batched(_with_batch(leaf, 0, level), level)


def _with_batch(tensor: Tensor, dim: int, level: Level) -> Any:
    if isinstance(tensor, TransformTensor):
        return tensor.remade([_with_batch(part, dim + tensor.batch_dimensions, level) for part in tensor.held()])
    expanded = tensor.detach().unsqueeze(dim)
    expanded = expanded.expand(*expanded.shape[:dim], level.size, *expanded.shape[dim + 1 :])
    edge = edge_of(tensor) if tensor._tl_tracked else None
    if edge is None:
        return expanded
    node = SharedBackward()
    node._tl_edges, node._tl_sequence_number = (edge,), next_sequence_number()
    node._tl_shape, node._tl_dtype = expanded._tl_data.shape, expanded._tl_data.dtype
    node.dim, node.level = dim, level
    # Not a view for the graph, which would look at the history of its base.
    result = detached(expanded) if type(expanded) is Tensor else expanded.detach()
    result._tl_edge, result._tl_tracked = (node, 0), True
    return result


class ExampleBackward(Node):
    """A node in front of one that examples share: passes on the gradient of one example as a batch of zeros but for it.
    """

    level: Level
    index: int

    def _tl_apply(self, grad: Tensor) -> tuple[Any]:
        level = self.level
        if not level.alive:
            return (grad,)
        zeros = grad.new_zeros(grad.shape)
        return (as_batch(stack([grad if i == self.index else zeros for i in range(level.size)]), level),)


def _of_example(node: Node, level: Level, index: int) -> Node | None:
    """Return a copy of a node that examples share, whose results have the history of one example; None where it cannot
    be copied.
    """

    def edge_for(edge: Edge | None) -> Any:
        if edge is None:
            return None
        own = ExampleBackward()
        own._tl_edges, own._tl_sequence_number = (edge,), next_sequence_number()
        own._tl_shape, own._tl_dtype = like_edge(*edge)
        own.level, own.index = level, index
        return own, 0

    copy = copied(node, tuple([edge_for(e) for e in node._tl_edges]))
    if copy is not None:
        # The gradient of outputs that it saved goes on to the nodes just made: those with later numbers run first.
        copy._tl_sequence_number = next_sequence_number()
    return copy


def as_batch(value: Tensor, level: Level) -> Any:
    """Return a gradient with its first dimension, under any inner levels, as the batch of `level`."""
    if isinstance(value, TransformTensor) and value._level.depth > level.depth:
        inner = value.batch_dimensions
        return value.remade([as_batch(part.movedim(inner, 0) if inner else part, level) for part in value.held()])
    return batched(value, level)


def batch_of(value: Any, level: Level) -> Any:
    """Return the batch that `value` holds at `level`; a tensor that has none is repeated for every example."""
    if level.shares:
        value = shared(value, level)
    if is_batched(value, level):
        return value._value
    return value.expand(level.size, *value.shape)


def wrapped(result: Any, level: Level) -> Any:
    """Return a result with its tensors, nested ones too, as batches of `level`."""
    return tree_map(lambda v: batched(v, level) if isinstance(v, Tensor) else v, result)


def example(value: Any, level: Level, index: int) -> Any:
    """Return one example of the tensors in `value` that are batched at `level`, under any inner levels."""

    return tree_map(lambda tensor: _example_of(tensor, level, index), value)


def _example_of(tensor: Any, level: Level, index: int) -> Any:
    # No function in `example` that calls itself: it would stay in a cycle with its own cell.
    if is_batched(tensor, level):
        return tensor._value[index]
    if isinstance(tensor, TransformTensor) and tensor._level.depth > level.depth:
        return tensor.remade([_example_of(part, level, index) for part in tensor.held()])
    return tensor


def _elementwise(level: Level, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensors = [v for v in leaves((args, kwargs)) if isinstance(v, Tensor)]
    ranks = [len(shape_of(t)) for t in tensors]
    rank = max(ranks)
    dtype = None
    if min(ranks) != rank and len({plain_of(t)._tl_data.dtype for t in tensors}) > 1:
        # A batch of zero-dimensional tensors has a dimension, and would count in promotion, unlike each of them.
        dtype = _common_dtype(tensors)

    def aligned(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        if dtype is not None and value.dtype != dtype:
            value = value.to(dtype)
        if not is_batched(value, level):
            return value
        inner = value._value
        shape = shape_of(inner)
        missing = rank - (len(shape) - 1)
        return inner.reshape(shape[0], *(1,) * missing, *shape[1:]) if missing else inner

    return wrapped(func(*tree_map(aligned, args), **tree_map(aligned, kwargs)), level)


def _common_dtype(tensors: list[Any]) -> Any:
    found: Any = None
    stand_ins = [plain_of(t)._tl_zeros((1,) * min(t.dim(), 1), np.dtype(t.dtype.numpy_dtype)) for t in tensors]
    found = stand_ins[0]
    dtype = found.dtype
    for other in stand_ins[1:]:
        dtype = result_type(found, other)
        found = found._tl_zeros((1,) * max(found.dim(), other.dim()), dtype.numpy_dtype)
    return dtype


def written(level: Level, form: Form, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compute the result of the in-place function, and copy it into the batch."""
    target = first_of(form, args, kwargs)
    _check_target(level, form, target)
    if STATE.get().recording and any(t._tl_tracked for t in physical((args, kwargs))):
        # A node may save the former elements, which are overwritten below.
        args, kwargs = tree_map(lambda v: v.clone() if v is target else v, (args, kwargs))
    _copy_into(level, target, function(*args, **kwargs))
    return target


def _copy_into(level: Level, target: Any, result: Any) -> None:
    with without_level(level):
        value = result._value if is_batched(result, level) else result.expand(target._value.shape)
        if tuple(value.shape) != tuple(target._value.shape):
            raise RuntimeError(
                f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(value.shape[1:])}"
            )
        target._value.copy_(value)


def _written_out(level: Level, form: Form, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compute a call with `out=`, and copy its results into what is given as that."""
    out = given_out(form, args, kwargs)
    if kwargs.get("out") is None:
        args = args[:-1]
    results = func(*args, **{k: v for k, v in kwargs.items() if k != "out"})
    several = children_of(out)
    pairs = [(out, results)] if several is None else zip(several, children_of(results) or (), strict=True)
    for target, result in pairs:
        _check_target(level, form, target)
        if not can_cast(result.dtype.numpy_dtype, target.dtype.numpy_dtype):
            raise RuntimeError(
                f"{form.name}(): result type {result.dtype} can't be cast to the desired output type {target.dtype}"
            )
        _copy_into(level, target, result)
    return out if several is None else rebuilt(results, list(several))


def _check_target(level: Level, form: Form, target: Tensor) -> None:
    if not is_batched(target, level):
        raise explained(
            RuntimeError, "vmap-inplace",
            f"vmap: {form.name}() would write a different value for each example into a tensor that all of them share. "
            "Use the out-of-place form, or write to a tensor that is mapped over.",
        )  # fmt: skip


def _per_example(level: Level, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    name = getattr(func, "__name__", repr(func))
    if level.size == 0:
        raise RuntimeError(f"vmap: {name}() has no batching rule and cannot be called for a batch of no examples")
    results = [func(*example(args, level, i), **example(kwargs, level, i)) for i in range(level.size)]
    first = results[0]
    if not any(isinstance(v, Tensor) for v in leaves(first)):
        if all(_same(r, first) for r in results[1:]):
            return first
        raise ExamplesDifferError(f"vmap: {name}() returned {type(first).__name__} that differ from example to example")
    form = form_of(func)
    if form is not None and form.inplace:
        # Written in place, example by example, through views of the batch.
        return None if first is None else args[0]
    return wrapped(_stacked(name, results, lambda each: _view_of_all(level, (args, kwargs), each)), level)


def _view_of_all(level: Level, operands: Any, results: list[Any]) -> Any:
    """Return the results of the examples as one view, where each is a view of an operand's example; None otherwise."""
    first = results[0]
    base = memory_key(first)
    source = next((v for v in leaves(operands) if is_batched(v, level) and memory_key(v) is base), None)
    arrays = [plain_of(r)._tl_data for r in results]
    if source is None or len({(a.shape, a.strides, a.dtype) for a in arrays}) > 1:
        return None
    array, width = arrays[0], arrays[0].dtype.itemsize
    starts = [data_pointer(a) for a in arrays]
    step = starts[1] - starts[0] if len(starts) > 1 else 0
    if array.dtype != plain_of(source)._tl_data.dtype or any(b - a != step for a, b in itertools.pairwise(starts)):
        return None
    shape = shape_of(first)
    strides = array.strides[len(array.shape) - len(shape) :]
    offset = plain_of(first).storage_offset()
    return source._value.as_strided((level.size, *shape), [s // width for s in (step, *strides)], offset)


def stacked_results(name: str, results: list[Any], level: Level) -> Any:
    """Stack the results of the examples as batches of `level`, under any inner levels."""
    return tree_map(lambda v: as_batch(v, level) if isinstance(v, Tensor) else v, _stacked(name, results))


def _same(a: object, b: object) -> bool:
    try:
        return bool(a == b)
    except Exception:  # Comparing objects of users' types may raise: then they are not the same.
        return False


def _stacked(name: str, results: list[Any], view_of: Callable[[list[Any]], Any] = lambda each: None) -> Any:
    """Return the results of the examples as one, or as what `view_of` returns for those that it knows."""
    first = results[0]
    if isinstance(first, Tensor):
        if len({tuple(r.shape) for r in results}) > 1:
            raise ExamplesDifferError(
                f"vmap: We do not support batching operators that can output dynamic shape: {name}() returned tensors "
                "of different shapes for different examples."
            )
        view = view_of(results)
        return stack(results) if view is None else view
    parts = [children_of(r) for r in results]
    if parts[0] is None:
        return first
    return rebuilt(first, [_stacked(name, list(each), view_of) for each in zip(*parts, strict=True)])


def apply_node(node: Node, grad: Any) -> Any:
    """Run a node of the graph with gradients of which some are batched."""
    try:
        return node._tl_apply(grad)
    except NoArray:
        pass
    level = max((v._level for v in leaves(grad) if isinstance(v, TransformTensor)), key=lambda v: v.depth)
    return level.kind.apply_node(node, grad, level)


@rule(Method.__repr__)
def _shown(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    inner = textwrap.indent(repr(args[0]._value), "    ")
    return f"BatchedTensor(lvl={level.depth}, bdim=0, value=\n{inner}\n)"


@rule(Method.__format__)
def _formatted(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    # A format of numbers needs one number.
    return NotImplemented if args[1] else repr(args[0])


# The most common calls have a fast path: every formula reads shapes.
@rule(Method.shape)
def _shape(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return Size(shape_of(args[0]))


@rule(Method.dim, Method.ndim)
def _rank(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return len(shape_of(args[0] if args else kwargs[form.parameters[0].name]))


@rule(
    placement.is_floating_point, placement.is_complex, placement.is_signed, placement.get_device, Method.get_device,
    Method.dtype, Method.device, Method.layout, Method.itemsize, Method.element_size, Method.is_cuda, Method.is_cpu,
    Method.is_meta,
)  # fmt: skip
def _kind(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return form.key(plain_of(args[0] if args else kwargs[form.parameters[0].name]), *args[1:])


@rule(resizing.numel, Method.size, Method.nelement, Method.nbytes, Method.__len__)
def _measured(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    first = form.parameters[0].name
    value = args[0] if args else kwargs[first]
    options = {key: option for key, option in kwargs.items() if key != first}
    return form.key(plain_of(value).new_empty(()).expand(shape_of(value)), *args[1:], **options)


@rule(Method.requires_grad, Method.grad_fn, Method.is_leaf, Method._version)
def _of_batch(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return form.key(args[0]._value)


@rule(Method.item, Method.__float__, Method.__int__, Method.__complex__, Method.__index__)
def _number(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    raise explained(
        ExamplesDifferError, "vmap-control-flow",
        "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a "
        "Tensor, please try to rewrite what you're doing with other operations.",
    )  # fmt: skip


@rule(Method.__bool__)
def _decision(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    raise explained(
        ExamplesDifferError, "vmap-control-flow",
        "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. Examples may "
        "differ in it: use where() instead.",
    )  # fmt: skip


@rule(
    Method.numpy, Method.tolist, Method.__array__, Method.data_ptr, Method.storage_offset, Method.untyped_storage,
    Method.storage, Method.__dlpack__,
)  # fmt: skip
def _memory(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    raise ExamplesDifferError(
        f"vmap: {form.name}() needs one tensor's memory, and a tensor inside vmap is many of them"
    )


@rule(Method.requires_grad_)
def _requires_grad_(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    args[0]._value.requires_grad_(*args[1:], **kwargs)
    return args[0]
