"""Named tuples that operations with several results return, such as `tensorlike.return_types.sort`."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

__all__ = ["return_type"]

_made: dict[str, Any] = {}


def return_type(name: str, fields: tuple[str, ...]) -> Any:
    """Return a function that makes the named tuple of the operation `name` from a list of its fields."""
    kind = _made.get(name)
    if kind is None:
        made: Any = namedtuple(name, fields)  # type: ignore[misc]
        made.__module__ = "tensorlike.return_types"
        made.__repr__ = _text  # type: ignore[method-assign]
        kind = _made[name] = made
        globals()[name] = made
    return kind._make


def _text(self: Any) -> str:
    fields = ",\n".join(f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True))
    return f"tensorlike.return_types.{type(self).__name__}(\n{fields})"
