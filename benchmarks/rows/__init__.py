"""What is measured, by what it is about."""

from __future__ import annotations

from . import calls, cpp, gradients, large, training
from .base import ROWS, Row

__all__ = ["ROWS", "Row", "calls", "cpp", "gradients", "large", "training"]
