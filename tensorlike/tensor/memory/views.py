"""Views and in-place operations: rewriting the history when memory is overwritten.

# Note [In-place through a view]
Every view knows its base (never itself a view) and shares its version counter. An in-place operation on a view gives
the *base* a new history: a `CopySlices` node, which passes the gradient of the written part through the operation, and
the rest around it. Views made before are stale then; a stale view gets a new edge, a strided view of the base's new
history, when it is next needed (`edge_of`). The geometry of a view in its base is read off the arrays themselves
(offset, shape, strides), so that a view need not store how it was made.
"""

from __future__ import annotations

import math
import warnings
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from tensorlike.autograd.engine import unbroadcast_and_cast
from tensorlike.autograd.grad_mode import get_state, grad_enabled, inference_enabled
from tensorlike.autograd.inference import refuse_write
from tensorlike.autograd.node import RELEASED, Node, edge_of, name_of, next_sequence_number, unpack
from tensorlike.autograd.tensor_base import PROVIDED, AutogradMeta, TensorBase, version_counter, wrap
from tensorlike.dispatch.core import outside_stacklevel, undispatched
from tensorlike.dispatch.tracebacks import explained

from ..backends import data_pointer, namespace_of, scatter_add, strided_view
from ..layouts import is_dense
from ..types import Array, Namespace

if TYPE_CHECKING:  # The functions are given when the package is loaded: see Note [Calls import nothing].
    from tensorlike.operations.memory.inplace import read_strided, scatter_strided, write_strided

    from ..tensor import Tensor

_new = object.__new__

UNDER_NO_GRAD = "under no_grad"
UNDER_INFERENCE = "in inference mode"
OF_MANY = "of many"
OF_FUNCTION = "of a custom Function"


class Geometry(NamedTuple):
    """The geometry of a view, relative to its base's array: offset and strides in bytes."""

    shape: tuple[int, ...]
    dtype: Any
    offset: int
    strides: tuple[int, ...]


def geometry_of(view: Array, base: Array) -> Geometry:
    """Return the geometry of the array `view` in the array `base`."""
    return Geometry(view.shape, view.dtype, data_pointer(view) - data_pointer(base), view.strides)


class Layout(NamedTuple):
    """The layout of a base: enough to make a new array of the same layout."""

    shape: tuple[int, ...]
    dtype: Any
    strides: tuple[int, ...]

    def extent(self) -> int:
        """Return the bytes from the first element to the end of the last."""
        if 0 in self.shape:
            return 0
        return sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)) + int(self.dtype.itemsize)


def layout_of(array: Array) -> Layout:
    """Return the layout of an array."""
    return Layout(array.shape, array.dtype, array.strides)


