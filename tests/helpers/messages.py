"""What messages of both libraries have in common."""

from __future__ import annotations

import re

_NAMES = re.compile(r"^(\w+\(\): )+")


def bare(message: object) -> str:
    """Return a message without the names of functions in front, which PyTorch has in few places."""
    return _NAMES.sub("", str(message))
