"""Functions whose code is generated on the first call.

# Note [Code on first call]
A library of hundreds of operations has thousands of generated functions, and compiling one takes 300 microseconds. So a
generated function starts with the code of `_stub`, which all of them share; its first call writes and compiles the real
source and gives it to the same function object, so that references to the function stay valid. Generated code finds its
values among its globals, a dict of its own. Equal sources are compiled once; each function has a copy of the code,
since the interpreter keeps what it learns about a function with its code.

The copy's file name says which function it is, in every run the same: `<tensorlike wrapper of tensorlike.add>`.
`linecache` knows the lines under that name, so that tracebacks and debuggers show them, and
`python -m tensorlike.dispatch.generated NAME` prints them.
"""

from __future__ import annotations

import builtins
import linecache
import threading
from collections.abc import Callable, Mapping
from types import CodeType, FunctionType
from typing import Any

from tensorlike._native import core

from .forks import renew_after_fork

__all__ = ["build", "deferred", "is_pending", "materialize", "python_function", "sources"]

_lock = threading.RLock()
renew_after_fork(globals(), "_lock")
#: The compiled code of every source, and its lines.
_codes: dict[str, tuple[CodeType, list[str]]] = {}
#: How to write a function's source: its kind, its name in the source, and the writer with its arguments.
_Pending = tuple[str, str, Callable[..., tuple[str, Mapping[str, Any]]], tuple[Any, ...]]


def _stub(*args: Any, **kwargs: Any) -> Any:
    __materialize__(__function__)  # type: ignore[name-defined]  # noqa: F821
    try:
        return __function__(*args, **kwargs)  # type: ignore[name-defined]  # noqa: F821
    except BaseException as error:
        # The traceback of a first call is that of every other: a bare `raise` does not add this frame again.
        error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
        raise


_STUB = _stub.__code__


def file_name(label: str, source: str) -> str:
    """Return the file name of generated code, and tell `linecache` its lines.

    Two functions of one name, such as a user's function that is defined twice, are told apart by a number.
    """
    lines = _codes[source][1]
    name, number = f"<tensorlike {label}>", 1
    while (known := linecache.cache.get(name)) is not None and known[2:3] != (lines,):
        number += 1
        name = f"<tensorlike {label}, {number}>"
    linecache.cache[name] = (len(source), None, lines, name)
    return name


def _renamed(code: CodeType, filename: str, **names: str) -> CodeType:
    """Return a copy of `code`, and of the code inside it, that belongs to another file."""
    inside = tuple(_renamed(c, filename) if type(c) is CodeType else c for c in code.co_consts)
    return code.replace(co_filename=filename, co_consts=inside, **names)  # type: ignore[arg-type]


def compiled(source: str) -> CodeType:
    """Return the code of a module-level source."""
    known = _codes.get(source)
    if known is None:
        known = _codes[source] = (compile(source, "<tensorlike>", "exec"), source.splitlines(True))
    return known[0]


def build(source: str, label: str, values: Mapping[str, Any], *names: str) -> tuple[Any, ...]:
    """Run a source now and return what it defines under `names`."""
    namespace = {"__builtins__": builtins, "__name__": "tensorlike", **values}
    code = compiled(source)
    exec(_renamed(code, file_name(label, source)), namespace)
    return tuple(namespace[name] for name in names)


def deferred(
    kind: str, name: str, write: Callable[..., tuple[str, Mapping[str, Any]]], *arguments: Any
) -> Any:
    """Return a function that is written on its first call: see Note [Code on first call].

    `write(*arguments)` returns the source, which defines a function called `name`, and the values that it uses. The
    file name consists of `kind`, which says what the function is for, and the function's dotted name. The arguments are
    kept as they are: a closure over four values takes 400 bytes more, and there are 2500 functions.
    """
    space: dict[str, Any] = {"__builtins__": builtins, "__name__": "tensorlike", "__materialize__": materialize}
    function: Any = FunctionType(_STUB, space, name)
    space["__function__"] = function
    space["__pending__"] = (kind, name, write, arguments)
    return function


def is_pending(function: Any) -> bool:
    """Return whether `function` is a deferred function whose code has not been written yet."""
    return getattr(function, "__code__", None) is _STUB


def python_function(function: Any) -> Any:
    """Return the Python function of a public function: that behind an object of the native core, or the function."""
    return function if core is None or type(function) is not core.Function else function._tl_python


def sources() -> list[str]:
    """Return every distinct source that has been compiled, in the order of first use."""
    return list(_codes)


def materialize(function: Any) -> None:
    """Write the code of a deferred function now, if that has not happened."""
    if not is_pending(function):
        return
    with _lock:
        if function.__code__ is not _STUB:
            return  # Another thread has done it.
        space = function.__globals__
        pending: _Pending = space["__pending__"]
        kind, name, write, arguments = pending
        source, values = write(*arguments)
        space.update(values)
        defined: dict[str, Any] = {}
        exec(compiled(source), space, defined)
        made = defined[name]
        qualname = function.__qualname__
        code = _renamed(
            made.__code__,
            file_name(f"{kind} of {function.__module__}.{qualname}", source),
            co_name=function.__name__,
            co_qualname=qualname,
        )
        # The defaults of an implementation are those of its declaration, set already; a wrapper's are in its source.
        if "__keeps_defaults__" not in space:
            space["__keeps_defaults__"] = function.__defaults__ is not None or bool(function.__kwdefaults__)
        if not space["__keeps_defaults__"]:
            function.__defaults__ = made.__defaults__
            function.__kwdefaults__ = made.__kwdefaults__
        # The last step, which takes effect: after an interrupt before it, the next call starts again.
        function.__code__ = code
        space.pop("__pending__", None)
