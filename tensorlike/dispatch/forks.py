"""What a child process mends after a fork: locks that other threads of its parent may have held.

# Note [After a fork]
A child has one thread, the one that forked. A lock which another thread held stays locked there for ever, and what that
thread was in the middle of is never finished. So each lock of the library is replaced in the child, and each table is
written so that a build that was cut off is begun anew.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

__all__ = ["after_fork", "renew_after_fork"]


def after_fork(function: Callable[[], None]) -> None:
    """Have `function` called in each child process, where the system has forks."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=function)


def renew_after_fork(namespace: dict[str, Any], name: str, make: Callable[[], Any] = threading.RLock) -> None:
    """Have the lock that a module keeps under `name` replaced in each child process."""

    def renew() -> None:
        namespace[name] = make()

    after_fork(renew)
