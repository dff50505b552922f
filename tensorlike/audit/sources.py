"""Where a type's `__torch_function__` is written: the place that annotations and code scanning point at."""

from __future__ import annotations

import inspect
import os
from types import CodeType
from typing import NamedTuple

from .foreign import let_through, module_of, mro_of


class Source(NamedTuple):
    """A line of a file. The path has forward slashes, and is relative where the file lies below the current folder."""

    path: str
    line: int

    @property
    def relative(self) -> bool:
        """Whether the file lies below the folder that the audit was run in, which is that of the project."""
        return not os.path.isabs(self.path)


def shown_path(file: str) -> str:
    """Return the path of a file with forward slashes, relative where it lies below the current folder."""
    # The real paths: a checkout may be reached through a link.
    full, folder = os.path.realpath(file), os.path.realpath(os.curdir)
    if full.startswith(os.path.join(folder, "")):
        full = os.path.relpath(full, folder)
    return full.replace(os.sep, "/")


def source_of(kind: type) -> Source | None:
    """Return where the `__torch_function__` of a type is written, or else the class; None when neither is known.

    The implementation that a type inherits from a base class of the user's is the one that answers. That of the
    library's own tensor is not the user's to change, so that a subclass without one is shown where it is defined.
    """
    for owner in mro_of(kind):
        if _is_of_a_library(owner):
            break
        raw = vars(owner).get("__torch_function__")
        if raw is not None:
            code = _code_of(raw)
            if code is not None and os.path.isfile(code.co_filename):
                return Source(shown_path(code.co_filename), code.co_firstlineno)
            break
    try:
        file = inspect.getsourcefile(kind)
        if file is None or not os.path.isfile(file):
            return None
        return Source(shown_path(file), inspect.getsourcelines(kind)[1])
    except BaseException as error:  # Built in, or made by code that was never in a file; or the class objects.
        let_through(error)
        return None


def _is_of_a_library(owner: type) -> bool:
    """Return whether a class is the plain tensor of a library."""
    module = module_of(owner)
    return module in ("torch", "torch._tensor") or module.startswith("tensorlike.tensor.")


def _code_of(raw: object) -> CodeType | None:
    function = getattr(raw, "__func__", raw)
    if callable(function):
        function = inspect.unwrap(function)
    code = getattr(function, "__code__", None)
    return code if isinstance(code, CodeType) else None
