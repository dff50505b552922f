"""Dtypes by the rules of the standard, which know no weaker tensors without dimensions, and sizes along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from tensorlike._originals import tl
from tensorlike.tensor.dtypes import as_numpy_dtype, default_complex, default_float, dtype_of

__all__ = ["Array", "Dtype", "Number", "axes_of", "common", "promoted", "promoted_dtype", "wide_dtype"]

Array: TypeAlias = tl.Tensor
Dtype: TypeAlias = tl.dtype
Number: TypeAlias = bool | int | float | complex


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


def promoted_dtype(dtypes: Sequence[Dtype], function: str = "result_type") -> Dtype:
    """Return the dtype that the standard promotes dtypes to; TypeError where it defines none."""
    if all(dtype is dtypes[0] for dtype in dtypes):
        return dtypes[0]
    found = as_numpy_dtype(dtypes[0], function)
    for dtype in dtypes[1:]:
        other = as_numpy_dtype(dtype, function)
        if found != other and ("b" in (found.kind, other.kind) or _is_undefined(found, other)):
            raise TypeError(f"{function}(): {dtype_of(found)} and {dtype} are not promoted; convert one by astype()")
        found = np.promote_types(found, other)
    return dtype_of(found)


def _is_undefined(one: np.dtype[np.generic], two: np.dtype[np.generic]) -> bool:
    kinds = {one.kind, two.kind}
    # No integer holds both, and an integer beside floating-point numbers may lose digits.
    mixed = "f" in kinds or "c" in kinds
    if kinds == {"i", "u"}:
        return np.promote_types(one, two).kind == "f"
    return mixed and bool(kinds & {"i", "u"})


def common(values: Sequence[Array | Number], function: str = "result_type") -> Dtype | None:
    """Return the dtype of operands, of which numbers of Python's follow the arrays.

    A tensor-like type need not say what its dtype is: it is None then, and the type is left to make of the operands
    what it will. Raises TypeError for other values, and where the standard defines no common dtype.
    """
    dtypes = []
    for index, value in enumerate(values, 1):
        if isinstance(value, (bool, int, float, complex)):
            continue
        dtype = getattr(value, "dtype", None)
        if isinstance(dtype, tl.dtype):
            dtypes.append(dtype)
        elif tl.overrides.is_tensor_like(value):
            return None
        else:
            raise TypeError(
                f"{function}(): operand {index} must be an array of this namespace or a number, not a "
                f"{type(value).__name__}; asarray() makes an array of it"
            )
    found = promoted_dtype(dtypes, function) if dtypes else None
    for value in values:
        if isinstance(value, (bool, int, float, complex)):
            dtype = _of_number(value, found)
            found = dtype if found is None or dtype.is_complex or dtype.is_floating_point else found
    if found is None:
        raise TypeError(f"{function}(): at least one array is needed")
    return found


def promoted(function: str, *values: Array | Number) -> list[Array]:
    """Return the operands of a function, whose name errors have, as arrays of their common dtype."""
    dtype = common(values, function)
    if dtype is None:
        return list(values)  # type: ignore[arg-type]
    device = next((value.device for value in values if not isinstance(value, (bool, int, float, complex))), None)
    return [
        tl.asarray(value, dtype=dtype, device=device)
        if isinstance(value, (bool, int, float, complex))
        else (value if value.dtype is dtype else value.to(dtype))
        for value in values
    ]


def wide_dtype(x: Array) -> Dtype | None:
    """Return the dtype in which integers are summed: the widest of their kind; None for other dtypes."""
    dtype = getattr(x, "dtype", None)
    if dtype is None or dtype.is_floating_point or dtype.is_complex:
        return None
    return tl.int64 if dtype is tl.bool or dtype.is_signed else tl.uint64


def axes_of(x: Array, axis: int | Sequence[int] | None) -> tuple[int, ...]:
    """Return axes as non-negative numbers; all of them for None. IndexError for one that `x` does not have.

    Where a tensor-like type does not say what its shape is, they are what they are, and none means all.
    """
    chosen = () if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    shape = getattr(x, "shape", None)
    if shape is None:
        return chosen
    count = len(shape)
    for one in chosen:
        if not -count <= one < count:
            raise IndexError(f"axis {one} is out of range for an array of {count} dimensions")
    return tuple(range(count)) if axis is None else tuple(one % count for one in chosen)
