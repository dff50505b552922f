"""Robust handling of foreign code, which may raise anything and misreport its own names and texts.

# Note [Which exceptions propagate]
Code under audit may raise exceptions that are no `Exception`: `SystemExit`, a class of its own, even KeyboardInterrupt.
All are findings, except for the KeyboardInterrupt of a user who presses Ctrl-C. The command line tells the two apart by
a signal handler of its own (`interrupts_noted`); where there is none, as in a call of `audit()`, every
KeyboardInterrupt ends the audit.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any, NoReturn


class _Interrupts:
    """Whether interrupts are noted, and whether there was one."""

    noted = False
    received = False


def _interrupt(number: int, frame: Any) -> None:
    _Interrupts.received = True
    raise KeyboardInterrupt


def interrupted() -> NoReturn:
    """Raise the user's interrupt, which another process has received."""
    _Interrupts.received = _Interrupts.noted
    raise KeyboardInterrupt


@contextlib.contextmanager
def interrupts_noted() -> Iterator[None]:
    """Distinguish the user's interrupts from exceptions of the code: see Note [Which exceptions propagate]."""
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _interrupt)
    _Interrupts.noted, _Interrupts.received = True, False
    try:
        yield
    finally:
        _Interrupts.noted = _Interrupts.received = False
        signal.signal(signal.SIGINT, signal.default_int_handler)


def let_through(error: BaseException | None = None) -> None:
    """Raise the user's interrupt, also one that code under audit has swallowed; return for all else."""
    if _Interrupts.received:
        raise KeyboardInterrupt
    if isinstance(error, KeyboardInterrupt) and not _Interrupts.noted:
        raise error


@contextlib.contextmanager
def process_restored() -> Iterator[None]:
    """Undo changes of code under audit to the process: its folder, its recursion limit, its profile function."""
    folder: str | None = None
    with contextlib.suppress(OSError):
        folder = os.getcwd()
    limit, profile, tracing = sys.getrecursionlimit(), sys.getprofile(), sys.gettrace()
    try:
        yield
    finally:
        if sys.getrecursionlimit() != limit:
            sys.setrecursionlimit(limit)
        sys.setprofile(profile)
        if sys.gettrace() is not tracing:
            sys.settrace(tracing)
        if folder is not None:
            with contextlib.suppress(OSError):
                os.chdir(folder)


# ---------------------------------------------------------------------------------------------------------------- names

# The descriptors of `type` itself: a metaclass may define its own `__getattribute__`, or properties of these names.
_NAME, _MRO = type.__dict__["__name__"].__get__, type.__dict__["__mro__"].__get__
_QUALNAME, _MODULE = type.__dict__["__qualname__"].__get__, type.__dict__["__module__"].__get__


def name_of(kind: type) -> str:
    """Return the name of a type, bypassing its metaclass."""
    return one_line(_NAME(kind))


def module_of(kind: type) -> str:
    """Return the name of the module of a type, bypassing its metaclass."""
    try:
        found = _MODULE(kind)
    except AttributeError:
        return "?"
    # A class body may set it to anything.
    return one_line(found) if isinstance(found, str) else "?"


def qualified_name(kind: type) -> str:
    """Return the name of a type with its module and the classes that it is in."""
    return f"{module_of(kind)}.{one_line(_QUALNAME(kind))}"


def mro_of(kind: type) -> tuple[type, ...]:
    """Return a type and its bases in the order of lookup."""
    found: tuple[type, ...] = _MRO(kind)
    return found


# ---------------------------------------------------------------------------------------------------------------- texts


def printable(text: str) -> str:
    """Return a text with escapes for characters that cannot be printed or encoded, except for newlines."""
    return "".join([c if c.isprintable() or c == "\n" else _escaped(c) for c in str.expandtabs(text)])


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


#: The address in the default `repr` of an object, which is another one in every run.
_ADDRESS = re.compile(r"(?<= at )0x[0-9A-Fa-f]{6,16}\b")


def one_line(text: str) -> str:
    """Return a text in one line that can be printed, without addresses of objects."""
    # The methods of `str` itself: what `__str__` returns may be of a subclass.
    return printable(_ADDRESS.sub("0x…", " ".join(str.split(text))))


def text_of_error(error: BaseException) -> str:
    """Return the text of an exception in one line; or a note that its `__str__` raises."""
    try:
        return one_line(str(error))
    except BaseException as raised:
        let_through(raised)
        return f"<its text raises {name_of(type(raised))}>"


def described(error: BaseException) -> str:
    """Return an exception's type and text in one line."""
    text, name = text_of_error(error), name_of(type(error))
    return f"{name}: {text}" if text else name
