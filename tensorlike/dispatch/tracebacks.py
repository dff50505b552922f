"""Errors as the caller sees them: tracebacks without the library's own frames, messages that name what was called.

# Note [Whose frames are shown]
An error about what a caller did should show the caller's lines, not the ten frames between them and the `raise`. So the
frames of the library are taken out of the traceback where an error leaves it: at every public function (`wrap.py`, and
the native core's `Function`, which asks `shorten` here), at `Module.__call__`, and at the other functions that users
call and that have helpers, by the decorator `short_tracebacks`. It is the real `__traceback__`, so that Python, pytest
and notebooks agree. Each takes out the frames up to the first one of other code. Frames of the user's code stay where
they are: in hooks, modules, `__torch_function__`, functions under a transform.

An error that the library did not mean keeps all frames, so that it can be mended. Meant is what was raised by a `raise`
statement of the library, told from a failed call or operator by the innermost frame's current instruction; arguments
that Python could not bind to what a function hands them on to; and what the system refuses. An `assert` without a
message is never meant. What was meant is marked as such, since the frame that tells is gone when the error reaches the
next function.

An exception that was caught inside the library is no context of the error either: the caller's own stays.

With TENSORLIKE_TRACEBACK=full in the environment, which is read at import, all frames and contexts are shown.

# Note [Whose name is in front]
The message of an error that is meant names the function that the user wrote: `split(): ` in front of what the functions
below it say, unless they say it themselves. The text behind it is PyTorch's. It is put there where frames are taken
out: every public function that the error leaves, and those with the decorator `named_errors`, do so in place of the
one inside, up to code of the user's, so that the outermost call is the one that is named. A handler that leaves the
call to `super().__torch_function__` is such code, so that names the function, too. `a + b` is named `add`, as
PyTorch names it. `x[5]`, `x.T`, `len(x)` and a module that is called have no name to say, and leave one that is there.
Assertions are about values, and no mistake of a call. A call that succeeds pays nothing.
"""

from __future__ import annotations

import functools
import opcode
import os
import re
import sys
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

if TYPE_CHECKING:
    from .operation import Form

F = TypeVar("F", bound=Callable[..., Any])
E = TypeVar("E", bound=BaseException)

#: Whether all frames are shown.
FULL: Final = os.environ.get("TENSORLIKE_TRACEBACK") == "full"
_PACKAGE: Final = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
_RAISE: Final = opcode.opmap["RAISE_VARARGS"]
_HAND_ON: Final = opcode.opmap["CALL_FUNCTION_EX"]
#: What Python says of arguments that do not fit a signature.
_BINDING = re.compile(r"\) (missing \d+ required |takes |got (an unexpected|multiple values|some positional))")
#: What the library computes with: their frames belong to its own where it called them.
_DEPENDENCIES: Final = frozenset(("numpy", "scipy"))


#: Whose code is in a file. Looking up takes half as long as comparing paths.
_OTHERS, _OWN, _DEPENDENCY = range(3)
FILES: dict[str, int] = {}


def _kind_of(frame: FrameType) -> int:
    """Return whose code a frame runs."""
    file = frame.f_code.co_filename
    if file not in FILES:
        name = frame.f_globals.get("__name__")
        top = name.partition(".")[0] if isinstance(name, str) else ""
        if file.startswith(_PACKAGE):
            kind = _OWN
        elif file.startswith("<"):  # Typed in, or generated, whatever module it is in; or Python's import.
            kind = _DEPENDENCY if file.startswith("<frozen ") else _OTHERS
        else:
            kind = _DEPENDENCY if top in _DEPENDENCIES or top in sys.stdlib_module_names else _OTHERS
        FILES[file] = kind
    return FILES[file]


def _is_meant(error: Exception, innermost: TracebackType, kind: int) -> bool:
    """Return whether an error that no user's code raised is meant: see Note [Whose frames are shown].

    `kind` is whose code raised it.
    """
    if kind == _OWN:
        instruction = innermost.tb_frame.f_code.co_code[innermost.tb_lasti]
        if instruction == _RAISE:
            return not isinstance(error, AssertionError) or bool(error.args)
        if instruction == _HAND_ON and isinstance(error, TypeError):
            return bool(_BINDING.search(str(error)))
    return isinstance(error, (OSError, MemoryError))


