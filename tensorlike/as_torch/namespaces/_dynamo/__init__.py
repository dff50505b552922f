"""The switches of PyTorch's compiler that code for PyTorch sets. Nothing is compiled: they change nothing.

Source: PyTorch's `torch._dynamo`.
"""

from __future__ import annotations

from typing import Any

from tensorlike._above import explain_absent_names

from ..compiler import (
    allow_in_graph,
    assume_constant_result,
    disable,
    is_compiling,
    list_backends,
    reset,
    set_stance,
    substitute_in_graph,
)
from . import config

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "config",
    "disable",
    "disallow_in_graph",
    "forbid_in_graph",
    "graph_break",
    "is_compiling",
    "list_backends",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "reset",
    "set_stance",
    "substitute_in_graph",
]

explain_absent_names(__name__)


def disallow_in_graph(fn: Any) -> Any:
    """Return the function, or list of functions, itself, which PyTorch leaves out of what it compiles."""
    return fn


def forbid_in_graph(fn: Any) -> Any:
    """Return the function, or list of functions, itself, at which PyTorch refuses to compile."""
    return fn


def graph_break(msg: str = "") -> None:
    """Say that PyTorch is to stop compiling here."""


def mark_dynamic(t: Any, index: Any, **options: Any) -> None:
    """Say that the size of a dimension is to be a variable when PyTorch compiles."""


def maybe_mark_dynamic(t: Any, index: Any) -> None:
    """Say that the size of a dimension may be a variable when PyTorch compiles."""


def mark_static(t: Any, index: Any = None) -> None:
    """Say that the size of a dimension, of all without `index`, is a constant when PyTorch compiles."""


def mark_static_address(t: Any, guard: bool = False) -> None:
    """Say that the tensor keeps its memory when PyTorch compiles."""
