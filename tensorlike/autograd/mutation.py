"""Modifying saved tensors: `allow_mutation_on_saved_tensors`, `increment_version`."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tensorlike.dispatch.operation import form_of
from tensorlike.dispatch.state import STATE

from .node import Packed, unpack_raw
from .saved import saved_tensors_hooks
from .tensor_base import PROVIDED, TensorBase, version_counter, wrap

if TYPE_CHECKING:
    from tensorlike.tensor import Tensor

    from .node import Node

__all__ = ["allow_mutation_on_saved_tensors", "increment_version"]


class _Kept:
    """A saved value in the memory of the forward pass, until that is about to be written."""

    __slots__ = ("__weakref__", "node", "saved")

    def __init__(self, saved: tuple[Any, Any, int], node: Any) -> None:
        self.saved, self.node = saved, node

    def copy(self) -> None:
        """Copy the value to new memory."""
        array = self.saved[0]
        with PROVIDED.array_guard(array):
            self.saved = (PROVIDED.copy_array(array), [0], 0)


class _Allowing(saved_tensors_hooks):
    def __init__(self) -> None:
        super().__init__(lambda tensor: tensor, lambda kept: wrap(unpack_raw(kept.saved, kept.node)))
        self.kept: dict[int, weakref.WeakSet[_Kept]] = {}

    def pack(self, array: Any, counter: list[int] | None, version: int, node: Node) -> Packed:
        kept = _Kept((array, counter, version), weakref.proxy(node))
        self.kept.setdefault(id(counter), weakref.WeakSet()).add(kept)
        return Packed(kept, self.unpack_hook)

    def __torch_function__(
        self, func: Callable[..., Any], types: tuple[type, ...], args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # fmt: skip
        form = form_of(func)
        if form is not None:
            if not form.of_library and not types:
                # Its name shows its writes at best: the calls that it makes are observed instead.
                with self:
                    return form.implementation(*args, **(kwargs or {}))
            for argument in form.written(args, kwargs or {}):
                for tensor in argument if isinstance(argument, (tuple, list)) else (argument,):
                    self.copy_saved(tensor)
        return super().__torch_function__(func, types, args, kwargs)

    def copy_saved(self, tensor: Tensor) -> None:
        """Copy the saved values on the memory of `tensor`, which is about to be written."""
        if isinstance(tensor, TensorBase) and tensor._tl_counter is not None:
            for kept in self.kept.pop(id(tensor._tl_counter), ()):
                if kept.saved[1] is tensor._tl_counter:
                    kept.copy()

    def clear(self) -> None:
        """Drop the saved values."""
        self.kept.clear()


@contextlib.contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_Allowing]:
    """Allow in-place operations in this block on saved values, which are copied first.

    Raises RuntimeError inside another such block.

    >>> x = tl.ones(2, requires_grad=True)
    >>> with tl.autograd.graph.allow_mutation_on_saved_tensors():
    ...     y = x.clone()
    ...     out = (y**2).sum()
    ...     _ = y.sin_()
    ...     out.backward()
    >>> x.grad
    tensor([2., 2.])
    """
    if any(isinstance(activation.mode, _Allowing) and not activation.over for activation in STATE.get().observers):
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    with _Allowing() as context:
        try:
            yield context
        finally:
            context.clear()


def increment_version(tensor: Tensor) -> None:
    """Count a modification of the memory of a tensor, or of each of several, as in-place operations do.

    For code that writes to the memory by other means: a backward that needs the old values then raises. Raises
    RuntimeError for values other than tensors and iterables of tensors.

    >>> x = tl.ones(2)
    >>> tl.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    tensors = (tensor,) if isinstance(tensor, TensorBase) else tensor
    if not isinstance(tensors, Iterable):
        raise RuntimeError(f"increment_version expects a Tensor or an Iterable[Tensor], got {type(tensor).__name__}")
    for one in tensors:
        if not isinstance(one, TensorBase):
            raise RuntimeError(f"increment_version expects each element to be a Tensor, got {type(one).__name__}")
        if not one._tl_inference:
            version_counter(one)[0] += 1
