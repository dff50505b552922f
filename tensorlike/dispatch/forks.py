"""Repairs in a child process after a fork: locks that other threads of its parent may have held.

# Note [After a fork]
A child has one thread, the one that forked. A lock which another thread held stays locked there for ever, and the work
of that thread is never finished. So each lock of the library is replaced in the child, and each table is written so
that an interrupted build starts again. Imports have locks that cannot be replaced: a fork waits for those of this
library and of the arrays beneath it that are under way. What is registered last runs first before a fork, and
`logging` registers that its lock is taken. So it is imported before: an import that makes a logger would else wait for
the fork, and the fork for the import.
"""

from __future__ import annotations

import contextlib
import importlib
import logging  # noqa: F401  # 2 ms; see Note [After a fork]
import os
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any, Final

_IMPORTED_LATE: Final = frozenset(("tensorlike", "numpy", "scipy"))


def after_fork(function: Callable[[], None]) -> None:
    """Register `function` to be called in each forked child process."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=function)


def renew_after_fork(namespace: dict[str, Any], name: str, make: Callable[[], Any] = threading.RLock) -> None:
    """Register the lock `name` of a module to be replaced in each child process."""

    def renew() -> None:
        namespace[name] = make()

    after_fork(renew)


def finalize_here(owner: Any, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Return a `weakref.finalize` that calls the function in this process alone: a child has a copy of `owner` as well.

    For what is shared with a child, such as processes, pipes and files, and is still in use when the copy is gone.
    """
    process = os.getpid()

    def run() -> None:
        if os.getpid() == process:
            function(*args, **options)

    return weakref.finalize(owner, run)


def _finish_imports() -> None:
    """Wait for the imports in other threads to finish."""
    for name, module in tuple(sys.modules.items()):
        if name.partition(".")[0] in _IMPORTED_LATE:
            spec = getattr(module, "__spec__", None)
            # importlib's own note of a module whose import has not ended.
            if getattr(spec, "_initializing", False):
                with contextlib.suppress(Exception):  # The import's error is for the thread that imports.
                    importlib.import_module(name)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_finish_imports)
