"""Names for annotations: what the declarations' signatures are written in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

__all__ = ["Indices", "Number", "ShapeLike"]

#: A Python number.
Number: TypeAlias = "int | float | complex"
#: What stands between the brackets of `x[...]`.
Indices: TypeAlias = Any
#: One size or several.
ShapeLike: TypeAlias = "int | Sequence[int]"
