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


_REBUILD = "build it again, as by `python -m pip install -e .`"


def _load() -> tuple[Any, str]:
    if os.environ.get("TENSORLIKE_PURE", "") not in ("", "0"):
        return None, "switched off by TENSORLIKE_PURE"
    if sys.implementation.name != "cpython":
        return None, f"it is written for CPython, and this is {sys.implementation.name}"
    # Python's guide to free threading names sys.version for this; to ask sysconfig takes milliseconds of the import.
    if "free-threading build" in sys.version:
        # An extension that does not say it can do without the lock would switch it back on for the whole process.
        return None, "it does not support CPython without the global interpreter lock (docs/decisions/0014)"
    try:
        module = importlib.import_module(f"{__name__}.core")
    except ModuleNotFoundError:
        return None, (
            "it was not built for this Python: there was no C compiler when the library was installed, or it failed; "
            "`python -m pip install -v` shows its output"
        )
    except ImportError as error:
        return None, f"it cannot be loaded: {error}"
    stale = _stale(module)
    return (None, stale) if stale else (module, "")


def _stale(module: Any) -> str:
    """Return why a core does not belong to the Python files around it, "" where it does."""
    from pathlib import Path  # noqa: PLC0415 - 3 ms, which pure mode need not pay

    from .fingerprint import fingerprint  # noqa: PLC0415 - it needs pathlib

    # The package is being imported, and has set its version by now.
    version = sys.modules["tensorlike"].__version__
    if getattr(module, "version", "") != version:
        return f"it was built for version {getattr(module, 'version', '') or 'unknown'}, not {version}: {_REBUILD}"
    # Sources lie here in a checkout alone, where the files of one version change.
    sources = fingerprint(Path(__file__).parent)
    if sources and module.fingerprint != sources:
        return f"its C sources have changed since it was built: {_REBUILD}"
    return ""


core, reason = _load()

#: The types of Python functions, public functions among them.
function_types: tuple[type, ...] = (FunctionType,) if core is None else (FunctionType, core.Function)


@contextmanager
def paused() -> Iterator[None]:
    """Return a context in which Python answers every call, in all threads: for tools that watch its frames."""
    pause = None if core is None else core.pause()
    try:
        yield
    finally:
        del pause
