"""The node of a custom Function, which is also the context of its methods, as in PyTorch.

Tensors saved with `save_for_backward` follow Note [No cycles]: outputs are never kept as tensors.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from tensorlike._library_name import LIBRARY
from tensorlike._native import core
from tensorlike.dispatch.tracebacks import explained, short_tracebacks

from .engine_hooks import plain_gradient
from .node import RELEASED, Node, as_caller, edge_of, like_edge, name_of, unpack
from .tensor_base import TensorBase, move_state, wrap

if TYPE_CHECKING:
    from tensorlike.tensor import Tensor

    from .function import Function
    from .node import Edge

__all__ = [
    "FLOATING", "NOTHING", "FunctionCtx", "FunctionNode", "SavedInput", "SavedOutput", "answered_by_core", "as_kind",
    "backward_of", "no_backward", "reducible",
]  # fmt: skip

#: For contexts that mark nothing.
EMPTY: Final[dict[int, int]] = {}

#: The kinds of dtypes that have gradients.
FLOATING = frozenset("fcV")


F = TypeVar("F", bound=Callable[..., Any])


def answered_by_core(function: F) -> F:
    """Return a function as one that the native core may answer; `core.provide_custom` says how."""
    return short_tracebacks(function) if core is None else core.Function(function)


class _NothingDtype:
    kind = "O"


#: In place of the dtype of an output that is no tensor.
NOTHING = _NothingDtype()


def no_backward(ctx: Any, *grad_outputs: Any) -> Any:
    """Return the gradients of the inputs; override it.

    One for each argument of forward, None for those that have none. `vjp` is another name of it.
    """
    raise NotImplementedError(
        "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
        "backward mode AD."
    )


def backward_of(function: type[Function]) -> Any:
    """Return the `backward` of a custom Function, under either of its two names."""
    if function.vjp is no_backward:
        return function.backward
    if function.backward is not no_backward:
        raise RuntimeError(
            f"{function.__name__}: Implementing both 'backward' and 'vjp' for a custom Function is not allowed. "
            "You should only implement one of them."
        )
    return function.vjp


def _refuse(name: str, tensors: tuple[Any, ...]) -> None:
    """Raise for values of which one can be neither saved nor marked, by the method `name`."""
    saves = name.startswith("save")
    for index, tensor in enumerate(tensors):
        if isinstance(tensor, TensorBase) or (saves and tensor is None):
            continue
        kind = type(tensor).__name__
        if saves:
            raise TypeError(
                f"{name} can only save variables, but argument {index} is of type {kind}: keep it as an attribute, "
                "ctx.name = value"
            )
        raise RuntimeError(f"{name} only accepts variable arguments, but argument {index} is of type {kind}")


class FunctionCtx:
    """The context of a custom Function: the first argument of its `forward` and `backward`."""

    #: One boolean for each argument of `apply`: whether it requires grad. It may be assigned to.
    needs_input_grad: tuple[bool, ...] = ()
    _tl_to_save: tuple[Any, ...] | None = None
    _tl_dirty: tuple[Any, ...] = ()
    _tl_non_differentiable: tuple[Any, ...] = ()
    _tl_materialize = True
    _tl_saved_for_forward: tuple[Any, ...] | None = None
    #: Of the outputs, by number: the arguments that they are, written to in forward, and those without a derivative.
    _tl_written: dict[int, int] = EMPTY
    _tl_fixed: tuple[int, ...] = ()
    #: Whether backward may be called: grad mode was on, and an argument requires grad.
    _tl_recorded = False

    @answered_by_core
    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors (and None) for `backward`, where `saved_tensors` returns them; call it once, in forward.

        Raises TypeError for anything that is neither a tensor nor None.

        Source: PyTorch's `FunctionCtx.save_for_backward`.
        """
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, TensorBase):
                _refuse("save_for_backward", tensors)
        self._tl_to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors (and None) for `jvp`, where `saved_tensors` returns them.

        Raises TypeError for anything that is neither a tensor nor None.

        Source: PyTorch's `FunctionCtx.save_for_forward`.
        """
        _refuse("save_for_forward", tensors)
        self._tl_saved_for_forward = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Mark inputs that forward modified in place; each must be returned.

        Raises RuntimeError for values other than tensors.

        Source: PyTorch's `FunctionCtx.mark_dirty`.
        """
        _refuse("mark_dirty", tensors)
        self._tl_dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Mark outputs without a gradient.

        Raises RuntimeError for values other than tensors.

        Source: PyTorch's `FunctionCtx.mark_non_differentiable`.
        """
        _refuse("mark_non_differentiable", tensors)
        self._tl_non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Set whether `backward` gets missing gradients as zeros (the default) or as None.

        Source: PyTorch's `FunctionCtx.set_materialize_grads`.
        """
        self._tl_materialize = bool(value)


