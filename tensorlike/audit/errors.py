"""The exception of an audit that cannot be made."""

from __future__ import annotations


class AuditError(ValueError):
    """Raised when an audit is impossible: the type is not found, no instance can be made, a report is unreadable."""
