"""Utilities for tensors and modules."""

import importlib as _importlib
import typing as _typing

from tensorlike._above import absent as _absent

from . import _pytree, checkpoint, dlpack, hooks
from ._swapping import swap_tensors

if _typing.TYPE_CHECKING:
    from . import benchmark as benchmark
    from . import data as data
    from . import deterministic as deterministic
    from . import model_zoo as model_zoo
    from . import weak as weak

#: Submodules that are loaded when they are asked for.
_LAZY = ("benchmark", "data", "deterministic", "model_zoo", "weak")

__all__ = [
    "_pytree", "benchmark", "checkpoint", "data", "deterministic", "dlpack", "hooks", "model_zoo", "swap_tensors",
    "weak",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return _importlib.import_module(f"{__name__}.{name}")
    return _absent(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
