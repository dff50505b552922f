"""Shared by reductions: dimensions as axes, their errors, and expanding gradients."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from tensorlike._library_name import LIBRARY
from tensorlike.operations.formula_programs import Symbol
from tensorlike.tensor.backends import namespace_of
from tensorlike.tensor.declarations.runtime import dtype_name
from tensorlike.tensor.dims import dim_tuple, one_dim
from tensorlike.tensor.dtypes import dtype_of
from tensorlike.tensor.types import Array, Namespace, Tensor


def is_half(dtype: np.dtype[Any]) -> bool:
    """Return whether a dtype is summed in float32: float16, or bfloat16, which NumPy knows as a type of kind V."""
    return dtype.itemsize == 2 and dtype.kind in "fV"


def comparable(array: Array) -> Array:
    """Return an array for sorting: bfloat16 in float32, since NumPy sorts types of other packages by `<` alone."""
    return array.astype(np.float32) if array.dtype.kind == "V" else array


def one_axis(dim: Any, ndim: int, function: str) -> int:
    """Return `dim` as a number from 0 on, or raise PyTorch's error."""
    if isinstance(dim, bool) or not hasattr(dim, "__index__"):
        raise TypeError(f"{function}(): argument 'dim' must be int, not {type(dim).__name__} ({dim!r})")
    return one_dim(dim, ndim)


def reduced_axes(dim: int | Sequence[int] | None, ndim: int, function: str) -> tuple[int, ...] | None:
    """Return the dimensions to reduce as NumPy takes them; None and () mean all, as None."""
    for d in dim if isinstance(dim, (tuple, list)) else (dim,):
        if d is not None and (isinstance(d, bool) or not hasattr(d, "__index__")):
            raise TypeError(f"{function}(): argument 'dim' must be tuple of ints, not {type(d).__name__} ({d!r})")
    return dim_tuple(dim, ndim)


def nonempty(function: str, shape: tuple[int, ...], dim: int | Sequence[int] | None, hint: str = "") -> None:
    """Raise PyTorch's error for a reduction without identity over an empty dimension."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        if math.prod(shape) == 0:
            error = IndexError if function.startswith("arg") else RuntimeError
            raise error(
                f"{function}(): Expected reduction dim to be specified for input.numel() == 0. "
                "Specify the reduction dim with the 'dim' argument."
            )
        return
    for d in reduced_axes(dim, len(shape), function) or ():
        if shape[d] == 0:
            raise IndexError(f"{function}(): Expected reduction dim {d} to have non-zero size.{hint}")


def unsupported(function: str, dtype: np.dtype[Any]) -> NoReturn:
    """Raise PyTorch's error for a dtype that a function does not take."""
    raise NotImplementedError(
        f"\"{function}\" not implemented for '{dtype_name(dtype)}': {function}() got a tensor of dtype "
        f"{dtype_of(dtype)}; convert it first, e.g. with .to({LIBRARY}.float32)"
    )


def converted(xp: Namespace, array: Array, dtype: np.dtype[Any]) -> Array:
    """Return `array` in `dtype`, the imaginary part left out where that is real."""
    if array.dtype == dtype:
        return array
    if array.dtype.kind == "c" and dtype.kind not in "cb":
        array = array.real
    return array.astype(dtype)


def count_of(shape: tuple[int, ...], dim: int | Sequence[int] | None) -> int:
    """Return the number of elements reduced to one."""
    if type(dim) is int and shape:
        return shape[dim]
    axes = dim_tuple(dim, len(shape))
    return math.prod(shape) if axes is None else math.prod([shape[d] for d in axes])


def restored(grad: Tensor, shape: tuple[int, ...], dim: int | Sequence[int] | None, keepdim: bool) -> Tensor:
    """Return the gradient of a reduced result with the reduced dimensions back, of size 1."""
    if keepdim or not shape or dim is None:
        return grad
    if type(dim) is int:
        return grad.unsqueeze(dim)
    axes = dim_tuple(dim, len(shape))
    if axes is None:
        return grad
    return grad.reshape([1 if d in axes else n for d, n in enumerate(shape)])


def expanded(grad: Tensor, shape: tuple[int, ...], dim: int | Sequence[int] | None, keepdim: bool) -> Tensor:
    """Return the gradient of a reduced result, repeated along the reduced dimensions."""
    return restored(grad, shape, dim, keepdim).expand(shape)


def raw_expanded(grad: Any, input_shape: tuple[int, ...], dim: int | Sequence[int] | None, keepdim: bool) -> Any:
    """Return the raw gradient of a reduced result, repeated along the reduced dimensions, in new memory."""
    shape = input_shape
    if dim is not None and not keepdim and shape:
        axes = (dim % len(shape),) if type(dim) is int else dim_tuple(dim, len(shape))
        if axes is not None:
            grad = grad.reshape([1 if d in axes else n for d, n in enumerate(shape)])
    if type(grad) is not np.ndarray:
        return grad.filled(shape) if type(grad) is Symbol else namespace_of(grad).broadcast_to(grad, shape)
    # np.broadcast_to takes 4 us; and a leaf may take over a gradient in its own memory.
    result = np.ndarray(shape, grad.dtype)
    result[...] = grad
    return result


def whole(value: Tensor | int | np.generic, function: str, argument: str) -> int:
    """Return an argument that must be an integer."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{function}(): argument '{argument}' must be int, not {type(value).__name__} ({value!r})")
    return operator.index(value)
