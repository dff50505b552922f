"""Shared by derivative formulas."""

from __future__ import annotations

from typing import Any

from tensorlike.autograd.tensor_base import TensorBase

from ..types import Array, Tensor


def conj(value: Tensor | float | complex) -> Any:
    """Return the complex conjugate of a tensor or a number; real ones are returned unchanged."""
    if isinstance(value, TensorBase):
        return value.conj() if value._tl_data.dtype.kind == "c" else value
    return value.conjugate() if isinstance(value, complex) else value


def raw_product(grad: Array, other: Array | float | complex) -> Array:
    """Return a raw gradient times the conjugate of a raw array or a number."""
    if grad.dtype.kind != "c":
        return grad * other
    return grad * (other.conj() if hasattr(other, "conj") else other.conjugate())


def raw_quotient(grad: Array, other: Array | float) -> Array:
    """Return a raw gradient divided by the conjugate of a raw array or a number."""
    if grad.dtype.kind != "c":
        return grad / other
    return grad / (other.conj() if hasattr(other, "conj") else other.conjugate())
