"""The engine of quantized tensors, of which there are none.

Same as PyTorch's module of that name.
"""

from __future__ import annotations

import sys
from typing import Any

from ._flags import FlagModule

__all__: list[str] = []


class _QuantizedModule(FlagModule):
    def __setattr__(self, name: str, value: Any) -> None:
        if name == "engine" and value != "none":
            raise RuntimeError(f"{value} is not a valid value for quantized engine: there are no quantized tensors")
        super().__setattr__(name, value)


engine = "none"
supported_engines = ["none"]
sys.modules[__name__].__class__ = _QuantizedModule
