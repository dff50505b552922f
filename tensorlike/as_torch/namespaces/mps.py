"""Apple's Metal, on which there are no tensors.

Source: PyTorch's `torch.mps`.
"""

from __future__ import annotations

__all__ = ["device_count", "is_available"]


def is_available() -> bool:
    """Return whether there is such a device for tensors: False.

    >>> tl.mps.is_available()
    False
    """
    return False


def device_count() -> int:
    """Return the number of such devices: 0."""
    return 0
