"""`DistributedDataParallel`, a name for `isinstance`: no processes compute together.

Source: PyTorch's module of that name.
"""

from __future__ import annotations

from typing import Any

from tensorlike.nn.modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """A module trained by several processes in PyTorch. Making one raises RuntimeError."""

    def __init__(self, module: Module, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(
            "DistributedDataParallel(): no processes compute together here (distributed.is_available() is False); use "
            "the module itself"
        )
