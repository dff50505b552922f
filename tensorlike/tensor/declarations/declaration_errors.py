"""Errors of declarations: they are raised when something is declared, and name the operation and the line."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def declaration_error(function: Callable[..., Any], name: str, message: str) -> TypeError:
    """Return the error of the declaration of `name`, whose kernel, formula or Python function is `function`."""
    code = getattr(function, "__wrapped__", function).__code__
    return TypeError(f"{name}: {message} ({code.co_filename}, line {code.co_firstlineno})")


def unknown_word(what: str, word: object, known: Iterable[str]) -> str:
    """Return what is wrong with a word that is not among the known ones, with the nearest of them."""
    from difflib import get_close_matches  # noqa: PLC0415 - for errors alone

    words = sorted(known)
    near = get_close_matches(str(word), words, 1)
    guess = f"; did you mean {near[0]!r}?" if near else "."
    return f"unknown {what} {word!r}{guess} Known: {', '.join(words)}"


def check_options(
    function: Callable[..., Any], decorator: str, options: Iterable[str], *takers: Callable[..., Any]
) -> None:
    """Raise TypeError for an option of a decorator that none of `takers` takes as a keyword."""
    if not options:
        return
    codes = [taker.__code__ for taker in takers]
    known = {name for c in codes for name in c.co_varnames[c.co_argcount : c.co_argcount + c.co_kwonlyargcount]}
    for option in options:
        if option not in known:
            wrong = unknown_word("option", option, known)
            raise declaration_error(function, function.__name__, f"@{decorator}: {wrong}")
