"""Type aliases for the signatures of declarations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    import numpy as np

    from .dtypes import dtype
    from .tensor import Tensor as Tensor

    #: A raw array, which a kernel gets and returns where the caller of its operation has tensors: a declaration's
    #: `Array` is published as `Tensor`. NumPy's type stands for other libraries' arrays, which have its interface.
    Array: TypeAlias = "np.ndarray[tuple[int, ...], np.dtype[Any]]"

    class Namespace(Protocol):
        """An array library's functions, which are spelled as NumPy's; the results of those most used are known."""

        def __getattr__(self, name: str, /) -> Any: ...
        @property
        def arange(self) -> Callable[..., Array]: ...
        @property
        def asarray(self) -> Callable[..., Array]: ...
        @property
        def ascontiguousarray(self) -> Callable[..., Array]: ...
        @property
        def broadcast_to(self) -> Callable[..., Array]: ...
        @property
        def concatenate(self) -> Callable[..., Array]: ...
        @property
        def conj(self) -> Callable[..., Array]: ...
        @property
        def cumsum(self) -> Callable[..., Array]: ...
        @property
        def empty(self) -> Callable[..., Array]: ...
        @property
        def equal(self) -> Callable[..., Array]: ...
        @property
        def exp(self) -> Callable[..., Array]: ...
        @property
        def expand_dims(self) -> Callable[..., Array]: ...
        @property
        def full(self) -> Callable[..., Array]: ...
        @property
        def isnan(self) -> Callable[..., Array]: ...
        @property
        def less(self) -> Callable[..., Array]: ...
        @property
        def log(self) -> Callable[..., Array]: ...
        @property
        def matmul(self) -> Callable[..., Array]: ...
        @property
        def moveaxis(self) -> Callable[..., Array]: ...
        @property
        def ones(self) -> Callable[..., Array]: ...
        @property
        def sqrt(self) -> Callable[..., Array]: ...
        @property
        def subtract(self) -> Callable[..., Array]: ...
        @property
        def swapaxes(self) -> Callable[..., Array]: ...
        @property
        def take_along_axis(self) -> Callable[..., Array]: ...
        @property
        def tanh(self) -> Callable[..., Array]: ...
        @property
        def true_divide(self) -> Callable[..., Array]: ...
        @property
        def where(self) -> Callable[..., Array]: ...
        @property
        def zeros(self) -> Callable[..., Array]: ...

else:
    # Not evaluated: annotations are text.
    Array = Namespace = Tensor = Any

#: The type that `as_subclass` is asked for.
Subclass = TypeVar("Subclass")

#: A Python number, as the public stubs spell `Number`.
PythonNumber: TypeAlias = "int | float | complex"
#: An operand that may be a number. To the caller it is a Python number; a kernel may get a zero-dimensional array for
#: it.
Number: TypeAlias = Any
#: The index of `x[...]`.
Indices: TypeAlias = Any
#: A dtype, or the Python type that stands for one.
DtypeLike: TypeAlias = "dtype | type[bool] | type[int] | type[float] | type[complex]"
#: One size or several.
ShapeLike: TypeAlias = "int | Sequence[int]"
