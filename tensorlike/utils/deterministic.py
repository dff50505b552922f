"""Whether `empty` and its kin fill what they return while deterministic algorithms are asked for.

Source: PyTorch's `torch.utils.deterministic`.
"""

from __future__ import annotations

import sys
from types import ModuleType

__all__: list[str] = []


class _Module(ModuleType):
    #: Kept and read back: the functions that allocate return NumPy's memory as it is.
    fill_uninitialized_memory = True

    def __setattr__(self, name: str, value: object) -> None:
        if name == "fill_uninitialized_memory" and type(value) is not bool:
            raise RuntimeError(f"{self.__name__}.{name} expected a bool, but got {type(value).__name__}")
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Module