def _fresh(xp: Namespace, layout: Layout, geometry: Geometry) -> tuple[Any, Any, int]:
    """Return new zeroed memory for a base and a view of it: all of it, the base's array, the view's offset in bytes.

    The view may extend beyond its base, as with `as_strided`.
    """
    if any(s < 0 for s in (*layout.strides, *geometry.strides)):
        raise RuntimeError("views of arrays with negative steps have no gradient; clone() the array first")
    before = max(-geometry.offset, 0)
    size = max(layout.extent(), geometry.offset + Layout(geometry.shape, geometry.dtype, geometry.strides).extent())
    # Elements rather than bytes, where both have one dtype: not every backend can read bytes as elements.
    unit = layout.dtype if layout.dtype == geometry.dtype else np.dtype(np.uint8)
    memory = xp.zeros(max(-(-(before + size) // unit.itemsize), 1), dtype=unit)
    base = strided_view(xp, memory, layout.shape, layout.dtype, before, layout.strides)
    return memory, base, before + geometry.offset


def _overlaps(geometry: Geometry) -> bool:
    """Return whether two elements of the view may share memory (as in the windows of `unfold`)."""
    reach = geometry.dtype.itemsize
    for stride, n in sorted((abs(s), n) for s, n in zip(geometry.strides, geometry.shape, strict=True) if n > 1):
        if stride < reach:
            return True
        reach = stride * (n - 1) + reach
    return False


def read_view(array: Array, layout: Layout, geometry: Geometry) -> Array:
    """Return a copy of the part of `array`, taken as of `layout`, that the view covers."""
    xp = namespace_of(array)
    if 0 in geometry.shape:
        return xp.zeros(geometry.shape, dtype=geometry.dtype)  # type: ignore[no-any-return]
    memory, base, offset = _fresh(xp, layout, geometry)
    base[...] = array
    return strided_view(xp, memory, geometry.shape, geometry.dtype, offset, geometry.strides).copy()  # type: ignore[no-any-return]


def scatter_view(grad: Array, layout: Layout, geometry: Geometry) -> Array:
    """Return zeros of `layout` with `grad` added at the elements of the view (summed where it overlaps).

    Elements outside the layout are dropped: `as_strided` can reach beyond its input.
    """
    xp = namespace_of(grad)
    if 0 in geometry.shape:
        return xp.zeros(layout.shape, dtype=layout.dtype)  # type: ignore[no-any-return]
    repeats = [n if s == 0 else 1 for n, s in zip(layout.shape, layout.strides, strict=True)]
    if math.prod(repeats) > 1:
        # The layout itself repeats elements, as after `expand`: each gets its share.
        once = tuple(1 if r > 1 else n for n, r in zip(layout.shape, repeats, strict=True))
        whole = scatter_view(grad, layout._replace(shape=once), geometry)
        return xp.broadcast_to(whole / whole.dtype.type(math.prod(repeats)), layout.shape).copy()  # type: ignore[no-any-return]
    memory, base, offset = _fresh(xp, layout, geometry)
    # Expanded dimensions are summed first; the rest overlaps only in windows.
    sizes = enumerate(zip(geometry.shape, geometry.strides, strict=True))
    expanded = tuple(d for d, (n, s) in sizes if s == 0 and n != 1)
    if expanded:
        grad = grad.sum(axis=expanded, keepdims=True, dtype=grad.dtype)
        geometry = geometry._replace(shape=grad.shape)
    window = strided_view(xp, memory, geometry.shape, geometry.dtype, offset, geometry.strides)
    if not _overlaps(geometry):
        window[...] = grad
        return base  # type: ignore[no-any-return]
    width = geometry.dtype.itemsize
    positions = xp.zeros(geometry.shape, dtype=np.intp) + offset // width
    for d, (n, s) in enumerate(zip(geometry.shape, geometry.strides, strict=True)):
        positions = positions + (xp.arange(n) * (s // width)).reshape((-1,) + (1,) * (len(geometry.shape) - d - 1))
    flat = memory if memory.dtype == geometry.dtype else memory[: len(memory) // width * width].view(geometry.dtype)
    scatter_add(flat, positions.reshape(-1), grad.astype(geometry.dtype).reshape(-1))
    return base  # type: ignore[no-any-return]


def write_view(array: Array, value: Array, layout: Layout, geometry: Geometry) -> Array:
    """Return a copy of `array` with `value` written to the elements of the view."""
    xp = namespace_of(array)
    if 0 in geometry.shape:
        return array.copy()
    memory, base, offset = _fresh(xp, layout, geometry)
    base[...] = array
    window = strided_view(xp, memory, geometry.shape, geometry.dtype, offset, geometry.strides)
    window[...] = value
    return base  # type: ignore[no-any-return]


def view_of(source: TensorBase, array: Any, refuses: str | None = None) -> Tensor:
    """Return a tensor around `array`, a view of the memory of `source`, that knows its base."""
    of_source = source._tl_meta
    base: Any = None if of_source is None else of_source.view_base
    if base is None:
        base = source
    elif refuses is None and of_source is not None:
        refuses = of_source.view_refuses
    counter = source._tl_counter
    if counter is None:
        counter = version_counter(base)
        source._tl_counter = counter
    tensor: Any = _new(TensorBase._tl_plain)
    tensor._tl_data = array
    tensor._tl_tracked = True
    tensor._tl_edge = None
    tensor._tl_counter = counter
    meta = tensor._tl_meta = AutogradMeta()
    meta.view_base = base
    try:
        if counter[0]:
            meta.view_version = counter[0]
    except RuntimeError:  # Only the counter of an inference tensor raises when it is read. A view of one is one.
        meta.inference = True
    if refuses is None and not get_state().recording:
        refuses = UNDER_INFERENCE if inference_enabled() else UNDER_NO_GRAD
    if refuses is not None:
        meta.view_refuses = refuses
    return tensor  # type: ignore[no-any-return]


class AsStridedBackward0(Node):
    """The node of a view whose base got a new history: a strided view of the base."""

    __slots__ = ("geometry", "layout")

    layout: Layout
    geometry: Geometry

    def _tl_apply(self, grad: Tensor) -> tuple[Any]:
        return (undispatched(scatter_strided)(grad, self.layout, self.geometry),)


class CopySlices(Node):
    """The node of a base after an in-place operation on a view of it."""

    __slots__ = ("_tl_function", "geometry", "layout")

    #: The node of the operation; None when backward has freed it.
    _tl_function: Any
    layout: Layout
    geometry: Geometry

    def _tl_apply(self, grad: Tensor) -> tuple[Any, ...]:
        if self._tl_function is None:
            unpack(RELEASED, None, self)
        part = undispatched(read_strided)(grad, self.layout, self.geometry)
        grads = tuple(self._tl_function._tl_apply(part))
        inner = grads[0]
        if inner is None:
            inner = part._tl_zeros(self.geometry.shape, self.geometry.dtype)
        else:
            inner = unbroadcast_and_cast(inner, self.geometry.shape, self.geometry.dtype, self._tl_function)
        whole = undispatched(write_strided)(grad, inner, self.layout, self.geometry)
        return (whole, *grads[1:])

    def _tl_release(self) -> None:
        self._tl_function = None


def part_of(base: Tensor, array: Array) -> Tensor:
    """Return a view of `base` around `array`, an array in its memory, with the history that the base has now.

    For transforms, which keep other tensors in line with a view; it may be written wherever the base may.
    """
    result: Any = view_of(base, array)
    of_base = base._tl_meta
    result._tl_view_refuses = None if of_base is None else of_base.view_refuses
    if edge_of(base) is not None:
        _follow(result)
    return result  # type: ignore[no-any-return]


def _refresh(tensor: Tensor) -> Any:
    """Give a stale view a new edge, to the present history of its base."""
    if tensor._tl_view_refuses is not None:
        refuse(tensor, "its base or another view of its base has been modified inplace")
    return _follow(tensor)


def _follow(tensor: Any) -> Any:
    base = tensor._tl_view_base
    node = AsStridedBackward0()
    node._tl_edges = (edge_of(base),)
    node._tl_sequence_number = next_sequence_number()
    node._tl_shape = tensor._tl_data.shape
    node._tl_dtype = tensor._tl_data.dtype
    node.layout = layout_of(base._tl_data)
    node.geometry = geometry_of(tensor._tl_data, base._tl_data)
    former = tensor._tl_edge
    tensor._tl_edge = (node, 0)
    tensor._tl_view_version = tensor._tl_counter[0]
    if tensor._tl_retains_grad:
        _retain_anew(tensor, former)
    return tensor._tl_edge


PROVIDED.refresh_view = _refresh


def refuse(tensor: Tensor, what: str) -> NoReturn:
    """Raise for a view whose history cannot follow a modification; `what` names the modified tensor."""
    refuses = tensor._tl_view_refuses
    if refuses == UNDER_NO_GRAD:
        raise RuntimeError(
            f"A view was created in no_grad mode and {what} with grad mode enabled. Make the view with grad mode "
            "enabled, or modify it under no_grad() as well."
        )
    if refuses == UNDER_INFERENCE:
        raise RuntimeError(
            f"A view was created in inference mode and {what} in normal mode. Make the view outside of "
            "inference_mode(), or modify it inside as well."
        )
    if refuses == OF_MANY:
        edge = tensor._tl_edge
        name = "the output" if edge is None else f"Output {edge[1]} of {name_of(edge[0]).removesuffix('Backward0')}"
        raise RuntimeError(
            f"{name} is a view and {what}. This view is the output of a function that returns multiple views. Such "
            "functions do not allow the output views to be modified inplace. You should replace the inplace operation "
            "by an out-of-place one."
        )
    edge = tensor._tl_edge
    name = "An output" if edge is None else f"Output {edge[1]} of {name_of(edge[0]).removesuffix('Backward')}"
    raise RuntimeError(
        f"{name} is a view and {what}. This view was created inside a custom Function (or because an input was "
        "returned as-is), and its backward would not see the modification. Return a clone() from forward, or use the "
        "out-of-place operation."
    )


def check_overlap(array: Array, name: str, advice: str = "") -> None:
    """Raise for writing to an array whose elements overlap, as after `expand`; only warn where there is `advice`."""
    if not array.size or 0 not in array.strides:
        return
    if any(s == 0 and n > 1 for s, n in zip(array.strides, array.shape, strict=True)):
        if advice:
            warnings.warn(
                f"Use of {name} on expanded tensors is deprecated. Please clone() the tensor before performing this "
                f"operation. This also applies to advanced indexing e.g. {advice}",
                UserWarning,
                stacklevel=outside_stacklevel(),
            )
            return
        raise RuntimeError(
            f"{name}(): unsupported operation: more than one element of the written-to tensor refers to a single "
            "memory location. Please clone() the tensor before performing the operation."
        )


def _steps(array: Array) -> list[int]:
    """Return the strides that lead from one element to another: of other sizes than one."""
    return [0 if size == 1 else stride for stride, size in zip(array.strides, array.shape)]


def check_partial_overlap(written: Array, read: Array, name: str, disjoint: bool = False) -> None:
    """Raise for writing to an array that partially overlaps another: shares memory, but not all of it in the same
    order.

    With `disjoint`, sharing all of it raises too. Arrays with gaps may share memory, as in PyTorch: their elements are
    not compared.
    """
    if not (written.size and read.size and is_dense(written) and is_dense(read)):
        return
    start, other = data_pointer(written), data_pointer(read)
    if start == other and written.nbytes == read.nbytes:
        if not disjoint and _steps(written) == _steps(read):
            return
    elif start + written.nbytes <= other or other + read.nbytes <= start:
        return
    _refuse_shared(name)


def _refuse_shared(name: str) -> Any:
    raise RuntimeError(
        f"{name}(): unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
        "single memory location. Please clone() the tensor before performing the operation."
    )


def check_shared(tensor: Any, values: Any, name: str, disjoint: bool = False) -> None:
    """Raise for writing to `tensor` while reading tensors that overlap with it; with `disjoint`, that share any memory.

    Shared memory has one version counter, but for that of `x.data`, which is looked for with `disjoint` alone.
    """
    counter = tensor._tl_counter
    if counter is None and not disjoint:
        return
    for value in values:
        if isinstance(value, TensorBase):
            if value is tensor:
                if disjoint:
                    _refuse_shared(name)
            elif disjoint or (counter is not None and value._tl_counter is counter):
                check_partial_overlap(tensor._tl_data, value._tl_data, name, disjoint)
        elif disjoint and isinstance(value, (list, tuple)) and (tensor._tl_data.size or name[-1] == "_"):
            check_shared(tensor, value, name, disjoint)  # Nothing is read from empty tensors that are joined.


def check_inplace(tensor: Any, name: str, recorded: bool = True, overlapping: bool | str = False) -> None:
    """Raise for an in-place operation on a tensor that must not be written.

    An operation that is not `recorded`, such as `logical_not_`, may write to a leaf that requires grad. `overlapping`
    is that of `declare.primitive`.
    """
    if overlapping is not True:
        check_overlap(tensor._tl_data, name, overlapping or "")
    meta = tensor._tl_meta
    if meta is None:
        return
    if meta.inference:
        refuse_write(name)
    if not tensor._tl_tracked or not recorded or not grad_enabled():
        return
    base = meta.view_base
    if base is None:
        if meta.requires_grad and tensor._tl_edge is None:
            raise explained(
                RuntimeError, "inplace-on-leaf",
                f"{name}(): a leaf Variable that requires grad is being used in an in-place operation. "
                "Write to it under no_grad(), or clone() it first.",
            )  # fmt: skip
        return
    recorded = base._tl_edge is not None or tensor._tl_edge is not None
    if not (recorded or meta.requires_grad or base._tl_requires_grad):
        return
    if meta.view_refuses is not None:
        refuse(tensor, "is being modified inplace")
    if base._tl_edge is None:
        # A leaf cannot get a new history, whether it or only its view requires grad.
        raise explained(
            RuntimeError, "inplace-on-leaf",
            f"{name}(): a view of a leaf Variable that requires grad is being used in an in-place operation. "
            "Write to it under no_grad(), or clone() it first.",
        )  # fmt: skip


def bump(tensor: Any) -> list[int]:
    """Count one more modification of the memory of `tensor`; return the counter."""
    counter: list[int] | None = tensor._tl_counter
    if counter is None:
        counter = tensor._tl_counter = [0]
    counter[0] += 1
    return counter


def rebase(tensor: Tensor, node: Node) -> None:
    """Make `node`, whose first edge leads to the former history, the new history of `tensor`."""
    base = tensor._tl_view_base
    if base is None:
        former = tensor._tl_edge
        tensor._tl_edge = (node, 0)
        tensor._tl_tracked = True
        if tensor._tl_retains_grad:
            _retain_anew(tensor, former)
        return
    former = base._tl_edge
    copy = CopySlices()
    copy._tl_edges = (edge_of(base), *node._tl_edges[1:])
    copy._tl_sequence_number = next_sequence_number()
    copy._tl_shape = base._tl_data.shape
    copy._tl_dtype = base._tl_data.dtype
    copy._tl_function = node
    copy.layout = layout_of(base._tl_data)
    copy.geometry = geometry_of(tensor._tl_data, base._tl_data)
    base._tl_edge = (copy, 0)
    base._tl_tracked = True
    if base._tl_retains_grad:
        _retain_anew(base, former)
    _follow(tensor)


def retain(tensor: Tensor) -> None:
    """Make the node of a non-leaf store its gradient in `tensor.grad`."""
    node, number = edge_of(tensor)  # type: ignore[misc]
    retained = node._tl_retained
    if retained is None:
        retained = node._tl_retained = {}
        node._tl_special = True
    retained[number] = weakref.ref(tensor)


def _retain_anew(tensor: Any, former: Any) -> None:
    """Retain the gradient of the present value of `tensor`, in place of that of its `former` edge."""
    if former is not None and former[0]._tl_retained:
        former[0]._tl_retained.pop(former[1], None)
    retain(tensor)


def detached(tensor: Tensor) -> Tensor:
    """Return a tensor that shares memory and version with `tensor`, without its history."""
    result = wrap(tensor._tl_data)
    result._tl_counter = version_counter(tensor) if tensor._tl_counter is None else tensor._tl_counter
    if tensor._tl_inference:
        result._tl_inference = result._tl_tracked = True
    return result


class AliasBackward0(Node):
    """The node of an alias: the same tensor under another type."""

    __slots__ = ()

    def _tl_apply(self, grad: Tensor) -> tuple[Any]:
        return (grad,)


def alias_of(tensor: TensorBase) -> Tensor:
    """Return a new plain tensor on the memory of `tensor`, a view of it with the same history."""
    result = view_of(tensor, tensor._tl_data)
    if tensor._tl_tracked and grad_enabled():
        edge = edge_of(tensor)
        if edge is not None:
            node = AliasBackward0()
            node._tl_edges = (edge,)
            node._tl_sequence_number = next_sequence_number()
            node._tl_shape, node._tl_dtype = tensor._tl_data.shape, tensor._tl_data.dtype
            result._tl_edge = (node, 0)
    return result


def untracked(tensor: Any) -> Tensor:
    """Return a tensor on the same memory with no history and a version counter of its own (`.data`)."""
    return detached(tensor) if tensor._tl_inference else wrap(tensor._tl_data)


class _ViewOfFunction(Node):
    """The operation of a custom Function on a view, in the form for `CopySlices`: the gradient of the view comes first.
    """

    __slots__ = ("node", "number", "position")

    node: Node
    number: int
    #: The index of the Function's edge to the former history of the view.
    position: int

    def _tl_apply(self, grad: Any) -> tuple[Any, ...]:
        given = [None] * len(self.node._tl_shape)
        given[self.number] = grad
        grads = list(self.node._tl_apply(given))
        return (grads.pop(self.position), *grads)

    def _tl_release(self) -> None:
        self.node._tl_release()

    def name(self) -> str:
        return name_of(self.node)


def rebase_function(tensor: Any, node: Node, number: int, position: int) -> Any:
    """Make output `number` of a custom Function the history of the input that it modified in place.

    `position` is the index of the Function's edge to the former history of the tensor. For a view, returns a function
    that returns its edge while there is one: only the node of the base runs the Function's own node.
    """
    if tensor._tl_view_base is None:
        former = tensor._tl_edge
        tensor._tl_edge = (node, number)
        tensor._tl_requires_grad = False
        tensor._tl_tracked = True
        if tensor._tl_retains_grad:
            _retain_anew(tensor, former)
        return None
    function = _ViewOfFunction()
    function.node, function.number, function.position = node, number, position
    edges = list(node._tl_edges)
    function._tl_edges = (edges.pop(position), *edges)
    function._tl_shape, function._tl_dtype = tensor._tl_data.shape, tensor._tl_data.dtype
    rebase(tensor, function)
    reference = weakref.ref(tensor._tl_view_base._tl_edge[0])

    def place() -> Any:
        copy = reference()
        return None if copy is None else (_part_of(copy, copy.layout, copy.geometry), 0)

    return place


def _part_of(base: Node, layout: Layout, geometry: Geometry) -> Node:
    """Return the node of a view of the result of the node `base`."""
    node = AsStridedBackward0()
    node._tl_edges = ((base, 0),)
    node._tl_sequence_number = next_sequence_number()
    node._tl_shape, node._tl_dtype = geometry.shape, geometry.dtype
    node.layout, node.geometry = layout, geometry
    return node
