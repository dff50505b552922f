"""The names that extension code imports from where PyTorch defines those of `torch.jit`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Dict, Final, List, Optional, Tuple, Union  # noqa: UP035

from .jit import _drop, _overload, _overload_method, annotate, export, ignore, is_scripting, is_tracing, unused
from .jit import isinstance as _isinstance
from .jit.annotations import (
    BroadcastingList1,
    BroadcastingList2,
    BroadcastingList3,
    BroadcastingList4,
    BroadcastingList5,
    BroadcastingList6,
)

__all__ = [
    "BroadcastingList1",
    "BroadcastingList2",
    "BroadcastingList3",
    "BroadcastingList4",
    "BroadcastingList5",
    "BroadcastingList6",
    "Dict",
    "Final",
    "List",
    "Optional",
    "Tuple",
    "Union",
    "_copy_to_script_wrapper",
    "_drop",
    "_isinstance",
    "_overload",
    "_overload_method",
    "annotate",
    "boolean_dispatch",
    "export",
    "ignore",
    "is_scripting",
    "is_tracing",
    "unused",
]


def _copy_to_script_wrapper(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method, which a scripted module would have as well: it is the module itself."""
    return fn


def boolean_dispatch(
    arg_name: str, arg_index: int, default: bool, if_true: Callable[..., Any], if_false: Callable[..., Any],
    module_name: str, func_name: str,
) -> Callable[..., Any]:  # fmt: skip
    """Return a function that calls `if_true` or `if_false`, as the argument `arg_name` is; its default is `default`."""

    def fn(*args: Any, **kwargs: Any) -> Any:
        given = args[arg_index] if arg_index < len(args) else kwargs.get(arg_name, default)
        return (if_true if given else if_false)(*args, **kwargs)

    fn.__doc__ = if_false.__doc__ or if_true.__doc__
    fn.__module__ = module_name or fn.__module__
    fn.__name__ = func_name or fn.__name__
    return fn
