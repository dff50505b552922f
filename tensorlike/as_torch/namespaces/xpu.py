"""Intel's GPUs, on which there are no tensors.

Source: PyTorch's `torch.xpu`.
"""

from __future__ import annotations

__all__ = ["device_count", "is_available"]


def is_available() -> bool:
    """Return whether there is such a device for tensors: False.

    >>> tl.xpu.is_available()
    False
    """
    return False


def device_count() -> int:
    """Return the number of such devices: 0."""
    return 0
