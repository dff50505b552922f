"""Pinned memory: the copy of a batch from which a GPU reads fastest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .collate import like_mapping, like_sequence

__all__ = ["pin_memory"]


def pin_memory(data: Any, device: object = None) -> Any:
    """Return `data` with all that has a method `pin_memory`, nested parts too, replaced by its result."""
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, Mapping):
        return like_mapping(data, lambda: {key: pin_memory(item, device) for key, item in data.items()})
    if isinstance(data, tuple):
        items = [pin_memory(item, device) for item in data]
        return type(data)(*items) if hasattr(data, "_fields") else type(data)(items)
    if isinstance(data, Sequence):
        return like_sequence(data, lambda: [pin_memory(item, device) for item in data])
    return data
