"""`swap_tensors`, which PyTorch has in `torch.utils`."""

from __future__ import annotations

import sys
import weakref
from typing import Any

from tensorlike._library_name import LIBRARY
from tensorlike.autograd.tensor_base import STATE_SLOTS, TensorBase

__all__ = ["swap_tensors"]


def _slots(kind: type) -> set[str]:
    """Return the names of the slots that subclasses of tensors added."""
    found: set[str] = set()
    for base in kind.__mro__[: kind.__mro__.index(TensorBase)]:
        names = base.__dict__.get("__slots__", ())
        found.update((names,) if isinstance(names, str) else names)
    return found


def _check(name: str, tensor: Any) -> None:
    """Raise RuntimeError for a tensor that other objects than its holders know by its identity."""
    edge = tensor._tl_leaf_edge
    if weakref.getweakrefcount(tensor) > (edge is not None):
        raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    # Held by the leaf, the variable here and the argument of the call; its node by the edge and the argument.
    if edge is not None and (sys.getrefcount(edge) > 3 or sys.getrefcount(edge[0]) > 2):
        raise RuntimeError(
            f"Cannot swap {name} because a graph was recorded with it: call backward() or drop its results"
        )


def swap_tensors(t1: Any, t2: Any) -> None:
    """Exchange two tensors: the types, attributes, elements and gradients that their holders find.

    Raises RuntimeError for a tensor with weak references, one that a recorded graph leads to, and types whose slots
    differ.

    >>> x, y = tl.ones(2), tl.nn.Parameter(tl.zeros(3))
    >>> tl.utils.swap_tensors(x, y)
    >>> x, y
    (Parameter containing:
    tensor([0., 0., 0.], requires_grad=True), tensor([1., 1.]))
    """
    for value in (t1, t2):
        if not isinstance(value, TensorBase):
            raise TypeError(f"swap_tensors(): expected two {LIBRARY}.Tensor, got {type(value).__name__}")
    if t1 is t2:
        return
    _check("t1", t1)
    _check("t2", t2)
    slots = _slots(type(t1))
    if slots != _slots(type(t2)):
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
    unset = object()
    for name in (*STATE_SLOTS, *slots):
        one, other = getattr(t1, name, unset), getattr(t2, name, unset)
        for tensor, value in ((t1, other), (t2, one)):
            if value is not unset:
                setattr(tensor, name, value)
            elif hasattr(tensor, name):
                delattr(tensor, name)
    for tensor in (t1, t2):
        if tensor._tl_leaf_edge is not None:
            tensor._tl_leaf_edge[0]._leaf = weakref.ref(tensor)
