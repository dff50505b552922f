"""Python protocols of tensors: printing, iteration, copying, hashing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType, ModuleType
from typing import Any

import numpy as np

from tensorlike._above import above
from tensorlike._native import core as native_core
from tensorlike.autograd.node import edge_of, name_of
from tensorlike.autograd.tensor_base import TensorBase, move_state
from tensorlike.dispatch import core

from ..backends import backend_of, device_of
from ..declarations.declare import incomparable, tensor_method
from ..device import device as Device
from ..dtypes import default_complex, default_float, dtype_of
from ..history import set_requires_grad
from ..memory.views import detached
from ..parameter import Parameter
from ..propagation import attributes_of
from ..serialization import deepcopy_tensor, reduce_tensor
from ..tensor import Tensor, retyped
from ..types import Subclass

_HANDLING = (core.ask_types.__code__, core._ask_mode.__code__)


def describe(self: Any) -> str:
    """Return the text of a tensor without dispatch."""
    array = self._tl_data
    try:
        from .printing import tensor_text  # noqa: PLC0415 - 2 ms of the import
    except ImportError:
        if getattr(sys, "meta_path", None) is not None:
            raise
        # The interpreter ends, and nothing was printed before.
        return f"{type(self).__name__}({array.tolist()})"
    try:
        edge = edge_of(self) if self._tl_tracked else None
        grad_fn_name = None if edge is None or self._tl_edge is None else name_of(edge[0])
    except RuntimeError:
        # A view whose history could not follow an in-place modification of its base.
        edge, grad_fn_name = None, "Invalid"
    where = device_of(array)
    dtype = array.dtype
    name = type(self).__name__
    is_parameter = isinstance(self, Parameter)
    plain = type(self) in (Tensor, Parameter)
    return tensor_text(
        array if isinstance(array, np.ndarray) else backend_of(array).to_host(array),
        dtype_name=repr(dtype_of(dtype)).rpartition(".")[2],
        is_default_dtype=dtype in (default_float(), default_complex()),
        device=None if where.type == "cpu" else str(where),
        requires_grad=edge is not None and grad_fn_name is None,
        grad_fn_name=grad_fn_name,
        class_name="tensor" if plain else name,
        is_parameter=is_parameter and not plain,
        attributes={} if plain else attributes_of(self),
    )


def _inside_handler() -> bool:
    """Return whether this thread is inside a `__torch_function__` right now.

    Logging the arguments there must print them and not call the same handler again. Walking the frames costs nothing
    unless a tensor of an overriding type is printed. Tensors of transforms have no elements of their own: their types
    always answer.
    """
    if native_core is not None and native_core.is_handling():
        return True
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code in _HANDLING:
            return True
        frame = frame.f_back
    return False


def _described_inside_handler(args: tuple[Any, ...]) -> Any:
    inside = args and not getattr(args[0], "_tl_transformed", False) and _inside_handler()
    return describe(args[0]) if inside else NotImplemented


@tensor_method(name="__repr__", guard=False, short_circuit=_described_inside_handler)
def _repr(self: Tensor, *, tensor_contents: str | None = None) -> str:
    """Return the text of the tensor: its elements, its dtype, device and history where these are not the defaults, and
    the attributes that a subclass declares (`__tensor_attributes__`).
    """
    return describe(self)


@tensor_method(name="__format__", guard=False)
def _format(self: Tensor, format_spec: str) -> str:
    """Return the one element of a zero-dimensional tensor formatted; any other tensor as text.

    Raises TypeError for a format of another tensor.
    """
    if self._tl_data.ndim == 0 and type(self) is Tensor:
        return format(self.item(), format_spec)
    return object.__format__(self, format_spec)


@tensor_method(name="__len__", guard=False, differentiable=False)
def _len(self: Tensor) -> int:
    """Return the size of the first dimension.

    Raises TypeError for a zero-dimensional tensor.
    """
    shape = self._tl_data.shape
    if not shape:
        raise TypeError("len() of a 0-d tensor")
    return int(shape[0])


def _iter(self: Tensor) -> Iterator[Any]:
    """Return an iterator over the first dimension.

    Raises TypeError for a zero-dimensional tensor.
    """
    if self.dim() == 0:
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind(0))


# Not overridable itself, as in PyTorch, but by the functions that it calls.
Tensor.__iter__ = _iter  # type: ignore[method-assign, assignment]


@tensor_method(name="__reversed__")
def _reversed(self: Tensor) -> Tensor:
    """Return the tensor with its first dimension reversed."""
    if self.dim() == 0:
        return self
    return self.flip(0)


@tensor_method(name="__contains__", differentiable=False)
def _contains(self: Tensor, element: Any) -> bool:
    """Return whether an element of the tensor equals `element`, a number or a tensor."""
    if isinstance(element, (TensorBase, int, float, complex, np.generic)):
        return bool(self.eq(element).any().item())  # type: ignore[arg-type]
    raise RuntimeError(
        f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element).__name__}."
    )


# Tensors are compared element by element and so hashed by identity.
Tensor.__hash__ = object.__hash__  # type: ignore[method-assign]


def _dir(self: Tensor) -> list[str]:
    return sorted({*dir(type(self)), *self.__dict__})


Tensor.__dir__ = _dir  # type: ignore[method-assign, assignment]


@tensor_method(name="__deepcopy__", guard=False)
def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """Return a copy with its own memory, for `copy.deepcopy`: the type and the attributes come along.

    Raises RuntimeError for a tensor that is no leaf.
    """

    return deepcopy_tensor(self, memo)  # type: ignore[no-any-return]


@tensor_method(name="__reduce_ex__", guard=False)
def _reduce_ex(self: Tensor, proto: Any) -> Any:
    """Return the state for pickle: elements, requires_grad, type and attributes."""

    return reduce_tensor(self)


incomparable(_repr, _format, _reduce_ex)


def as_subclass(self: Tensor, cls: type[Subclass]) -> Subclass:
    """Return a tensor of the type `cls` on the same memory, at the same place in the graph.

    There is no dispatch, as in PyTorch: implementations of `__torch_function__` give results their type with
    it. Raises TypeError when `cls` is no subclass of Tensor.

    >>> class Sub(tl.Tensor):
    ...     pass
    >>> tl.ones(2).as_subclass(Sub)
    Sub([1., 1.])
    """
    if not isinstance(self, TensorBase):
        raise TypeError(f"as_subclass() is a method of Tensor and cannot be called with {type(self).__name__}")
    if not (isinstance(cls, type) and issubclass(cls, TensorBase)):
        raise TypeError(f"as_subclass(): argument 'cls' must be a subclass of Tensor, got {cls!r}")
    result = retyped(self, cls)
    if self._tl_inference:  # The mode that marks inference tensors does not see this call.
        result._tl_inference = True
    return result  # type: ignore[no-any-return]


as_subclass.__qualname__ = "Tensor.as_subclass"
Tensor.as_subclass = as_subclass  # type: ignore[assignment, method-assign]


def _array_namespace(self: Tensor, *, api_version: str | None = None) -> ModuleType:
    """Return the namespace of the Python array API standard, `tensorlike.array_api`.

    It is not dispatched: its functions are. Raises ValueError for a version of the standard that it does not follow.

    >>> tl.ones(2).__array_namespace__().__name__
    'tensorlike.array_api'
    """
    known = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
    if api_version is not None and api_version not in known:
        raise ValueError(f"__array_namespace__(): the standard's version {api_version!r} is none of {', '.join(known)}")
    namespace: ModuleType = above("array_api")
    return namespace


def _to_device(self: Tensor, device: Device | str, /, *, stream: Any = None) -> Tensor:
    """Return the array on a device, as the array API standard has it: `to` with no more than that.

    >>> tl.ones(2).to_device("cpu")
    tensor([1., 1.])
    """
    if stream is not None:
        raise ValueError("to_device(): argument 'stream' must be None: the streams of a device are CuPy's")
    return self.to(device)


for _name, _method in (("__array_namespace__", _array_namespace), ("to_device", _to_device)):
    _method.__name__, _method.__qualname__ = _name, f"Tensor.{_name}"
    setattr(Tensor, _name, _method)


def _make_subclass(cls: type, data: Tensor, require_grad: bool = False) -> Any:
    """Return `data` as a leaf of the type `cls`, sharing its memory."""
    if not isinstance(data, TensorBase):
        raise TypeError(f"_make_subclass(): argument 'data' must be Tensor, not {type(data).__name__}")

    result = retyped_leaf(detached(data), cls)
    if require_grad:
        set_requires_grad(result, True)
    return result


def retyped_leaf(tensor: Tensor, cls: type) -> Any:
    """Return a fresh leaf as an instance of `cls`."""
    try:
        tensor.__class__ = cls
    except TypeError:
        return move_state(tensor, cls)
    return tensor


Tensor._make_subclass = staticmethod(_make_subclass)  # type: ignore[method-assign]
