"""`SupportsTorchFunction`, the types of operands that answer calls themselves, for annotations."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class SupportsTorchFunction(Protocol):
    """Any object whose type defines `__torch_function__`: what public functions take beside tensors and numbers.

    Write it in annotations of functions that take tensor-like objects. `__torch_function__` may be a classmethod, a
    static method or, as in the older protocol, a method. It is called with these four arguments, by position, so that
    it may annotate `types` with `tuple[type, ...]`, `Sequence[type]`, `Iterable[type]` or `Any`.

    To a type checker the result of a function that is handed such an object is `Any`, since the object's type decides
    what it returns; the result of one that is handed tensors alone is a `Tensor`.

    >>> class Duck:
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return func.__name__
    >>> def doubled(x: tl.Tensor | tl.overrides.SupportsTorchFunction):
    ...     return tl.mul(x, 2)
    >>> doubled(Duck())
    'mul'
    >>> isinstance(Duck(), tl.overrides.SupportsTorchFunction), isinstance(1, tl.overrides.SupportsTorchFunction)
    (True, False)
    """

    def __torch_function__(
        self, func: Any, types: tuple[type, ...], args: tuple[Any, ...], kwargs: dict[str, Any], /
    ) -> Any: ...


def is_tensor_like(value: Any) -> bool:
    """Return whether `value` is a tensor, or of a type that overrides functions with `__torch_function__`."""
    return hasattr(type(value), "__torch_function__")
