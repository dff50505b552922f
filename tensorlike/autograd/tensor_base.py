"""The base class of tensors: the array, the place in the graph, the version.

# Note [What a tensor stores]
The state of a tensor lies in five slots, so that its `__dict__` holds only attributes of the user: types in use copy it
from one tensor to another, clear it, and store attributes of any name. Our names begin with `_tl_`. All five are stored
in every new tensor, since an unset slot has no default: 25 ns more than one store into a `__dict__` (90 ns) on CPython
3.11, which the reads give back (8 ns a slot, 20 ns a default of the class). `_tl_tracked` is the one flag that the hot
path tests: true when recording may be needed (the tensor requires grad, or it is a view, whose base may have been given
a history since). State that few tensors have (the flags of leaves and views, hooks, a gradient) lies in an
`AutogradMeta` of their own, as in PyTorch; the properties below read it, hot code does so itself.

With the native core the five are members of the class in C that `TensorBase` then has as its base, of the same names.

# Note [Versions]
All tensors on the same memory share one version counter: a list of one integer, made when first needed (the first view,
the first save, the first in-place operation). In-place operations add one; saved values remember the number.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, ClassVar, Final

from tensorlike._native import core as _core
from tensorlike.dispatch.provided import Provided

if TYPE_CHECKING:
    from tensorlike.tensor.tensor import Tensor

__all__ = [
    "PROVIDED",
    "STAND_INS",
    "STATE_SLOTS",
    "AutogradMeta",
    "TensorBase",
    "is_view",
    "move_state",
    "no_history",
    "version_counter",
    "wrap",
    "wrap_as",
    "wrap_saved",
]

_new = object.__new__


class AutogradMeta:
    """The autograd state of a tensor that is a leaf, a view, hooked, or made under inference mode."""

    #: Whether this leaf requires grad. Non-leaves have an `_tl_edge` instead.
    requires_grad: bool = False
    #: The tensor that this one is a view of: never itself a view.
    view_base: Any = None
    #: The version of the base that the edge of a view belongs to.
    view_version: int = 0
    #: The reason why in-place operations on this view are refused while recording, or None.
    view_refuses: str | None = None
    grad_value: Any = None
    #: The dtype of gradients of this leaf: None for any, False for its own.
    grad_dtype: Any = False
    #: The edge to the node that accumulates into `grad`, once a leaf was used in a recorded operation.
    leaf_edge: tuple[Any, int] | None = None
    hooks: Any = None
    post_accumulate_hooks: Any = None
    retains_grad: bool = False
    inference: bool = False

    def keep_leaf_edge(self, edge: tuple[Any, int]) -> tuple[Any, int]:
        """Keep this edge as that of the leaf if it has none, and return the one that is kept."""
        kept = self.__dict__.setdefault("leaf_edge", edge)
        if kept is None:
            kept = self.leaf_edge = edge
        return kept  # type: ignore[no-any-return]


if not TYPE_CHECKING and _core is not None:
    # The same fields and defaults, in a C struct.
    AutogradMeta = _core.AutogradMeta


def _of_meta(name: str) -> Any:
    """Return a property of tensors that reads and writes a field of their `AutogradMeta`."""
    default = getattr(AutogradMeta(), name)

    def read(self: Any) -> Any:
        meta = self._tl_meta
        return default if meta is None else getattr(meta, name)

    def write(self: Any, value: Any) -> None:
        meta = self._tl_meta
        if meta is None:
            if value is default:
                return
            meta = self._tl_meta = AutogradMeta()
        setattr(meta, name, value)

    return property(read, write)


#: The slots of a tensor, in the order of `STATE_SOURCE`.
STATE_SLOTS = ("_tl_data", "_tl_tracked", "_tl_edge", "_tl_counter", "_tl_meta")

if TYPE_CHECKING or _core is None:

    class Storage:
        """The state of a tensor."""

        __slots__ = STATE_SLOTS

else:
    Storage = _core.Storage


class TensorBase(Storage):
    """The base class of tensors: the state that code below dispatch works on."""

    #: The class of plain results; set once by the tensor package.
    _tl_plain: ClassVar[type]

    __slots__ = ("__dict__", "__weakref__")

    _tl_data: Any
    _tl_tracked: bool
    #: (node, output number) of the operation that made this tensor.
    _tl_edge: tuple[Any, int] | None
    #: The version counter, once it was needed: see Note [Versions].
    _tl_counter: list[int] | None
    _tl_meta: AutogradMeta | None

    #: Whether this tensor belongs to a transform: see tensorlike/transforms.
    _tl_transformed: ClassVar[bool] = False

    def _tl_seed(self, gradient: Tensor) -> Any:
        """Return the gradient that backward starts with for this tensor, as its type has gradients."""
        return gradient

    _tl_requires_grad = _of_meta("requires_grad")
    _tl_view_base = _of_meta("view_base")
    _tl_view_version = _of_meta("view_version")
    _tl_view_refuses = _of_meta("view_refuses")
    _tl_grad_value = _of_meta("grad_value")
    _tl_grad_dtype = _of_meta("grad_dtype")
    _tl_leaf_edge = _of_meta("leaf_edge")
    _tl_hooks = _of_meta("hooks")
    _tl_post_accumulate_hooks = _of_meta("post_accumulate_hooks")
    _tl_retains_grad = _of_meta("retains_grad")
    _tl_inference = _of_meta("inference")


def wrap(array: Any) -> Tensor:
    """Return a plain tensor around `array`."""
    tensor: Any = _new(TensorBase._tl_plain)
    tensor._tl_data = array
    tensor._tl_tracked = False
    tensor._tl_edge = tensor._tl_counter = tensor._tl_meta = None
    return tensor  # type: ignore[no-any-return]


#: The type of tensors by the type of what stands in for their array, for saved values; see `wrap_saved`.
STAND_INS: dict[type, type] = {}


def wrap_saved(array: Any) -> Any:
    """Return a tensor around what a node saved: an array, or what stands in for that of a tensor-like type."""
    if STAND_INS and type(array) in STAND_INS:
        return wrap_as(STAND_INS[type(array)], array)
    return wrap(array)


def wrap_as(cls: type, array: Any) -> Any:
    """Return a tensor of the type `cls` around `array`, without running a constructor."""
    tensor: Any = _new(cls)
    tensor._tl_data = array
    tensor._tl_tracked = False
    tensor._tl_edge = tensor._tl_counter = tensor._tl_meta = None
    return tensor


def move_state(source: Tensor, cls: type) -> Any:
    """Return a tensor of the type `cls`, which has slots of its own, with the state and attributes of `source`.

    For a tensor without other references: its class cannot be changed in place.
    """
    other: Any = _new(cls)
    other._tl_data = source._tl_data
    other._tl_tracked = source._tl_tracked
    other._tl_edge, other._tl_counter, other._tl_meta = source._tl_edge, source._tl_counter, source._tl_meta
    other.__dict__.update(source.__dict__)
    return other


def is_view(tensor: TensorBase) -> bool:
    """Return whether `tensor` is a view of another."""
    meta = tensor._tl_meta
    return meta is not None and meta.view_base is not None


def no_history(tensor: TensorBase) -> bool:
    """Return whether neither `tensor` nor its base has a history."""
    if tensor._tl_edge is not None:
        return False
    meta = tensor._tl_meta
    if meta is None:
        return True
    if meta.requires_grad:
        return False
    base = meta.view_base
    if base is None:
        return True
    of_base = base._tl_meta  # Not the property, which takes 80 ns.
    return base._tl_edge is None and (of_base is None or not of_base.requires_grad)


def version_counter(tensor: TensorBase) -> list[int]:
    """Return the version counter of `tensor`, made on first use: see Note [Versions]."""
    counter = tensor._tl_counter
    if counter is None:
        counter = tensor._tl_counter = [0]
    return counter


class ProvidedToGraph(Provided):
    """The objects that packages above provide to the graph: see Note [Provided from above] in dispatch/provided.py."""

    __slots__ = (
        "add_arrays", "apply_transformed", "array_guard", "batched_grad", "copy_array", "grad_of_root", "refresh_view",
        "root_edge", "views",
    )  # fmt: skip

    #: `add_arrays(a, b, out)` adds raw arrays without a floating-point warning, into the third if it is given.
    add_arrays: Callable[..., Any]
    #: `copy_array(a, like=None)` copies a raw array on the device that it is on, in the order of elements of `like`.
    copy_array: Callable[..., Any]
    #: `array_guard(a)` is the context in which `a` is computed with: its device is the current one there.
    array_guard: Callable[[Any], AbstractContextManager[Any]]
    #: `root_edge(tensor)` checks a root of backward.
    root_edge: Callable[[Any], Any]
    #: `grad_of_root(tensor, gradient, index)` makes the gradient that backward starts with.
    grad_of_root: Callable[..., Any]
    #: `refresh_view(tensor)` rebuilds the edge of a view whose base got a new history.
    refresh_view: Callable[[Any], tuple[Any, int] | None]
    #: The module that knows views and in-place writes.
    views: Any
    #: Answer `Function.apply` of tensors of a transform, and `grad` of batches of gradients; None until transforms are
    #: used.
    apply_transformed: Callable[[Any, tuple[Any, ...]], Any] | None
    batched_grad: Callable[..., list[Any]] | None

    def __init__(self) -> None:
        super().__init__()
        self.apply_transformed = self.batched_grad = None


PROVIDED: Final = ProvidedToGraph()
