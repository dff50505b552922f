"""Type aliases for the signatures of declarations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    from .dtypes import dtype

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
#: An operand in a declaration. To the caller it is a tensor; a kernel gets its raw array, so that inside a declaration
#: the alias is Any.
Tensor: TypeAlias = Any
