"""The type of sparse tensors, and the steps from values to a sparse tensor and back that the graph records.

# Note [Sparse tensors are a tensor-like type]
A sparse tensor is an instance of a subclass of Tensor, as in PyTorch of Tensor. It has its place in the graph, hooks
and a gradient like any other, but no array: `_tl_data` is a `Coordinates`, which knows shape, dtype and device and
refuses everything else. Functions reach the type by `__torch_function__`. Those without an implementation are answered
in three ways, each by a fact of the operation: an elementwise function that maps zero to zero is applied to the values;
a function written with other public functions runs, and these are dispatched in turn; the rest runs if it reads no
element, and is refused if it does. Below the dispatch layer only the engine, which adds gradients, knows of layouts.

# Note [Gradients of sparse tensors]
Most functions are written with two recorded steps, from a sparse tensor to its values and from values to a sparse
tensor, with dense functions between; so they have derivatives of every order. The gradient of a sparse tensor may be
sparse or dense. Where the engine adds two, sparse and sparse is sparse, sparse and dense is dense.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from tensorlike._originals import tl
from tensorlike.autograd.backward_and_grad import computed_grad
from tensorlike.autograd.backward_and_grad import grad as autograd_grad
from tensorlike.autograd.grad_mode import grad_enabled, recording_block
from tensorlike.autograd.node import Node, edge_of, next_sequence_number
from tensorlike.autograd.tensor_base import version_counter, wrap, wrap_as
from tensorlike.dispatch.operation import Form, form_of, operation_of
from tensorlike.dispatch.pytree import map_leaves
from tensorlike.overrides.writing import TensorLike
from tensorlike.tensor import Tensor
from tensorlike.tensor.backends import namespace_of
from tensorlike.tensor.declarations.declaration import Declaration
from tensorlike.tensor.memory.views import bump
from tensorlike.transforms.description import NoArray
from tensorlike.transforms.levels import functional_of

from .coordinates import Coordinates, keys_of

# --------------------------------------------------------------------------------- functions without an implementation


def plain_operand(arguments: Any) -> Any:
    """Return nested arguments with tensors of users' subclasses as plain tensors on the same memory."""

    def plain(value: Tensor) -> Any:
        ours = not isinstance(value, Tensor) or value._tl_transformed or type(value) is Tensor
        return value if ours else value.as_subclass(Tensor)

    return map_leaves(plain, arguments, True)


