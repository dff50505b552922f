"""The audit of a tensor-like type: functions that it implements, leaves out and gets wrong.

`tensorlike.overrides.audit` is the function; names of this package are imported from here, for example with
`from tensorlike.audit import AuditReport`. Each is loaded when it is asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import AuditError
    from .model import AuditReport, AuditRow, Cause, Regression, SignatureFault, SignatureProblem, ValueCheck
    from .outcomes import Outcome
    from .public import audit

__all__ = [
    "AuditError",
    "AuditReport",
    "AuditRow",
    "Cause",
    "Outcome",
    "Regression",
    "SignatureFault",
    "SignatureProblem",
    "ValueCheck",
    "audit",
]

_HOMES = {
    "AuditError": "errors",
    "AuditReport": "model",
    "AuditRow": "model",
    "Cause": "model",
    "Outcome": "outcomes",
    "Regression": "model",
    "SignatureFault": "model",
    "SignatureProblem": "model",
    "ValueCheck": "model",
    "audit": "public",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
