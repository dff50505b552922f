"""What derivative formulas share."""

from __future__ import annotations

from typing import Any

from tensorlike.autograd.base import TensorBase

__all__ = ["conj", "raw_conj"]


def conj(value: Any) -> Any:
    """Return the complex conjugate of a tensor or a number; what is real comes back itself."""
    if isinstance(value, TensorBase):
        return value.conj() if value._data.dtype.kind == "c" else value
    return value.conjugate() if isinstance(value, complex) else value


def raw_conj(value: Any) -> Any:
    """Return the complex conjugate of a raw array or a number; a real array comes back itself."""
    return value.conj() if hasattr(value, "conj") else value.conjugate()
