"""Nodes of the graph: recorded operations with their edges and saved values.

# Note [No cycles]
A node never holds a tensor that the graph can reach: saved inputs and outputs are (array, version counter, version),
and become tensors again when a formula needs them, with the edge that the node already has. A leaf keeps its
accumulator, so that recording finds it at once (making one takes 700 ns); the accumulator holds the leaf weakly, since
the gradient of a leaf without references cannot be read. So a graph is freed by reference counting alone.
"""

from __future__ import annotations

import itertools
import sys
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, NoReturn

from tensorlike._library_name import LIBRARY
from tensorlike._native import core
from tensorlike.dispatch.forks import renew_after_fork
from tensorlike.dispatch.state import STATE
from tensorlike.dispatch.tracebacks import explained

from .grad_mode import grad_enabled
from .hooks import RemovableHandle, register_hook
from .tensor_base import PROVIDED, AutogradMeta, TensorBase, is_view, wrap, wrap_saved

if TYPE_CHECKING:  # Given when the package is loaded: see Note [Calls import nothing].
    from tensorlike.tensor import Tensor

    from .engine import gradients_of

__all__ = [
    "RELEASED",
    "AccumulateGrad",
    "GradientEdge",
    "Node",
    "Packed",
    "accumulating",
    "add_tensor_hooks",
    "as_caller",
    "edge_of",
    "get_gradient_edge",
    "leads_nowhere",
    "leaf_edge",
    "like_edge",
    "name_of",
    "next_sequence_number",
    "reshaped_leaf",
    "sum_of_gradients",
    "unpack",
    "unpack_many",
    "unpack_raw",
]

Edge = tuple["Node", int]

#: Returns the number of the next node; the native core numbers its own nodes by the same counter.
next_sequence_number: Callable[[], int] = itertools.count(1).__next__ if core is None else core.next_sequence_number
_next_accumulator = itertools.count(-1, -1).__next__

#: Held while a gradient is accumulated. Adding may run a subclass's code, which may run backward itself.
accumulating = threading.RLock()
renew_after_fork(globals(), "accumulating")


class _Released:
    def __repr__(self) -> str:
        return "<freed by backward>"


#: In place of a saved value that `backward` has freed.
RELEASED: Final = _Released()

class Packed:
    """A saved value in the keeping of a saved-tensor hook: see saved.py."""

    __slots__ = ("unpack_hook", "value")

    def __init__(self, value: Any, unpack_hook: Callable[[Any], Any]) -> None:
        self.value = value
        self.unpack_hook = unpack_hook

    def tensor(self) -> Any:
        """Return the value unpacked by the hook."""
        found = self.unpack_hook(self.value)
        if not isinstance(found, TensorBase):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(found).__name__}"
            )
        return found


_FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access saved "
    "tensors after calling backward."
)


#: The four slots of every node: members of a C struct where the native core is there.
_NodeState: Any = object if core is None else core.NodeState
_SLOTS = ("__dict__", "__weakref__", "_tl_dtype", "_tl_edges", "_tl_sequence_number", "_tl_shape")