def shorten(error: Exception, left: Callable[..., Any] | str = "") -> None:
    """Take the library's frames out of the traceback of an error: see Note [Whose frames are shown].

    The caller, in whose frame the error is handled, raises it again. Interrupts and exits are left as they are. The
    message names the function that the error has `left`, where that is a public one or a name: see Note [Whose name is
    in front].
    """
    first = innermost = at = error.__traceback__
    known, kind = FILES.get, None
    try:
        while at is not None:
            kind = known(at.tb_frame.f_code.co_filename)
            if kind is None:
                kind = _kind_of(at.tb_frame)
            # What the library computes with counts as its own where it called that.
            if not kind or (at is first and kind == _DEPENDENCY):
                break
            innermost, at = at, at.tb_next
        else:
            facts = error.__dict__
            if "_tl_meant" not in facts:
                if innermost is None or kind is None or not _is_meant(error, innermost, kind):
                    return
                facts["_tl_meant"] = True
            if left:
                _name(error, facts, left)
            if not FULL and (error.__context__ is not None or error.__suppress_context__):
                _forget_own_contexts(error)
        if at is not first and not FULL:
            error.__traceback__ = at
    except RecursionError:
        error.__traceback__ = first  # There is no room for it here; functions further out have some.


def _forget_own_contexts(error: Exception) -> None:
    """Have an error show what its caller was handling, and not what was caught on the way to it."""
    found = error.__context__
    while found is not None and (
        found.__traceback__ is None or _kind_of(found.__traceback__.tb_frame) == _OWN
    ):
        found = found.__context__
    error.__context__ = found
    if error.__cause__ is None:
        error.__suppress_context__ = False  # By `from None`, which was about those.


def _name(error: Exception, facts: dict[str, Any], left: Callable[..., Any] | str) -> None:
    """Have the message of an error name what it has left, in place of what was called by that."""
    # Errors of the system, keys that are missing and values of the user's have no text to put it in front of.
    if len(error.args) != 1 or isinstance(error, (KeyError, AssertionError)):
        return
    text = error.args[0]
    name, method = (left, "") if isinstance(left, str) else _spoken_names(left)
    if not name or type(text) is not str:
        return
    inner = facts.get("_tl_named", "")
    bare = text.removeprefix(inner)
    # An operator has three names.
    says = _mention(name).match(bare) or (
        method and (" operator" in bare or "operator." in bare or _mention(method).match(bare))
    )
    outer = "" if says else f"{name}(): "
    if outer != inner:
        error.args = (outer + bare,)
        facts["_tl_named"] = outer


def _spoken_names(function: Callable[..., Any]) -> tuple[str, str]:
    """Return the name by which users know a function, "" if they know none; and the method of an operator."""
    form: Form | None = getattr(function, "_form", None)
    # `functools.wraps` copies attributes. The core asks with the Python function behind its own.
    if form is None or (form.function is not function and getattr(form.function, "_tl_python", None) is not function):
        return "", ""
    name = form.name.rpartition(".")[2]
    if not name.startswith("__"):
        return name, ""
    if form.is_operator or form.kind == "operator":
        operation = form.operation
        return (operation if operation.variant is None else operation.variant.of).name, name
    return "", ""


@functools.cache
def _mention(name: str) -> re.Pattern[str]:
    """Return what finds a function named in a message: at the beginning, after its module, in a call or in quotes."""
    # PyTorch's messages of `index_add` name `index_add_`, and those of `add_` may name `add`.
    word = re.escape(name if name.startswith("_") else name.rstrip("_")) + "_?"
    return re.compile(rf"""(?:\S*\.)?\b{word}\b|.*?\b{word}[('"`]""", re.DOTALL)


def explained(kind: Callable[[str], E], page: str, text: str) -> E:
    """Return an error of a kind, with a note that names the page about it: a file in `tensorlike/utils/error_pages`.

    A note, and no part of the text: that is PyTorch's, and programs compare it.
    """
    error = kind(text)
    error.add_note(f"(`tensorlike error {page}` explains this)")
    return error


def _entered(function: F, named: bool) -> F:
    name = function.__name__ if named else ""

    @functools.wraps(function)
    def entered(*args: Any, **keywords: Any) -> Any:
        try:
            return function(*args, **keywords)
        except Exception as error:
            shorten(error, name)
            raise

    return cast(F, entered)


def short_tracebacks(function: F) -> F:
    """Make a function that users call leave the library's frames out of its errors.

    Public functions and `Module.__call__` do without the decorator, and so without its frame. It is for helpers of
    constructors, too.
    """
    return _entered(function, named=False)


def named_errors(function: F) -> F:
    """Make a function that users call by its name do as `short_tracebacks` does, and its errors name it."""
    return _entered(function, named=True)
