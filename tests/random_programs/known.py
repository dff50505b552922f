"""Differences of tensorlike from PyTorch that random programs meet, with reasons. Each has a program that shows it."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["KNOWN", "WRITE_BEFORE_THEY_FAIL", "Known", "reason_of"]

#: Functions of PyTorch that have written some elements, or counted a version, when they find that they must fail. Those
#: of tensorlike change nothing then. A program ends there.
WRITE_BEFORE_THEY_FAIL = frozenset({"masked_scatter_", "scatter_"})


class Known(NamedTuple):
    """A difference: where its statement and its description match, it has a reason."""

    statement: str
    difference: str
    reason: str
    #: A program that shows it, in the names of `running`.
    program: str


KNOWN: tuple[Known, ...] = ()


def reason_of(statement: str, difference: str) -> str | None:
    """Return why a difference is there, None for one that should not be."""
    for known in KNOWN:
        if re.search(known.statement, statement) and re.search(known.difference, difference):
            return known.reason
    return None
