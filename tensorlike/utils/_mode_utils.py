"""Helpers for modes, under PyTorch's names."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

__all__ = ["all_same_mode", "no_dispatch"]


def all_same_mode(modes: Sequence[Any]) -> bool:
    """Return whether all modes equal the first."""
    return all(mode == modes[0] for mode in modes)


class no_dispatch(nullcontext[None]):
    """A context without `__torch_dispatch__`, which nothing is dispatched to here: it changes nothing."""
