"""Dtypes by the rules of the standard, which know no weaker tensors without dimensions, and sizes along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

import tensorlike as tl
from tensorlike.tensor.dtypes import as_numpy_dtype, default_complex, default_float, dtype_of

__all__ = ["Array", "Dtype", "Number", "axes_of", "common", "is_array", "promoted", "promoted_dtype", "wide_dtype"]

Array: TypeAlias = tl.Tensor
Dtype: TypeAlias = tl.dtype
Number: TypeAlias = bool | int | float | complex


def is_array(value: object) -> bool:
    """Return whether a value is a tensor or tensor-like, and no number of Python's."""
    return not isinstance(value, (bool, int, float, complex))


def _of_number(number: Number, dtype: Dtype | None) -> Dtype:
    """Return the dtype that a number of Python's has beside arrays of `dtype`."""
    if isinstance(number, bool):
        return tl.bool
    if isinstance(number, int):
        return tl.int64 if dtype is None or dtype is tl.bool else dtype
    is_floating = dtype is not None and (dtype.is_floating_point or dtype.is_complex)
    floating = dtype if dtype is not None and is_floating else dtype_of(default_float())
    if isinstance(number, float) or floating.is_complex:
        return floating
    if dtype is None or not dtype.is_floating_point:
        return dtype_of(default_complex())
    return floating.to_complex()


def promoted_dtype(dtypes: Sequence[Dtype]) -> Dtype:
    """Return the dtype that the standard promotes dtypes to; TypeError where it defines none."""
    found = as_numpy_dtype(dtypes[0], "result_type")
    for dtype in dtypes[1:]:
        other = as_numpy_dtype(dtype, "result_type")
        if found != other and ("b" in (found.kind, other.kind) or _is_undefined(found, other)):
            raise TypeError(f"result_type(): {dtype_of(found)} and {dtype} are not promoted; convert one by astype()")
        found = np.promote_types(found, other)
    return dtype_of(found)


def _is_undefined(one: np.dtype[np.generic], two: np.dtype[np.generic]) -> bool:
    kinds = {one.kind, two.kind}
    # No integer holds both, and an integer beside floating-point numbers may lose digits.
    mixed = "f" in kinds or "c" in kinds
    if kinds == {"i", "u"}:
        return np.promote_types(one, two).kind == "f"
    return mixed and bool(kinds & {"i", "u"})


def common(values: Sequence[Array | Number]) -> Dtype:
    """Return the dtype of operands, of which numbers of Python's follow the arrays."""
    dtypes = [value.dtype for value in values if not isinstance(value, (bool, int, float, complex))]
    found = promoted_dtype(dtypes) if dtypes else None
    for value in values:
        if isinstance(value, (bool, int, float, complex)):
            dtype = _of_number(value, found)
            found = dtype if found is None or dtype.is_complex or dtype.is_floating_point else found
    if found is None:
        raise TypeError("result_type(): at least one array or dtype is needed")
    return found


def promoted(*values: Array | Number) -> list[Array]:
    """Return operands as arrays of their common dtype."""
    dtype = common(values)
    device = next((value.device for value in values if not isinstance(value, (bool, int, float, complex))), None)
    return [
        tl.asarray(value, dtype=dtype, device=device)
        if isinstance(value, (bool, int, float, complex))
        else (value if value.dtype is dtype else value.to(dtype))
        for value in values
    ]


def wide_dtype(x: Array) -> Dtype | None:
    """Return the dtype in which integers are summed: the widest of their kind; None for other dtypes."""
    if x.dtype.is_floating_point or x.dtype.is_complex:
        return None
    return tl.int64 if x.dtype is tl.bool or x.dtype.is_signed else tl.uint64


def axes_of(x: Array, axis: int | Sequence[int] | None) -> tuple[int, ...]:
    """Return axes as non-negative numbers; all of them for None. IndexError for one that `x` does not have."""
    count = len(x.shape)
    if axis is None:
        return tuple(range(count))
    chosen = (axis,) if isinstance(axis, int) else tuple(axis)
    for one in chosen:
        if not -count <= one < count:
            raise IndexError(f"axis {one} is out of range for an array of {count} dimensions")
    return tuple(one % count for one in chosen)