def other_functions(cls: Any, func: Any, types: tuple[type, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Answer a function without an implementation: elementwise on the values, or by its own code; or refuse it."""
    form = form_of(func)
    if form is None:
        return NotImplemented
    operation = form.operation
    if operation.elementwise:
        found = on_values(form, args, kwargs)
        if found is NotImplemented:
            raise refused(func)
        return found
    if isinstance(operation, Declaration):
        raise refused(func)
    return form.implementation(*args, **kwargs)


def on_values(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Apply an elementwise function to the values of its one sparse operand, if it maps zero to zero."""
    function = functional_of(form) if form.inplace else form.key
    places = [value for value in (*args, *kwargs.values()) if is_sparse(value)]
    if function is None or len(places) != 1:
        return NotImplemented
    if any(isinstance(v, Tensor) and v.dim() and v is not places[0] for v in (*args, *kwargs.values())):
        return NotImplemented
    tensor = places[0]
    data = tensor._tl_data

    def with_operand(operand: Tensor) -> Any:
        given = {name: operand if value is places[0] else value for name, value in kwargs.items()}
        return function(*[operand if value is places[0] else value for value in args], **given)

    with recording_block(False):
        zero = with_operand(wrap(namespace_of(data.values).zeros((), data.dtype)))
    if not isinstance(zero, Tensor) or bool(zero != 0):
        return NotImplemented
    # A sum of parts is the part of a sum for linear functions alone.
    if not data.coalesced and (tensor._tl_tracked or not _is_linear(form)):
        tensor = coalesced(tensor)
        data = tensor._tl_data
    if data.coalesced:
        result = from_values(data.indices, with_operand(values_of(tensor)), data.shape, True)
    else:
        result = sparse(data.indices, with_operand(wrap(data.values))._tl_data, data.shape)
    return taken_over(places[0], result, form.function.__name__) if form.inplace else result


def _is_linear(form: Form) -> bool:
    operation: Any = form.operation
    return bool(operation.linear_in) or operation in (operation_of(tl.mul), operation_of(tl.div))


# ----------------------------------------------------------------------------------------------------------- the type


class SparseTensor(TensorLike, Tensor, unhandled=other_functions):
    """A tensor of which only some elements are stored, by their coordinates; the others are zero.

    Made by `sparse_coo_tensor` and `Tensor.to_sparse`. PyTorch's class is Tensor itself, with this layout.
    """

    _tl_transformed = True  # It is dispatched to under every guard, since nothing else can compute with it.

    def __hash__(self) -> int:
        return id(self)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
        """Answer a call whose operands are tensors; leave others to the types of these."""
        if func is autograd_grad:
            return computed_grad(*args, **(kwargs or {}))
        others = [kind for kind in types if kind is not cls]
        if not all(issubclass(kind, Tensor) and not kind._tl_transformed for kind in others):
            return NotImplemented  # Left to the other type, which may be that of a transform.
        if others:
            args, kwargs = plain_operand((tuple(args), kwargs or {}))
        out = None if kwargs is None else kwargs.get("out")
        if isinstance(out, Tensor):  # Sparse or not: it is written as `copy_` does.
            given = {name: value for name, value in kwargs.items() if name != "out"}  # type: ignore[union-attr]
            return out.copy_(func(*args, **given))
        try:
            return super().__torch_function__(func, types, args, kwargs)
        except NoArray:
            raise refused(func) from None

    def held(self) -> tuple[Any, ...]:
        """Return the values, for anomaly detection."""
        return (wrap(self._tl_data.values),)

    def held_as(self, cls: type) -> SparseTensor:
        """Return the tensor itself: it has no other type."""
        return self

    def _tl_zeros(self, shape: Any, dtype: Any) -> Any:
        return wrap(namespace_of(self._tl_data.values).zeros(shape, dtype))

    def _tl_ones(self, shape: Any, dtype: Any) -> Any:
        return wrap(namespace_of(self._tl_data.values).ones(shape, dtype))

    def _tl_zeros_maker(self) -> Callable[..., Any]:
        return namespace_of(self._tl_data.values).zeros  # type: ignore[no-any-return]

    def _tl_cast(self, dtype: np.dtype[Any]) -> Any:
        own = self.dtype
        return kept("ToCopyBackward0", self, lambda v: v._tl_cast(dtype), lambda grad: grad.to(own))

    def _tl_transfer(self, device: Any) -> Any:
        here = self.device
        moved = kept("ToCopyBackward0", self, lambda v: v._tl_transfer(device), lambda grad: grad.to(here))
        moved._tl_data.indices = wrap(self._tl_data.indices).to(device)._tl_data
        return moved


def refused(func: Callable[..., Any]) -> NotImplementedError:
    """Return the error of a function that sparse tensors have not."""
    name = getattr(func, "__name__", "the function").strip("_")
    if name == "get":  # The getter of a property.
        name = getattr(getattr(func, "__self__", None), "fget", func).__name__
    return NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the 'SparseCPU' backend: sparse tensors do not have it. "
        "Convert the operand with to_dense() first."
    )


def is_sparse(value: Any) -> bool:
    """Return whether `value` is a sparse tensor."""
    return isinstance(value, SparseTensor)


# ---------------------------------------------------------------------------------------------------------- the graph


class SparseBackward(Node):
    """The node of a function of sparse tensors: its derivative is a function of tensors, which may be recorded."""

    __slots__ = ("backward", "saved")

    backward: Any
    #: The tensors that the derivative uses, with their version counters and versions.
    saved: Any

    def _tl_apply(self, grad: Tensor) -> Any:
        if self.backward is None:
            raise RuntimeError(
                "Trying to backward through the graph a second time (or directly access saved tensors after they "
                "have already been freed). Specify retain_graph=True if you need to backward through the graph a "
                "second time."
            )
        for tensor, counter, version in self.saved:
            if counter[0] != version:
                raise RuntimeError(
                    "one of the variables needed for gradient computation has been modified by an inplace operation: "
                    f"a tensor of size {list(tensor.shape)}, saved for {type(self).__name__}, is at version "
                    f"{counter[0]}; expected version {version} instead."
                )
        found = self.backward(grad)
        return found if isinstance(found, tuple) else (found,)

    def _tl_release(self) -> None:
        if self.saved:
            self.backward, self.saved = None, ()


@cache
def _node_class(name: str) -> type[SparseBackward]:
    return type(name, (SparseBackward,), {"__slots__": (), "__module__": __name__})


def record(name: str, result: Any, inputs: tuple[Any, ...], backward: Callable[[Any], Any], *saved: Tensor) -> Any:
    """Return `result` with its place in the graph: `backward(grad)` returns the gradient of each input."""
    if not grad_enabled() or result._tl_data.dtype.kind not in "fcV":
        return result
    edges = tuple([edge_of(t) if t._tl_tracked else None for t in inputs])
    if not any(edges):
        return result
    node = _node_class(name)()
    node._tl_edges, node._tl_sequence_number = edges, next_sequence_number()
    node._tl_shape, node._tl_dtype = result._tl_data.shape, result._tl_data.dtype
    node.backward = backward
    node.saved = tuple([(t, version_counter(t), version_counter(t)[0]) for t in saved])
    result._tl_edge, result._tl_tracked = (node, 0), True
    return result


def sparse(indices: Any, values: Any, shape: Sequence[int], coalesced: bool = False) -> Any:
    """Return a sparse tensor of raw arrays, without history."""
    return wrap_as(SparseTensor, Coordinates(indices, values, tuple(shape), coalesced))


def from_values(indices: Any, values: Any, shape: Sequence[int], coalesced: bool = False) -> Any:
    """Return the sparse tensor of raw `indices` and the tensor `values`, whose history goes on."""
    result = sparse(indices, values._tl_data, shape, coalesced)
    return record(
        "SparseCooTensorWithDimsAndTensorsBackward0", result, (values,), lambda grad: at_places(grad, indices)
    )


def values_of(tensor: Tensor) -> Any:
    """Return the values of a tensor whose elements are in order, each stored once."""
    data = tensor._tl_data
    result = wrap(data.values)
    if not tensor._tl_tracked:  # They share memory, and so the version.
        result._tl_counter = version_counter(tensor)
    indices, shape = data.indices, data.shape
    return record("ValuesBackward0", result, (tensor,), lambda grad: from_values(indices, grad, shape, True))


def coalesced(tensor: Tensor) -> Any:
    """Return a sparse tensor whose elements are in order, each stored once."""
    data = tensor._tl_data
    if data.coalesced:
        return tensor
    return record("CoalesceBackward0", wrap_as(SparseTensor, data.ordered()), (tensor,), lambda grad: grad)


def kept(name: str, tensor: Tensor, function: Callable[[Any], Any], backward: Callable[[Any], Any]) -> Any:
    """Return `tensor` with a linear `function` applied to its values, which stay in their places."""
    data = tensor._tl_data
    with recording_block(False):
        values = function(wrap(data.values))
    return record(name, sparse(data.indices, values._tl_data, data.shape, data.coalesced), (tensor,), backward)


def passed_on(name: str, tensor: Tensor, data: Coordinates, backward: Callable[[Any], Any]) -> Any:
    """Return a tensor that stores `data`, whose derivative is a function of gradients alone."""
    return record(name, wrap_as(SparseTensor, data), (tensor,), backward)


def at_places(tensor: Any, indices: Any) -> Any:
    """Return the elements of a dense or sparse tensor at the places `indices`, as a dense tensor with its history."""
    if not is_sparse(tensor):
        return tensor[tuple(map(wrap, indices))] if len(indices) else tensor.unsqueeze(0).expand(
            indices.shape[1], *tensor.shape
        )  # fmt: skip
    tensor = coalesced(tensor)
    data = tensor._tl_data
    values = values_of(tensor)
    if data.indices is indices or (data.indices.shape == indices.shape and bool((data.indices == indices).all())):
        return values
    xp = namespace_of(data.values)
    mine, wanted = (keys_of(xp, i, data.sparse_shape) for i in (data.indices, indices))
    if not mine.shape[0]:
        return values.new_zeros((indices.shape[1], *values.shape[1:])) + values.sum()
    places = xp.minimum(xp.searchsorted(mine, wanted), mine.shape[0] - 1)
    there = mine[places] == wanted
    found = values[wrap(places)]
    return found.where(wrap(there).reshape(-1, *[1] * (values.dim() - 1)), 0)


def to_dense(tensor: Tensor, masked_grad: bool = True) -> Any:
    """Return a sparse tensor with all its elements stored."""
    data = tensor._tl_data
    ordered = data.ordered()

    def backward(grad: Tensor) -> Any:
        if is_sparse(grad):
            return grad
        if not masked_grad:
            return grad.to_sparse(data.indices.shape[0])
        return from_values(ordered.indices, at_places(grad, ordered.indices), data.shape, True)

    return record("ToDenseBackward0", wrap(ordered.whole()), (tensor,), backward)


def taken_over(target: Tensor, source: Tensor, name: str) -> Any:
    """Write the sparse tensor `source` into `target`, in place, and return the target."""
    if grad_enabled():
        meta = target._tl_meta
        if meta is not None and meta.requires_grad and target._tl_edge is None:
            check_inplace_of_leaf(name)
    edge = source._tl_edge
    if source._tl_tracked and edge is None:  # A leaf.
        source = passed_on("CopyBackwards", source, source._tl_data, lambda grad: grad)
        edge = source._tl_edge
    dtype = target._tl_data.dtype
    if source._tl_data.dtype != dtype:
        source = source._tl_cast(dtype)
        edge = source._tl_edge
    target._tl_data.replace(source._tl_data)
    bump(target)
    if grad_enabled() and edge is not None:
        target._tl_edge, target._tl_tracked = edge, True
    return target


def check_inplace_of_leaf(name: str) -> None:
    """Raise for an in-place operation on a leaf that requires grad."""
    raise RuntimeError(
        f"{name}(): a leaf Variable that requires grad is being used in an in-place operation. "
        "Write to it under no_grad(), or clone() it first."
    )
