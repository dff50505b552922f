"""Names that a trusted file may hold beyond the table: PyTorch's own classes, and the sources of users' classes."""

from __future__ import annotations

import importlib
import inspect
import warnings
from typing import Any

from tensorlike._library_name import LIBRARY
from tensorlike.as_torch.naming import found_at_home


class SourceChangeWarning(Warning):
    """The source of a module's class is another one than when the file was written, in PyTorch's first format."""


def warn_of_change(kind: type, path: Any, source: Any) -> None:
    """Warn if a class has another source than the file says. This library's own always has: it is not PyTorch's."""
    if not isinstance(kind, type) or kind.__module__.partition(".")[0] in ("tensorlike", "torch"):
        return
    try:
        now = inspect.getsource(kind)
    except (OSError, TypeError):
        return
    if now != source:
        warnings.warn(
            f"source code of class '{kind.__module__}.{kind.__qualname__}' has changed since the file was written "
            f"(there it was in {path}).",
            SourceChangeWarning,
            stacklevel=2,
        )


def own_global(module: str, name: str) -> Any:
    """Return what this library has under the name of a class or function of PyTorch's; None without it.

    While installed as torch, it is what Python's own unpickler finds.
    """
    first, _, rest = module.partition(".")
    if first != "torch" or LIBRARY.name == "torch":
        return None
    head, *attributes = name.split(".")
    try:
        found = getattr(importlib.import_module(f"tensorlike.{rest}" if rest else "tensorlike"), head)
    except (ImportError, AttributeError):
        place = found_at_home(module, head)
        if place is None:
            return None
        found = place[0]
    for attribute in attributes:
        found = getattr(found, attribute)
    return found