class Node(_NodeState):  # type: ignore[misc]
    """One recorded operation. The node of a custom Function is the context of its methods, where users store attributes
    of any name, so that ours begin with `_tl_` but for PyTorch's own (`name_of` calls one that may be hidden by such).
    """

    __slots__ = _SLOTS if core is None else ()

    #: Nodes with several outputs keep tuples as their shape and dtype.
    _tl_outputs: int | None = 1
    #: For each input, the node and output number that its gradient goes to.
    _tl_edges: tuple[Edge | None, ...]
    _tl_sequence_number: int
    _tl_shape: Any
    _tl_dtype: Any
    #: output number -> hooks of the tensor that is this output.
    _tl_tensor_hooks: Any = None
    #: output number -> weak reference to the tensor that retains its gradient.
    _tl_retained: Any = None
    _tl_post_hooks: Any = None
    _tl_pre_hooks: Any = None
    #: Whether the engine runs the node by `_visit`: it has hooks, several outputs or the like.
    _tl_special: bool = False
    #: Whether the node handles missing gradients itself, as a custom Function does.
    _tl_materializes: ClassVar[bool] = True

    def name(self) -> str:
        """Return the name of the node, such as `MulBackward0`."""
        return self.__class__.__name__

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes that gradients go to, each with the number of the output it came from."""
        return tuple((None, 0) if e is None or leads_nowhere(e) else e for e in self._tl_edges)

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict of the user's own, kept with the node."""
        found: dict[Any, Any] = self.__dict__.setdefault("_tl_metadata", {})
        return found

    def __call__(self, *grad_outputs: Tensor | None) -> Any:
        """Return the gradients of the inputs for those of the outputs: one as itself, several as a tuple.

        Hooks are not called, and saved values are kept. Raises TypeError for another number of gradients.
        """
        found = gradients_of(self, grad_outputs)
        return found[0] if len(found) == 1 else found

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad_inputs, grad_outputs)` after the node ran; a result other than None replaces `grad_inputs`.
        """
        _check_hook(hook, "register_hook")
        if self._tl_post_hooks is None:
            self._tl_post_hooks = OrderedDict()
            self._tl_special = True
        return register_hook(hook, self._tl_post_hooks)

    def _sequence_nr(self) -> int:
        return self._tl_sequence_number

    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad_outputs)` before the node runs; a result other than None replaces `grad_outputs`."""
        _check_hook(hook, "register_prehook")
        if self._tl_pre_hooks is None:
            self._tl_pre_hooks = OrderedDict()
            self._tl_special = True
        return register_hook(hook, self._tl_pre_hooks)

    def _tl_apply(self, grad: Any) -> Any:
        """Return the gradients of the inputs, one per edge, None where there is none."""
        raise RuntimeError(f"{name_of(self)} has no derivative")

    def _tl_release(self) -> None:
        """Free the saved values."""

    def __repr__(self) -> str:
        return f"<{name_of(self)} object at {id(self):#x}>"


# Note [Long chains] A graph without references is freed by reference counting, a node freeing the next. CPython does so
# without running out of stack, by deferring deeply nested deallocations. Only 3.13 measures depth by a count that fits
# large stacks alone, and crashes in a thread with a small one. There nodes hand their edges to the first one being
# freed (200 ns a node). The native core does so on every version.

_dismantling = threading.local()


def _dismantle(self: Node) -> None:
    held: Any = getattr(self, "_tl_edges", ())
    self._tl_edges = ()
    if not self._tl_materializes:  # The context of a custom Function, which may hold any object.
        held = (held, dict(self.__dict__))
        self.__dict__.clear()
    waiting = getattr(_dismantling, "waiting", None)
    if waiting is not None:
        waiting.append(held)
        return
    waiting = _dismantling.waiting = [held]
    held = None
    try:
        while waiting:
            waiting.pop()
    finally:
        _dismantling.waiting = None


if core is None and sys.version_info[:2] == (3, 13):
    Node.__del__ = _dismantle  # type: ignore[attr-defined]


def name_of(node: Node) -> str:
    """Return the name of a node, which the context of a custom Function may have an attribute of the user under."""
    return node.__class__.name(node)  # Not `type(node)`: saved values hold their node as a weak proxy.


def like_edge(node: Node, number: int) -> tuple[Any, Any]:
    """Return the shape and the dtype of the gradients at an edge."""
    if node._tl_outputs == 1:
        return node._tl_shape, node._tl_dtype
    return node._tl_shape[number], node._tl_dtype[number]


def as_caller(call: Callable[..., Any], *args: Any) -> Any:
    """Run a user hook with the dispatch state of the caller of `backward`."""
    state = STATE.get()
    if state.caller is None:
        return call(*args)
    try:
        STATE.set(state.asking_as(state.caller))
        return call(*args)
    finally:
        STATE.set(state)


def _check_hook(hook: Callable[..., Any], method: str) -> None:
    if not callable(hook):
        raise TypeError(f"{method}(): argument 'hook' must be callable, not {type(hook).__name__}")


def add_tensor_hooks(node: Node, number: int, hooks: dict[int, Any]) -> None:
    """Make the gradient of output `number` pass through `hooks`."""
    if node._tl_tensor_hooks is None:
        node._tl_tensor_hooks = {}
        node._tl_special = True
    node._tl_tensor_hooks[number] = hooks


class AccumulateGrad(Node):
    """The accumulator of a leaf: adds gradients to `variable.grad`."""

    __slots__ = ("_leaf",)

    _leaf: weakref.ref[Any]

    @property
    def variable(self) -> Any:
        """The leaf; None when it was freed, and its gradient cannot be read."""
        return self._leaf()

    def _tl_apply(self, grad: Any) -> tuple[()]:
        variable = self._leaf()
        if variable is None:
            return ()
        recording = grad_enabled()
        meta = variable._tl_meta
        with accumulating:
            before = meta.grad_value
            if before is None:
                if recording:
                    meta.grad_value = _recorded_copy(grad, variable)
                elif grad._tl_transformed:
                    meta.grad_value = grad.detach()
                elif grad._tl_data.strides == variable._tl_data.strides and _stealable(grad):
                    meta.grad_value = _detached(grad)
                else:
                    # In the order of the leaf's elements, which optimizers go through together with the gradient's.
                    meta.grad_value = wrap(PROVIDED.copy_array(grad._tl_data, variable._tl_data))
            elif recording or before._tl_transformed or grad._tl_transformed:
                meta.grad_value = sum_of_gradients(before if recording else before.detach(), grad)
            elif before._tl_data.dtype is grad._tl_data.dtype and before._tl_edge is None and not is_view(before):
                PROVIDED.add_arrays(before._tl_data, grad._tl_data, before._tl_data)
                if before._tl_counter is not None:
                    before._tl_counter[0] += 1
            else:
                meta.grad_value = before.detach() + grad
        if meta.post_accumulate_hooks:
            _after_accumulation(variable)
        return ()

    def apply_nothing(self) -> None:
        """Run the accumulator without a gradient: the hooks are called all the same."""
        variable = self._leaf()
        if variable is not None and variable._tl_post_accumulate_hooks:
            _after_accumulation(variable)


def sum_of_gradients(before: Tensor, grad: Tensor) -> Any:
    """Return the sum of two gradients of which one may be sparse: a dense one comes first."""
    return grad + before if before._tl_transformed and not grad._tl_transformed else before + grad


def _after_accumulation(variable: Tensor) -> None:
    for hook in tuple(variable._tl_post_accumulate_hooks.values()):
        result = as_caller(hook, variable)
        if result is not None:
            name = getattr(hook, "__name__", hook)
            if not isinstance(result, TensorBase):
                raise TypeError(
                    f"expected None, but post accumulate grad hook {name!r} returned {type(result).__name__!r}"
                )
            raise RuntimeError(f"Tensor post accumulate grad hooks should return None, and {name!r} returned a Tensor.")


def _recorded_copy(grad: Tensor, variable: Tensor) -> Any:
    """Return a copy of a gradient, with its history, in the order of the leaf's elements: others may hold the gradient,
    as the caller of `backward` and a second leaf do, and who writes to `leaf.grad` does not mean theirs."""
    if grad._tl_transformed or grad._tl_data.strides == variable._tl_data.strides:
        return grad.clone()
    return wrap(PROVIDED.copy_array(grad._tl_data, variable._tl_data)).copy_(grad)


def _detached(grad: Tensor) -> Any:
    if grad._tl_edge is None and not grad._tl_requires_grad and type(grad) is TensorBase._tl_plain:
        return grad
    return wrap(grad._tl_data)


# Note [Taking a gradient over] The first gradient that reaches a leaf may become `leaf.grad` without a copy if there is
# no other reference to its memory: the tensor is held by the engine alone, the array by the tensor alone, and the array
# owns its memory. Reference counts show this; the number of references in the engine's own frames is measured once, by
# making the same calls on a dummy object.


class _Probe:
    __slots__ = ("_tl_data",)
    _tl_data: Any


def _counts(grad: Tensor) -> tuple[int, int]:
    return sys.getrefcount(grad), sys.getrefcount(grad._tl_data)


def _calibrate() -> tuple[int, int]:
    def through(grad: Tensor) -> Any:
        return _counts(grad)

    class Applies:
        def _tl_apply(self, grad: Any) -> Any:
            return through(grad)

    probe = _Probe()
    probe._tl_data = object()
    node = Applies()
    found: tuple[int, int] = node._tl_apply(probe)
    return found


_HELD_TENSOR, _HELD_ARRAY = _calibrate()


def _stealable(grad: Tensor) -> bool:
    tensor_count, array_count = _counts(grad)
    array = grad._tl_data
    return tensor_count <= _HELD_TENSOR and array_count <= _HELD_ARRAY and getattr(array, "base", 0) is None


def leaf_edge(leaf: Tensor) -> Edge:
    """Return the edge to the accumulator of a leaf, which the leaf keeps from its first use on."""
    meta = leaf._tl_meta
    if meta is None:
        meta = leaf._tl_meta = AutogradMeta()
    edge: Edge | None = meta.leaf_edge
    if edge is None:
        node = AccumulateGrad()
        node._leaf = weakref.ref(leaf)
        node._tl_edges = ()
        node._tl_sequence_number = _next_accumulator()
        node._tl_shape, node._tl_dtype = leaf._tl_data.shape, meta.grad_dtype or leaf._tl_data.dtype
        if meta.grad_dtype is None:  # Any dtype.
            node._tl_dtype = None
        if meta.hooks is not None:
            add_tensor_hooks(node, 0, meta.hooks)
        # Two threads that first use the leaf at once both continue with the edge of one of them.
        edge = meta.keep_leaf_edge((node, 0))
    return edge


def reshaped_leaf(leaf: Any) -> None:
    """Take the accumulator of another shape away from a leaf whose shape has changed."""
    edge = leaf._tl_leaf_edge
    if edge is not None and edge[0]._tl_shape != leaf._tl_data.shape:
        edge[0]._leaf = _refuse_gradient
        leaf._tl_leaf_edge = None


def _refuse_gradient() -> NoReturn:
    raise RuntimeError("a gradient arrived for a leaf whose shape was changed in place after it was used")


def _no_leaf() -> None:
    return None


def _nowhere(tensor: Tensor) -> Edge:
    """Return the edge of a view that was made outside the history of its base, which requires grad.

    The view requires grad as its base does, and what is computed from it is recorded, but no gradient leads from it to
    the base until an in-place operation makes its history anew. So it is in PyTorch.
    """
    node = AccumulateGrad()
    node._leaf = _no_leaf  # type: ignore[assignment]
    node._tl_edges = ()
    node._tl_sequence_number = _next_accumulator()
    node._tl_shape, node._tl_dtype = tensor._tl_data.shape, tensor._tl_data.dtype
    return (node, 0)


def leads_nowhere(edge: Edge) -> bool:
    """Return whether an edge is that of a view that was made outside the history of its base."""
    return getattr(edge[0], "_leaf", None) is _no_leaf


def edge_of(tensor: Any) -> Edge | None:
    """Return the edge for the gradient of `tensor`, or None when it requires none."""
    edge: Edge | None = tensor._tl_edge
    meta = tensor._tl_meta
    if meta is None:
        return edge
    base = meta.view_base
    if base is not None and (edge is not None or base._tl_edge is not None or base._tl_requires_grad):
        counter = tensor._tl_counter
        if counter is not None and counter[0] != meta.view_version:
            return PROVIDED.refresh_view(tensor)
        if edge is None and not meta.requires_grad:
            return _nowhere(tensor)
    if edge is None and meta.requires_grad:
        return meta.leaf_edge or leaf_edge(tensor)
    return edge


class GradientEdge(NamedTuple):
    """The edge to which the gradient of a tensor goes: replaces the tensor in `autograd.grad` and `autograd.backward`.
    """

    node: Node
    output_nr: int
    #: The leaf, kept alive here: its node does not.
    ownership_token: Any = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Return the place of `tensor` in the graph; `grad` and `backward` take it for the tensor.

    It does not keep the values of a non-leaf alive. Raises RuntimeError when the tensor requires no grad.

    >>> x = tl.ones(2, requires_grad=True)
    >>> y = x * 2
    >>> edge = tl.autograd.graph.get_gradient_edge(y)
    >>> tl.autograd.grad(y.exp().sum(), edge)
    (tensor([7.3891, 7.3891]),)
    """
    if not isinstance(tensor, TensorBase):
        raise TypeError(f"get_gradient_edge(): argument 'tensor' must be Tensor, not {type(tensor).__name__}")
    found = edge_of(tensor) if tensor._tl_tracked else None
    if found is None or leads_nowhere(found):
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require gradients: "
            "call requires_grad_() on it first"
        )
    return GradientEdge(*found, tensor if tensor._tl_edge is None else None)


