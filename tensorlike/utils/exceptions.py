"""Errors that pass between threads and processes. PyTorch has them in its module `_utils`."""

from __future__ import annotations

import sys
import traceback
from typing import Any, NoReturn


class KeyErrorMessage(str):
    """A text that a KeyError prints as it is, with its line breaks: it shows the `repr` of its argument."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """The type and the traceback of an error, in a form that another thread or process can raise.

    Without `exc_info` it is the error being handled. `where` tells the reader of the message where it happened.

    >>> try:
    ...     {}["missing"]
    ... except KeyError:
    ...     caught = tl._utils.ExceptionWrapper(where="in a worker")
    >>> caught.reraise()
    Traceback (most recent call last):
    KeyError: Caught KeyError in a worker.
    Original Traceback (most recent call last):
    ...
    """

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        kind, error, trace = sys.exc_info() if exc_info is None else exc_info
        self.exc_type: Any = kind
        # The text alone: a traceback holds the frames, and with them whatever the failed call was working on.
        self.exc_msg = "".join(traceback.format_exception(kind, error, trace))
        self.where = where

    def reraise(self) -> NoReturn:
        """Raise the error with its original traceback in the message.

        It is a RuntimeError where the type of the error cannot be made from a message alone.
        """
        message = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            raise KeyError(KeyErrorMessage(message))
        try:
            error = self.exc_type(message=message) if hasattr(self.exc_type, "message") else self.exc_type(message)
        except Exception:
            raise RuntimeError(message) from None
        raise error
