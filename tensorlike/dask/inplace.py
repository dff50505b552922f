"""In-place operations in chunks.

# Note [In-place in chunks]
A chunked tensor has no memory, so an in-place operation binds it to other chunks: `x.add_(1)` computes `x + 1` and has
`x` stand for that. That is right for `x` itself, whose history goes on as that of any tensor, and for what was computed
from it before. It would not be for views: what shares memory with `x` (`y = x[0]`, `x.detach()`, `x.T`) would keep the
former elements. So the tensors that would share memory know of each other, and writing to one of several raises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import ref

from tensorlike.autograd.grad_mode import grad_enabled, recording_block
from tensorlike.autograd.node import edge_of
from tensorlike.autograd.tensor_base import version_counter
from tensorlike.dispatch.operation import Form, operation_of
from tensorlike.dispatch.pytree import map_leaves
from tensorlike.operations.memory import inplace
from tensorlike.tensor.dtypes import dtype_of
from tensorlike.tensor.tensor import Tensor

from .chunked import Method, called, is_chunked, refused, rule

if TYPE_CHECKING:  # Given by late_names.py, when these modules are loaded.
    import numpy as np

    from .recording import kept, step


def share(result: Any, source: Any) -> Any:
    """Return `result`, which would share memory with the chunked tensor `source`, known as such."""
    if result is source or not is_chunked(result) or not is_chunked(source):
        return result
    # References, since sets compare tensors, which is elementwise.
    family = source._sharing
    if family is None:
        family = source._sharing = [ref(source)]
    if result._sharing is not family:
        family[:] = [r for r in family if r() is not None]
        family.append(ref(result))
        result._sharing = family
    return result


def rebound(form: Form, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compute what an in-place function writes, and bind its first operand to that."""
    target = args[0] if args else kwargs[form.parameters[0].name]
    if operation_of(function) in (operation_of(Method.resize), operation_of(Method.resize_as)):
        raise refused(form, "it keeps elements by their order in memory: use reshape() or narrow()")
    if not is_chunked(target):
        raise refused(form, "an ordinary tensor cannot hold what is not computed yet: compute() the operand first")
    check_writable(form, target)
    # Save the old value: derivatives of earlier results need it.
    before = kept(target)
    rest, named = map_leaves(
        lambda v: before if v is target else v, (args[1:], {k: v for k, v in kwargs.items() if v is not target})
    )
    return take_over(form, target, function(before, *rest, **named))


def turned_into(form: Form, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Bind the first operand of an in-place view, such as `t_`, to what the other function returns of it."""
    target = args[0] if args else kwargs[form.parameters[0].name]
    check_writable(form, target)
    before = kept(target)
    result = function(before, *args[1:], **{k: v for k, v in kwargs.items() if v is not target})
    return bound(target, result)


def check_writable(form: Form, target: Any) -> None:
    """Raise for a tensor that an in-place function may not write to."""
    name = form.name.rpartition(".")[2]
    if grad_enabled() and target._tl_requires_grad and target._tl_edge is None:
        raise RuntimeError(
            f"{name}(): a leaf Variable that requires grad is being used in an in-place operation. Write to it under "
            "no_grad(), or clone() it first."
        )
    if target._sharing is not None and sum(r() is not None for r in target._sharing) > 1:
        raise RuntimeError(
            f"{name}() of a tensor in chunks that has views, or is one: the others would keep their elements, since "
            "chunks have no memory to share. Use the out-of-place form, or clone() the view first."
        )


def take_over(form: Form, target: Tensor, result: Tensor) -> Any:
    """Bind a chunked tensor to the elements and the history of `result`, and return it."""
    if tuple(result._tl_data.array.shape) != tuple(target._tl_data.array.shape):
        raise RuntimeError(
            f"{form.name.rpartition('.')[2]}(): output with shape {list(target.shape)} doesn't match the broadcast "
            f"shape {list(result.shape)}"
        )
    dtype = target._tl_data.dtype
    if result._tl_data.dtype != dtype:
        _check_cast(form, result._tl_data.dtype, dtype)
        result = result._tl_cast(dtype)
    return bound(target, result)


def bound(target: Tensor, result: Tensor) -> Any:
    """Bind a chunked tensor to the elements and the history of another one, and return it."""
    target._tl_data = result._tl_data
    version_counter(target)[0] += 1
    if grad_enabled():
        edge = edge_of(result) if result._tl_tracked else None
        target._tl_edge, target._tl_tracked = edge, edge is not None
    return target


def _check_cast(form: Form, found: np.dtype[Any], wanted: np.dtype[Any]) -> None:
    ranks = {"b": 0, "u": 1, "i": 1, "f": 2, "V": 2, "c": 3}
    if ranks.get(found.kind, 0) > ranks.get(wanted.kind, 0):
        raise RuntimeError(
            f"{form.name.rpartition('.')[2]}(): result type {dtype_of(found)} can't be cast to the desired output type "
            f"{dtype_of(wanted)}"
        )


@rule(Method.copy_)
def _copy(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    target, source = args[0], args[1] if len(args) > 1 else kwargs["src"]
    if not is_chunked(target):
        raise refused(form, "an ordinary tensor cannot hold what is not computed yet: compute() the source first")
    check_writable(form, target)
    source = source if isinstance(source, Tensor) else target.new_full((), source)
    # A tensor in chunks to be repeated where the source is an ordinary one.
    result = (source if is_chunked(source) else source + target.new_zeros(())).to(target.dtype)
    return take_over(form, target, _in_place_of(target, result.expand(tuple(target.shape))))


def _in_place_of(target: Tensor, result: Tensor) -> Any:
    """Return `result` recorded as the replacement of the elements of `target`, whose gradient is zero."""
    fresh = kept(result)
    fresh._tl_edge, fresh._tl_tracked = None, False
    shape = target._tl_data.shape
    return step(
        "CopyBackwards", fresh, (kept(target), result), lambda grad: (grad._tl_zeros(shape, grad._tl_data.dtype), grad)
    )


@rule(Method.resize, Method.resize_as)
def _resized(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    raise refused(form, "it keeps elements by their order in memory: use reshape() or narrow()")


@rule(inplace.fill)
def _fill(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return a tensor filled with a number, or with that of a tensor without dimensions."""
    target, value = (*args, *kwargs.values())
    called(form.function, (target, value), {})
    with recording_block(False):
        filled = target._tl_zeros(target._tl_data.shape, target._tl_data.dtype)
    if isinstance(value, Tensor):
        filled = (filled + value).to(target.dtype)
    elif value != 0:
        with recording_block(False):
            filled = target.new_full(target._tl_data.shape, value)
    return _in_place_of(target, filled)


@rule(inplace.zero_, inplace.fill_)
def _filled(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    target = args[0] if args else kwargs["input"]
    value = (args[1] if len(args) > 1 else kwargs["value"]) if form.operation is operation_of(inplace.fill_) else 0
    if not is_chunked(target):
        raise refused(form, "an ordinary tensor cannot hold what is not computed yet")
    check_writable(form, target)
    return take_over(form, target, inplace.fill(target, value))