def unpack(saved: Any, edge: Edge | None, node: Node) -> Any:
    """Return the saved value as a tensor (numbers and None as they are), checking that it was not modified since."""
    if type(saved) is not tuple:
        if saved is RELEASED:
            raise explained(RuntimeError, "backward-twice", _FREED)
        return saved if type(saved) is not Packed else _attached(wrap_saved(saved.tensor()._tl_data), edge, None)
    array, counter, version = saved
    if counter[0] != version:
        raise explained(
            RuntimeError, "inplace-on-saved",
            "one of the variables needed for gradient computation has been modified by an inplace operation: "
            f"[{_described(array)}], saved for {name_of(node)}, is at version {counter[0]}; expected version {version} "
            "instead. Hint: the in-place operation came after the value was saved; use its out-of-place form, or "
            "clone() the value first.",
        )  # fmt: skip
    tensor = wrap_saved(array)
    return tensor if edge is None else _attached(tensor, edge, counter)


def _attached(tensor: Tensor, edge: Edge | None, counter: list[int] | None) -> Any:
    if edge is not None:
        # The history, used by formulas of a backward that is itself recorded, and by nothing else.
        tensor._tl_edge = edge
        tensor._tl_tracked = True
        tensor._tl_counter = counter
    return tensor


def unpack_raw(saved: Any, node: Node) -> Any:
    """Return the saved value as a raw array (numbers and None as they are), checked as `unpack` does."""
    if type(saved) is tuple:
        array, counter, version = saved
        if counter[0] == version:
            return array
    elif saved is not RELEASED:
        return saved if type(saved) is not Packed else saved.tensor()._tl_data
    return unpack(saved, None, node)


def unpack_many(saved: Any, edges: Any, node: Node) -> Any:
    """Return a list of saved values as tensors."""
    if saved is RELEASED:
        raise explained(RuntimeError, "backward-twice", _FREED)
    return [unpack(value, edge, node) for value, edge in zip(saved, edges, strict=True)]


def _described(array: Any) -> str:
    return f"{LIBRARY}.{array.dtype} {list(array.shape)}"
