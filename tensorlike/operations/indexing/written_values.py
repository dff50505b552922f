"""Numbers and tensors as values to be written into a tensor: conversions, and PyTorch's errors about them."""

from __future__ import annotations

import cmath
from typing import Any

import numpy as np

from tensorlike.tensor.declarations.runtime import dtype_name
from tensorlike.tensor.types import Array

#: The names of the element types in PyTorch's messages.
_C_NAMES = {
    "bool": "bool", "uint8": "uint8_t", "int8": "int8_t", "int16": "int16_t", "int32": "int", "int64": "int64_t",
    "uint16": "uint16_t", "uint32": "uint32_t", "uint64": "uint64_t", "float16": "at::Half", "float32": "float",
    "float64": "double", "bfloat16": "at::BFloat16", "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}  # fmt: skip


def converted_number(value: float, dtype: np.dtype[Any]) -> Any:
    """Return a Python number as a NumPy scalar of `dtype`, truncated as PyTorch does.

    Raises RuntimeError when it does not fit; negative integers wrap around in unsigned dtypes.
    """
    given, kind = value, dtype.kind
    if (kind == "f" and type(value) is float and -65504.0 <= value <= 65504.0) or (
        kind in "if" and type(value) is int and -128 <= value <= 127
    ):
        # Fits every dtype of the kind: the checks below take microseconds.
        return dtype.type(value)
    if isinstance(value, np.generic):
        value = value.item()
    if kind == "b":
        return dtype.type(bool(value))
    fits = True
    if isinstance(value, complex) and kind != "c":
        fits = value.imag == 0
        value = value.real
    number: Any
    if kind in "iu":
        limits = np.iinfo(dtype)
        lowest = -limits.max if kind == "u" and not isinstance(value, float) else limits.min
        fits = fits and bool(lowest <= value <= limits.max)
        number = int(value) if fits else 0
        if number < limits.min:
            number &= limits.max
    else:
        number = value
        if kind in "fVc" and isinstance(value, (int, float, complex)) and cmath.isfinite(value):
            with np.errstate(all="ignore"):
                try:
                    fits = fits and bool(np.isfinite(dtype.type(value)))
                except OverflowError:
                    fits = False
    if not fits:
        raise RuntimeError(
            f"value cannot be converted to type {_C_NAMES.get(str(dtype), str(dtype))} without overflow: {given!r}"
        )
    return dtype.type(number)


def as_written(value: Array | float, dtype: np.dtype[Any]) -> Any:
    """Check an array or number to be written into an array of `dtype`, and make it real if that dtype is."""
    if isinstance(value, (bool, int, float, complex, np.generic)):
        return converted_number(value, dtype)
    if value.dtype.kind == "c" and dtype.kind != "c":
        # True is what is not zero: the imaginary part counts.
        return value != 0 if dtype.kind == "b" else value.real
    return value


def single_value(value: Any, dtype: np.dtype[Any], message: str) -> Any:
    """Convert a number or zero-dimensional array for writing; raise `message` for an array with dimensions.

    Both must fit: a zero-dimensional array counts as a number where PyTorch reads its element.
    """
    if hasattr(value, "ndim") and not isinstance(value, np.generic):
        if value.ndim:
            raise RuntimeError(message.format(ndim=value.ndim))
        return value if value.dtype == dtype else converted_number(value.item(), dtype)
    if isinstance(value, complex) and dtype.kind not in "bc" and value.imag:
        raise RuntimeError(
            f"value cannot be converted to type {_C_NAMES.get(str(dtype), str(dtype))} without overflow: {value!r}, "
            f"and the tensor is of type {dtype_name(dtype)}"
        )
    return converted_number(value, dtype)
