"""Modules on several devices: `DataParallel` computes on one; several processes there are none.

Source: PyTorch's `torch.nn.parallel`.
"""

from __future__ import annotations

from .data_parallel import DataParallel, data_parallel
from .distributed import DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]
