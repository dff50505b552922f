"""DLPack under PyTorch's name for it."""

from __future__ import annotations

from tensorlike._above import explain_absent_names
from tensorlike.tensor.creation.dlpack import DLDeviceType, from_dlpack, to_dlpack

explain_absent_names(__name__)

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]
