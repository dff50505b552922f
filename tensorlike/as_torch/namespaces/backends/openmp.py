"""OpenMP, which no kernel of this library uses: large work is cut over threads of its own (`set_num_threads`).

Same as PyTorch's module of that name.
"""

from __future__ import annotations

__all__ = ["is_available"]


def is_available() -> bool:
    """Return whether kernels use OpenMP: False."""
    return False
