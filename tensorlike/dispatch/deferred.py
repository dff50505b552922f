"""Functions whose code is written when they are first called.

# Note [Code on first call]
A library of hundreds of operations has thousands of generated functions, and compiling one takes 300 microseconds. So a
generated function starts with the code of `_stub`, which all of them share; its first call writes and compiles the real
source and gives it to the same function object, so that nobody who holds the function notices. Generated code finds its
values among its globals, a dict of its own. Equal sources are compiled once; each function has a copy of the code,
since the interpreter keeps what it learns about a function with its code.
"""

from __future__ import annotations

import builtins
import linecache
import threading
from collections.abc import Callable, Mapping
from types import CodeType, FunctionType
from typing import Any

from .forks import renew_after_fork

__all__ = ["build", "compiled", "deferred", "materialize"]

_lock = threading.RLock()
renew_after_fork(globals(), "_lock")
_codes: dict[str, CodeType] = {}
#: What a function's source is written with: its label, the name it has there, and a function with its arguments.
_Pending = tuple[str, str, Callable[..., tuple[str, Mapping[str, Any]]], tuple[Any, ...]]


def _stub(*args: Any, **kwargs: Any) -> Any:
    __materialize__(__function__)  # type: ignore[name-defined]  # noqa: F821
    return __function__(*args, **kwargs)  # type: ignore[name-defined]  # noqa: F821


_STUB = _stub.__code__


def compiled(source: str, label: str) -> CodeType:
    """Return the code of the module-level source, which `linecache` is told, so that tracebacks show it."""
    code = _codes.get(source)
    if code is None:
        filename = f"<tensorlike {label} {len(_codes)}>"
        linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
        code = _codes[source] = compile(source, filename, "exec")
    return code


def build(source: str, label: str, values: Mapping[str, Any], *names: str) -> tuple[Any, ...]:
    """Run a source now and return what it defines under `names`."""
    namespace = {"__builtins__": builtins, "__name__": "tensorlike", **values}
    exec(compiled(source, label), namespace)
    return tuple(namespace[name] for name in names)


def deferred(
    label: str, name: str, write: Callable[..., tuple[str, Mapping[str, Any]]], *arguments: Any
) -> Any:
    """Return a function that is written on its first call: see Note [Code on first call].

    `write(*arguments)` returns the source, which defines a function called `name`, and the values that it uses. The
    arguments are kept as they are: a closure over four values takes 400 bytes more, and there are 2500 functions.
    """
    space: dict[str, Any] = {"__builtins__": builtins, "__name__": "tensorlike", "__materialize__": materialize}
    function: Any = FunctionType(_STUB, space, name)
    space["__function__"] = function
    space["__pending__"] = (label, name, write, arguments)
    return function


def materialize(function: Any) -> None:
    """Write the code of a deferred function now, if that has not happened."""
    if getattr(function, "__code__", None) is not _STUB:
        return
    with _lock:
        if function.__code__ is not _STUB:
            return  # Another thread has done it.
        space = function.__globals__
        pending: _Pending = space["__pending__"]
        label, name, write, arguments = pending
        source, values = write(*arguments)
        space.update(values)
        defined: dict[str, Any] = {}
        exec(compiled(source, label), space, defined)
        made = defined[name]
        code = made.__code__.replace(co_name=function.__name__)
        # The defaults of an implementation are those of its declaration, set already; a wrapper's are in its source.
        if "__keeps_defaults__" not in space:
            space["__keeps_defaults__"] = function.__defaults__ is not None or bool(function.__kwdefaults__)
        if not space["__keeps_defaults__"]:
            function.__defaults__ = made.__defaults__
            function.__kwdefaults__ = made.__kwdefaults__
        # The last step, and the one that counts: a call that an interrupt ends before it begins anew.
        function.__code__ = code
        space.pop("__pending__", None)
