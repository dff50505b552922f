"""The native core: an optional extension module in C, which answers plain calls without running Python.

Everything is written in Python first. The core reads the same Operation objects, and leaves each call that it does not
know to Python. `core` is the module, or None in pure mode; `reason` says why it is None.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

__all__ = ["core", "function_types", "paused", "reason"]


def _can_run_without_lock() -> bool:
    import sysconfig  # It takes milliseconds.

    return bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


def _load() -> tuple[Any, str]:
    if os.environ.get("TENSORLIKE_PURE", "0") not in ("", "0"):
        return None, "switched off by TENSORLIKE_PURE"
    if sys.implementation.name != "cpython":
        return None, f"it is written for CPython, and this is {sys.implementation.name}"
    if sys.version_info >= (3, 13) and _can_run_without_lock():
        # An extension that does not say it can do without the lock would switch it back on for the whole process.
        return None, "it does not support CPython without the global interpreter lock"
    try:
        return importlib.import_module(f"{__name__}.core"), ""
    except ModuleNotFoundError:
        return None, "it was not built: there was no C compiler when the library was installed"
    except ImportError as error:
        return None, f"it cannot be loaded: {error}"


core, reason = _load()

#: The types of Python functions, public functions among them.
function_types: tuple[type, ...] = (FunctionType,) if core is None else (FunctionType, core.Function)


@contextmanager
def paused() -> Iterator[None]:
    """Return a context in which Python answers every call, in all threads: for tools that watch its frames."""
    if core is None:
        yield
        return
    core.pause(1)
    try:
        yield
    finally:
        core.pause(-1)
