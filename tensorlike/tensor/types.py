"""Names for annotations: what the declarations' signatures are written in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

__all__ = ["Indices", "Number", "ShapeLike", "Tensor"]

#: A Python number.
Number: TypeAlias = "int | float | complex"
#: What stands between the brackets of `x[...]`.
Indices: TypeAlias = Any
#: One size or several.
ShapeLike: TypeAlias = "int | Sequence[int]"
#: An operand in a declaration. To the caller it is a tensor; the kernel is handed its raw array, so that inside a
#: declaration the name promises nothing.
Tensor: TypeAlias = Any
