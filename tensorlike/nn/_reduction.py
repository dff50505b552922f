"""The older arguments of losses, `size_average` and `reduce`, as today's `reduction`.

Source: PyTorch's module of that name.
"""

from __future__ import annotations

from .modules.loss import _reduction

__all__ = ["get_enum", "legacy_get_enum", "legacy_get_string"]

_NUMBERS = {"none": 0, "mean": 1, "elementwise_mean": 1, "sum": 2}


def get_enum(reduction: str) -> int:
    """Return the number that PyTorch's C++ functions take for a reduction. Raises ValueError for an unknown one."""
    if reduction not in _NUMBERS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _NUMBERS[reduction]


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """Return the reduction that the older arguments mean, with a deprecation warning."""
    return _reduction(size_average, reduce, emit_warning)


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """Return the number of the reduction that the older arguments mean."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
