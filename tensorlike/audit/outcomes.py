"""The words of an audit: every call is counted under one of them, in every output.

This table is all that says what a word is called, what it means, how bad it is and which colour it has. A new kind of
finding is a line here, and the code that finds it: `AuditRow.findings` lists what is wrong with a call.

# Note [Own rule or through a plain tensor]
A rule may compute with plain tensors inside: most do. What matters to the user of a type is what comes back. So a call
is answered by an *own rule* when the type's own code answered and gave an instance of the type, however it was
computed, or answered without calling the same function again. It went *through a plain tensor* when the function was
called again on plain tensors and what comes back is no instance (a plain tensor, a number), or when a policy of the
library answered (`to_dense`, `rewrap`): then there is no rule of the type's for this function.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any


class Outcome(enum.Enum):
    """The word that a call is counted under: its value in JSON, and its attributes.

    >>> from tensorlike.audit import Outcome
    >>> Outcome.TYPE_LOST.label
    'type lost'
    """

    #: The word in texts and tables.
    label: str
    #: An explanation in a sentence.
    meaning: str
    #: 0 for what is not wrong; regressions and the order of faults are measured by it.
    severity: int
    #: The group that it is coloured with in tables and on pages: a key of `STYLES`.
    tint: str
    #: The colour where each word has one of its own: in badges and drawings.
    colour: str

    def __new__(cls, value: str, label: str, meaning: str, severity: int, tint: str, colour: str) -> Outcome:
        member = object.__new__(cls)
        member._value_ = value
        member.label, member.meaning, member.severity = label, meaning, severity
        member.tint, member.colour = tint, colour
        return member

    OWN = (
        "own", "own rule", "The type's own code answered; where the function gives tensors, with the type.", 0,
        "passed", "#1a7f46",
    )  # fmt: skip
    THROUGH_PLAIN = (
        "through_plain", "through a plain tensor",
        "The function was called again on plain tensors, and a policy or no instance of the type came back.", 0,
        "passed", "#6cb36a",
    )  # fmt: skip
    INHERITED = (
        "inherited", "inherited",
        "A base class or Tensor's default implementation answered: the type's own code was not asked.",
        0, "passed", "#2f8f9d",
    )  # fmt: skip
    TYPE_LOST = (
        "type_lost", "type lost",
        "The type answered, but not with an instance of the type where the function gives tensors.",
        2, "lost", "#d9a400",
    )  # fmt: skip
    REFUSED = (
        "refused", "refused",
        "The type returned NotImplemented, or raised NotImplementedError or TypeError with a reason.",
        4, "missing", "#b8c0c8",
    )  # fmt: skip
    SIGNATURE = (
        "signature", "wrong signature",
        "The type takes a parameter otherwise than the function does, or not at all.",
        5, "wrong", "#e07b39",
    )  # fmt: skip
    ATTRIBUTE_LOST = (
        "attribute_lost", "attribute lost",
        "What the operand carries (declared attributes, --metadata) is missing from the result, or another.", 5,
        "wrong", "#a8489a",
    )  # fmt: skip
    WRONG_VALUE = (
        "wrong_value", "wrong value",
        "The result, or what the call left in its operands, is not what plain tensors give.",
        5, "wrong", "#c62a2f",
    )  # fmt: skip
    RAISED = ("raised", "raised", "The call raised an exception that nobody meant to raise.", 6, "wrong", "#7d1a1e")
    NOT_CALLED = (
        "not_called", "not called",
        "No sample call can be made with an instance there, or the function does not ask its type.",
        0, "uncalled", "#eceff2",
    )  # fmt: skip


#: The style of each group in a terminal.
STYLES = {"passed": "green", "lost": "yellow", "missing": "yellow", "wrong": "red", "uncalled": "dim"}

#: The outcomes that are faults.
FAULTY = frozenset(outcome for outcome in Outcome if outcome.severity)

#: The words of reports and baselines of format version 1: the outcome, and what else a row with it says.
_FORMER: Mapping[str, tuple[Outcome, dict[str, Any]]] = {
    "fallback": (Outcome.THROUGH_PLAIN, {}),
    "not_implemented": (Outcome.REFUSED, {"left_out": True}),
    "recursed": (Outcome.RAISED, {}),
}


def read_outcome(text: str) -> tuple[Outcome, dict[str, Any]]:
    """Return the outcome of a word in JSON, of this version or the former, and the other fields that it stands for.

    Raises ValueError for other words.
    """
    if isinstance(text, str) and text in _FORMER:
        return _FORMER[text]
    found = next((outcome for outcome in Outcome if outcome.value == text), None)
    if found is None:
        raise ValueError(f"{text!r} is no word of an audit; there are {', '.join(o.value for o in Outcome)}")
    return found, {}


def legend() -> list[tuple[Outcome, str, str]]:
    """Return every word with its label and meaning, what is not wrong first."""
    return [(outcome, outcome.label, outcome.meaning) for outcome in Outcome]
