"""The memory behind a tensor: its storage, the order of its dimensions there, and memory that processes share."""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tensorlike.autograd.grad_mode import recording_block
from tensorlike.autograd.node import edge_of
from tensorlike.dispatch.core import outside_stacklevel
from tensorlike.tensor.attributes import data_ptr, stride
from tensorlike.tensor.declarations.declare import composite, tensor_method, undispatched
from tensorlike.tensor.dtypes import dtype_of
from tensorlike.tensor.layouts import format_name, is_arranged, memory_format
from tensorlike.tensor.memory.views import detached
from tensorlike.tensor.serialization import OWN_STATE
from tensorlike.tensor.storage import TypedStorage, UntypedStorage, storage_of

from ..shared import require_tensor
from .inplace import copy_, set_

if TYPE_CHECKING:
    from tensorlike.tensor.tensor import Tensor


@tensor_method(guard=False, differentiable=False)
def untyped_storage(self: Tensor) -> UntypedStorage:
    """Return the memory behind this tensor as bytes: the same object for every tensor on that memory.

    >>> x = tl.ones(2, 3)
    >>> x[1].untyped_storage() is x.untyped_storage(), x[1].untyped_storage().nbytes()
    (True, 24)
    """
    return storage_of(self._tl_data)


@tensor_method(guard=False, differentiable=False)
def storage(self: Tensor) -> TypedStorage:
    """Return the memory behind this tensor as elements of its dtype. Deprecated: use `untyped_storage`.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     len(tl.ones(2, 3)[1].storage())
    6
    """
    return TypedStorage(wrap_storage=storage_of(self._tl_data), dtype=dtype_of(self._tl_data.dtype))


@tensor_method(guard=False)
def storage_type(self: Tensor) -> type:
    """Return the class of the result of `storage`. Deprecated like `storage`.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     tl.ones(2).storage_type().__name__
    'TypedStorage'

    Same as PyTorch's method of that name, which has a class for each dtype.
    """
    message = "TypedStorage is deprecated; use tensor.untyped_storage()"
    warnings.warn(message, UserWarning, stacklevel=outside_stacklevel())
    return TypedStorage


@tensor_method(guard=False)
def const_data_ptr(self: Tensor) -> int:
    """Return the address of the first element, for reading only.

    >>> x = tl.ones(2)
    >>> x.const_data_ptr() == x.data_ptr()
    True

    Source: PyTorch's method of that name.
    """
    return undispatched(data_ptr)(self)


@tensor_method(guard=False, differentiable=False)
def dim_order(self: Tensor, ambiguity_check: Any = False) -> tuple[int, ...]:
    """Return the dimensions in the order of their layout in memory, the outermost first.

    With `ambiguity_check`, raises RuntimeError when another order would describe the same memory; with a list of memory
    formats, the order is one of theirs.

    >>> tl.ones(2, 3).dim_order(), tl.ones(2, 3).t().dim_order()
    ((0, 1), (1, 0))
    """
    formats = ambiguity_check if isinstance(ambiguity_check, list) else []
    if not isinstance(ambiguity_check, (bool, list)) or not all(type(f) is memory_format for f in formats):
        raise TypeError(
            "dim_order(): The ambiguity_check argument must be a bool or a list of memory formats, got "
            f"{ambiguity_check!r}"
        )
    array = self._tl_data
    steps = undispatched(stride)(self)
    if ambiguity_check is not False and (1 in array.shape or any(a == b for a, b in pairwise(steps))):
        fitting = [f for f in formats if is_arranged(array, format_name(f, "dim_order"))]
        if len(fitting) != 1:
            raise RuntimeError(
                "dim_order(): The tensor does not have unique dim order, or cannot map to exact one of the given "
                f"memory formats: shape {list(array.shape)}, stride {list(steps)}"
            )
    return _order(array.shape, steps)


def _order(shape: tuple[int, ...], steps: tuple[int, ...]) -> tuple[int, ...]:
    """Sort the dimensions by stride, the largest first; a dimension of stride 0 keeps its position."""
    found = list(range(len(shape)))[::-1]
    for last in range(1, len(found)):
        for place in range(last, 0, -1):
            inner, outer = found[place - 1], found[place]
            if steps[inner] and steps[outer]:
                if (steps[inner], shape[inner]) <= (steps[outer], shape[outer]):
                    break
                found[place - 1], found[place] = outer, inner
    return tuple(found[::-1])


@tensor_method(guard=False)
def share_memory_(self: Tensor) -> Tensor:
    """Move the memory of this tensor, and every tensor on it, to memory that processes share; return this tensor.

    Does nothing for memory that is shared already, and for that of a CUDA device. See `tensorlike.multiprocessing`.

    >>> x = tl.ones(2)
    >>> x[1:].share_memory_().is_shared(), x.is_shared()
    (True, True)
    """
    from tensorlike.tensor.shared import share  # noqa: PLC0415 - 4 ms of the import

    share(self)
    return self


@composite(guard=False, method=True, differentiable=False)
def is_inference(input: Tensor) -> bool:
    """Return whether `input` is an inference tensor: made in `inference_mode`, or a view of one that was.

    >>> with tl.inference_mode():
    ...     x = tl.ones(2)
    >>> x.is_inference(), x[0].is_inference(), x.clone().is_inference()
    (True, True, False)
    """
    require_tensor("is_inference", input)
    return bool(input._tl_inference)


@tensor_method(guard=False)
def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """Return the tensor that `load_state_dict` puts in place of this one: itself with the elements of `other`.

    With `assign` it is `other` itself, detached. Raises RuntimeError when the shapes do not fit.

    >>> tl.zeros(2).module_load(tl.ones(2))
    tensor([1., 1.])
    """
    require_tensor("module_load", other, "other")
    return detached(other if assign else undispatched(copy_)(self, other))


@tensor_method(name="__setstate__", guard=False)
def _setstate(self: Tensor, state: object) -> None:
    """Restore the state stored in an older pickle: (storage, storage_offset, size, stride), or a dict of attributes.

    Raises RuntimeError for a tensor that is no leaf.
    """
    if self._tl_tracked and edge_of(self) is not None and self._tl_edge is not None:
        raise RuntimeError("__setstate__ can be only called on leaf Tensors; detach() it first")
    if isinstance(state, dict):
        own = sorted(OWN_STATE.intersection(state))
        if own:
            raise ValueError(f"__setstate__(): a tensor's own state cannot be set by attributes: {own}")
        self.__dict__.update(state)
        return
    if not isinstance(state, tuple) or len(state) != 4:
        raise TypeError(f"__setstate__(): expected (storage, storage_offset, size, stride) or a dict, got {state!r}")
    with recording_block(False):
        undispatched(set_)(self, *state)
