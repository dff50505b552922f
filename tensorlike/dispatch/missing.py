"""The value of a parameter that the caller did not pass."""

from __future__ import annotations

from typing import Final


class Missing:
    """The type of `MISSING`, the value of a parameter that the caller did not pass."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<not passed>"

    def __reduce__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()
