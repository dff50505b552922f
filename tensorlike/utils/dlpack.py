"""DLPack under PyTorch's name for it."""

from __future__ import annotations

from tensorlike.tensor.dlpack import DLDeviceType, from_dlpack, to_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]
