"""Utilities for tensors and modules."""

import importlib as _importlib

from . import _pytree, checkpoint, dlpack, hooks

#: Submodules that are loaded when they are asked for.
_LAZY = ("benchmark", "data", "deterministic", "model_zoo", "weak")

__all__ = [
    "_pytree", "benchmark", "checkpoint", "data", "deterministic", "dlpack", "hooks", "model_zoo", "swap_tensors",
    "weak",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return _importlib.import_module(f"{__name__}.{name}")
    if name == "swap_tensors":
        from ._swapping import swap_tensors

        return swap_tensors
    from tensorlike.as_torch.absent import absent

    return absent(__name__, name)
