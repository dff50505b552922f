"""Testing tensor-like types: sample inputs of every operation, comparisons, and a conformance suite.

Everything is imported when first used: the pytest plugin lives in this package and must cost nothing while it is off.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tensorlike._above import absent as _absent

if TYPE_CHECKING:
    from .comparison import assert_allclose, assert_close
    from .creation import make_tensor
    from .suite import TensorLikeSuite, TensorSubclassSuite

__all__ = ["TensorLikeSuite", "TensorSubclassSuite", "assert_allclose", "assert_close", "make_tensor"]

_HOMES = {
    "TensorLikeSuite": "suite",
    "TensorSubclassSuite": "suite",
    "assert_allclose": "comparison",
    "assert_close": "comparison",
    "make_tensor": "creation",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        return _absent(__name__, name)
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
