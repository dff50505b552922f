"""Telling a refusal from a crash.

# Note [Refused or raised]
A type may mean not to answer. It says so by returning NotImplemented, or by raising NotImplementedError, or TypeError
with a reason. Anything else that comes out of a call is a crash: an IndexError, and a TypeError that Python or the
library raised because the type's code called it with what it does not take.

A refusal is raised by a `raise` statement of code that is not the library's. So the innermost frame of the traceback is
the type's, and its current instruction is that of the statement; where Python or a function in C raised the exception,
it is a call or an operator. An exception that the type catches and raises again counts as its own: it looked at it.
"""

from __future__ import annotations

import opcode
from typing import TYPE_CHECKING

from .foreign import text_of_error

if TYPE_CHECKING:
    from types import TracebackType

    from .api import AuditedApi

_RAISE = opcode.opmap["RAISE_VARARGS"]


def is_deliberate(error: BaseException, api: AuditedApi) -> bool:
    """Return whether an exception is a refusal: see Note [Refused or raised]."""
    if not isinstance(error, NotImplementedError) and not (isinstance(error, TypeError) and text_of_error(error)):
        return False
    traceback: TracebackType | None = error.__traceback__
    if traceback is None:
        return False
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    code = traceback.tb_frame.f_code
    return not api.is_own_code(code) and code.co_code[traceback.tb_lasti] == _RAISE
