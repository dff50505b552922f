"""What the graph knows of a tensor: its array, its place in the graph, its version.

# Note [What a tensor stores]
A plain result stores one attribute, `_data`; everything else has a class-level default, because one store into a fresh
object costs 53 ns where five slot stores cost 80 to 110. `_tracked` is the one flag that the hot path tests: true when
recording may be needed (the tensor requires grad, or it is a view, whose base may have been given a history since).

# Note [Versions]
Everything that shares memory shares one version counter: a list of one integer, made when first needed (the first
view, the first save, the first in-place operation). In-place operations add one; saved values remember the number.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, ClassVar

__all__ = ["TensorBase", "add_arrays", "array_guard", "copy_array", "register_arithmetic", "version_counter", "wrap"]

_new = object.__new__


class TensorBase:
    """The part of a tensor that dispatch-free code works on."""

    #: The class that plain results get; set once by the tensor package.
    plain: ClassVar[type]

    _data: Any
    _tracked: bool = False
    #: Whether this leaf asks for gradients. Non-leaves have an `_edge` instead.
    _requires_grad: bool = False
    #: (node, output number) of the operation that made this tensor.
    _edge: tuple[Any, int] | None = None
    #: The tensor that this one is a view of: never itself a view.
    _view_base: Any = None
    #: The version of the base that `_edge` of a view belongs to.
    _view_version: int = 0
    #: Why in-place operations on this view are refused while gradients are recorded, if they are.
    _view_refuses: str | None = None
    _counter: list[int] | None = None
    _grad_value: Any = None
    #: The dtype that gradients of this leaf get: None for any, False for its own.
    _grad_dtype: Any = False
    #: The edge to the node that accumulates into `grad`, once a leaf was used in a recorded operation.
    _leaf_edge: tuple[Any, int] | None = None
    _hooks: Any = None
    _post_accumulate_hooks: Any = None
    _retains_grad: bool = False
    _inference: bool = False
    #: Whether a transform answers for this tensor: see tensorlike/transforms.
    _transformed: bool = False


def wrap(array: Any) -> Any:
    """Return a plain tensor around `array`."""
    tensor: Any = _new(TensorBase.plain)
    tensor._data = array
    return tensor


def version_counter(tensor: TensorBase) -> list[int]:
    """Return the version counter of `tensor`, made now if nobody needed it before: see Note [Versions]."""
    counter = tensor._counter
    if counter is None:
        counter = tensor._counter = [0]
    return counter


def _no_addition(*arrays: Any) -> Any:
    raise RuntimeError("tensorlike.autograd is used without tensorlike.tensor, which tells it how arrays are added")


#: `add_arrays[0](a, b, out)` adds raw arrays without a floating-point warning.
add_arrays: list[Callable[..., Any]] = [_no_addition]


#: `array_guard[0](a)` is the context in which `a` is computed with: its device is the current one there.
array_guard: list[Callable[[Any], AbstractContextManager[Any]]] = [_no_addition]

#: `copy_array[0](a)` copies a raw array on the device that it is on.
copy_array: list[Callable[..., Any]] = [_no_addition]


def register_arithmetic(
    add: Callable[..., Any], copy: Callable[[Any], Any], guard: Callable[[Any], AbstractContextManager[Any]]
) -> None:
    """Name the functions that add two raw arrays, into a third if given, that copy one, and that go to its device."""
    add_arrays[0] = add
    copy_array[0] = copy
    array_guard[0] = guard
