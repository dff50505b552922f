"""Elementwise operations in chunks: by what their declaration says, one task for each chunk.

Adjacent ones are fused when Dask optimises the graph, so that a chunk goes through all of them in one task.
"""

from __future__ import annotations

from typing import Any

from tensorlike.dispatch.operation import Form

from .chunked import name_of
from .mapping import mapped
from .recording import arguments, record

__all__ = ["elementwise"]


def elementwise(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of an elementwise function, by one call of it for each chunk."""
    result = mapped(name_of(form), form.function, args, kwargs)
    return record(form.operation, arguments(form, args, kwargs), result)
