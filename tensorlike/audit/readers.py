"""The readers of what results must share with their operand, as options name it."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Any

from .making import evaluated
from .metadata import Metadata, attribute_reader


def readers(given: Iterable[Any], module: ModuleType, kind: type) -> tuple[Metadata, ...]:
    """Return what --metadata names: attributes and functions as they are, other expressions evaluated in a module."""
    found = []
    for one in given:
        is_expression = isinstance(one, str) and not all(part.isidentifier() for part in one.split("."))
        read = attribute_reader(evaluated(one, "--metadata", module, kind) if is_expression else one, "--metadata")
        found.append(read._replace(name=one) if isinstance(one, str) else read)
    return tuple(found)
