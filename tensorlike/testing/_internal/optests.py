"""The check of a user's operator, under a second name that PyTorch has for it."""

from __future__ import annotations

from tensorlike.library import opcheck

__all__ = ["opcheck"]
