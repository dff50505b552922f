"""Marks of code that PyTorch may trace. Nothing is traced here: the Python that is given runs.

Source: PyTorch's `torch.fx`.
"""

from __future__ import annotations

from typing import TypeVar

from tensorlike._above import explain_absent_names

__all__ = ["wrap"]

explain_absent_names(__name__)

_T = TypeVar("_T")


def wrap(fn_or_name: _T) -> _T:
    """Return the function, or its name, which PyTorch's tracing would take for one step.

    >>> @tl.fx.wrap
    ... def double(x):
    ...     return 2 * x
    >>> double(3)
    6
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    return fn_or_name