if TYPE_CHECKING or core is None:

    class ContextState:
        """The state of the node of a custom Function."""

        __slots__ = ()

        _tl_outputs: int | None = None
        _tl_special: bool = True
        _tl_saved: Any = ()
        #: The number of arguments of forward, and the indices of tensors among them; only these have edges.
        _tl_arguments: int = 0
        _tl_positions: tuple[int, ...] = ()
        #: The device of each tensor among the arguments that has an edge.
        _tl_devices: tuple[Any, ...] = ()
        _tl_make_zeros: Any = None

else:
    # The same fields and defaults, in a C struct, with those that `apply` sets in any context.
    ContextState = core.ContextState


class FunctionNode(ContextState, Node, FunctionCtx):
    """The node of a custom Function, and the context its methods are handed."""

    _tl_function: ClassVar[Any]
    _tl_materializes = False

    @property
    @answered_by_core
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors saved by `save_for_backward`, checked for in-place modification.

        In `jvp`, those saved by `save_for_forward`. Raises RuntimeError when one was modified, or freed by an earlier
        backward.
        """
        if self._tl_saved_for_forward is not None:
            return self._tl_saved_for_forward
        if self._tl_saved is RELEASED:
            unpack(RELEASED, None, self)
        return tuple([_unpack_saved(item, self) for item in self._tl_saved])

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The older name of `saved_tensors`."""
        warnings.warn(
            "saved_variables is deprecated; use saved_tensors", DeprecationWarning, stacklevel=2
        )
        return self.saved_tensors

    def _tl_apply(self, grads: Any) -> tuple[Any, ...]:
        """Run the user's backward and check its results; return the gradients of the tensors among the arguments."""
        backward = backward_of(self._tl_function)
        if self._tl_outputs == 1:
            grads = (_zeros(self, self._tl_shape, self._tl_dtype) if grads is None and self._tl_materialize else grads,)
        else:
            if grads is None:
                grads = [None] * len(self._tl_shape)
            if self._tl_materialize:
                grads = [
                    _zeros(self, shape, dtype) if g is None and dtype is not NOTHING else g
                    for g, shape, dtype in zip(grads, self._tl_shape, self._tl_dtype, strict=True)
                ]
        result = as_caller(backward, self, *grads)
        return self._tl_checked(result if isinstance(result, tuple) else (result,))

    def _tl_checked(self, result: tuple[Any, ...]) -> tuple[Any, ...]:
        """Check what backward returned; return the gradients of the tensors among the arguments."""
        count = self._tl_arguments
        if len(result) != count and (len(result) < count or any(g is not None for g in result[count:])):
            raise explained(
                RuntimeError, "number-of-gradients",
                f"function {name_of(self)} returned an incorrect number of gradients (expected {count}, got "
                f"{len(result)}): backward returns one for each argument of forward, None where there is none",
            )  # fmt: skip
        positions = self._tl_positions
        if len(positions) != count:
            for index in set(range(count)).difference(positions):
                if result[index] is not None:
                    raise RuntimeError(
                        f"function {name_of(self)} returned a gradient different than None at index {index}, but the "
                        "corresponding forward input was not a Variable: return None for what is no Tensor"
                    )
        plain: Any = TensorBase._tl_plain
        fitting: list[Any] = []
        for index, edge, device in zip(positions, self._tl_edges, self._tl_devices, strict=True):
            gradient = result[index]
            if edge is not None and type(gradient) is plain:
                array = gradient._tl_data
                wanted, dtype = like_edge(*edge)
                if array.shape == wanted and array.dtype is dtype and array.device == device:
                    fitting.append(gradient)
                    continue
            fitting.append(None if gradient is None else self._tl_fitting(gradient, index, edge, device))
        return tuple(fitting)

    def _tl_fitting(self, gradient: Any, index: int, edge: Edge | None, device: Any) -> Any:
        """Check and return the gradient of one argument; None where none is needed."""
        name = name_of(self)
        if not isinstance(gradient, TensorBase):
            raise RuntimeError(
                f"function {name} returned an invalid gradient at index {index}: expected Variable or None (got "
                f"{type(gradient).__name__})"
            )
        if edge is None:
            return None
        wanted, dtype = like_edge(*edge)
        array = gradient._tl_data
        shape = array.shape
        if shape != wanted and not reducible(shape, wanted):
            raise RuntimeError(
                f"Function {name} returned an invalid gradient at index {index} - got {list(shape)} but expected shape "
                f"compatible with {list(wanted)}"
            )
        if dtype is not None and array.dtype.kind == "c" and dtype.kind != "c":
            raise RuntimeError(
                f"Function {name} returned an invalid gradient at index {index} - got a complex one, "
                f"{LIBRARY}.{array.dtype}, but the input is real, {LIBRARY}.{dtype}: return its real part"
            )
        if gradient._tl_transformed:
            return gradient
        if array.device != device:
            raise RuntimeError(
                f"Function {name} returned an invalid gradient at index {index} - expected device "
                f"{_device_name(device)} but got {_device_name(array.device)}"
            )
        return gradient if type(gradient) is TensorBase._tl_plain else plain_gradient(gradient)

    def _tl_release(self) -> None:
        if self._tl_saved:
            self._tl_saved = RELEASED


