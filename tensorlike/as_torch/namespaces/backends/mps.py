"""Apple's Metal, on which there are no tensors.

Same as PyTorch's module of that name.
"""

from __future__ import annotations

import platform

__all__ = ["is_available", "is_built", "is_macos13_or_newer", "is_macos_or_newer"]


def is_built() -> bool:
    """Return whether tensors can be on a Metal device: False."""
    return False


def is_available() -> bool:
    """Return whether there is a Metal device for tensors: False."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Return whether this is macOS, of that version or a later one."""
    version = platform.mac_ver()[0]
    return bool(version) and tuple(int(part) for part in version.split(".")[:2]) >= (major, minor)


def is_macos13_or_newer(minor: int = 0) -> bool:
    """Return whether this is macOS 13, of that minor version or a later one."""
    return is_macos_or_newer(13, minor)
