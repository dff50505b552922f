"""The explanation of the dispatch of a call: what `explain` returns."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from tensorlike.dispatch.errors import Step, numbered

__all__ = ["Explanation"]


@dataclasses.dataclass(frozen=True, repr=False)
class Explanation:
    """The dispatch of a call: handlers, their order and the reasons; `str` gives the text."""

    #: The public dotted name of the function, and the function as implementations receive it.
    name: str
    function: Callable[..., Any]
    #: Modes and types in dispatch order, until one answers.
    steps: tuple[Step, ...]
    #: Remarks: the outcome without overriding operands, active guards.
    notes: tuple[str, ...]
    #: The pairwise rule that applies when all of them return NotImplemented; see `overrides.register`.
    rule: Callable[..., Any] | None = None

    def __str__(self) -> str:
        if self.steps:
            text = f"{self.name}: asked in this order, until one does not return NotImplemented:{numbered(self.steps)}"
        else:
            text = f"{self.name}: nobody is asked, and its own implementation runs."
        return "\n".join((text, *self.notes))

    def __repr__(self) -> str:
        return str(self)