def _device_name(device: object) -> str:
    # CuPy's devices have a number; those of other libraries' arrays are ours.
    return f"cuda:{device.id}" if hasattr(device, "id") else str(device)


def reducible(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Return whether a tensor of the shape `wanted` broadcasts to `shape`."""
    lead = len(shape) - len(wanted)
    return lead >= 0 and all(n in (1, m) for n, m in zip(wanted, shape[lead:], strict=True))


def _zeros(node: FunctionNode, shape: Sequence[int], dtype: Any) -> Any:
    return wrap(node._tl_make_zeros(shape, dtype))


def as_kind(tensor: Tensor, kind: type) -> Any:
    """Convert a tensor without other references to the type `kind`."""
    try:
        tensor.__class__ = kind
    except TypeError:  # A subclass with __slots__ has another layout.
        return move_state(tensor, kind)
    return tensor


class SavedOutput:
    """A saved output: its index and its value; the edge is the node's own."""

    __slots__ = ("array", "counter", "kind", "number", "packed", "place", "version")

    def __init__(self, tensor: Tensor, number: int, place: Callable[..., Any] | None = None) -> None:
        counter = tensor._tl_counter
        if counter is None:
            counter = tensor._tl_counter = [0]
        self.array, self.counter, self.version = tensor._tl_data, counter, counter[0]
        self.number, self.kind = number, type(tensor)
        self.packed: Any = None
        #: For a view that was written to: returns its edge in the history of its base.
        self.place = place


class SavedInput:
    """A saved tensor that is no output: its value, its edge (a leaf's accumulator keeps the leaf), its type."""

    __slots__ = ("array", "counter", "edge", "kind", "leaf", "packed", "version")

    def __init__(self, tensor: Tensor) -> None:
        counter = tensor._tl_counter
        if counter is None:
            counter = tensor._tl_counter = [0]
        self.array, self.counter, self.version = tensor._tl_data, counter, counter[0]
        self.edge = edge_of(tensor) if tensor._tl_tracked else None
        self.kind = type(tensor)
        # A leaf has no history that could lead back here, so the tensor itself may be kept.
        self.leaf = tensor if tensor._tl_edge is None and tensor._tl_view_base is None else None
        self.packed: Any = None


def _unpack_saved(item: Any, node: FunctionNode) -> Any:
    if item is None:
        return None
    if type(item) is SavedInput:
        if item.leaf is not None and item.packed is None and item.counter[0] == item.version:
            return item.leaf
        edge = item.edge
    else:
        edge = (item.place and item.place()) or (node, item.number)
    if item.packed is not None:
        return unpack(item.packed, edge, node)
    tensor = unpack((item.array, item.counter, item.version), edge, node)
    return tensor if item.kind is TensorBase._tl_plain else as_kind(tensor, item.kind)
