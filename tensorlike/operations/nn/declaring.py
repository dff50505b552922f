"""Shared by the functions of neural networks: declaring them, checks of dtypes, reductions of losses."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, overload

import numpy as np

from tensorlike._library_name import LIBRARY
from tensorlike.autograd.grad_mode import grad_enabled
from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.dispatch.api import F
from tensorlike.dispatch.core import outside_stacklevel
from tensorlike.dispatch.registry import ignore
from tensorlike.tensor.declarations.declare import composite
from tensorlike.tensor.declarations.runtime import broadcast_error, dtype_name, write_out, wrong_type
from tensorlike.tensor.layouts import format_of, laid_out
from tensorlike.tensor.promotion import can_cast
from tensorlike.tensor.types import Array, Namespace, Tensor

#: The namespace of these functions, under which overriding types see them.
FUNCTIONAL = "tensorlike.nn.functional"


@overload
def functional(function: F, **options: Any) -> F: ...
@overload
def functional(function: None = None, **options: Any) -> Callable[[F], F]: ...
def functional(function: Callable[..., Any] | None = None, *, guard: bool = False, **options: Any) -> Any:
    """Make a function public in `nn.functional`. `guard=True` for one that calls other public operations."""
    return composite(function, namespace=FUNCTIONAL, guard=guard, **options)


def other_name(function: F) -> F:
    """Make a function public in `nn.functional` that asks no type itself, as in PyTorch: what it calls asks."""
    function.__module__ = FUNCTIONAL
    ignore(function, f"{FUNCTIONAL}.{function.__name__}", "asks no type itself; the function that it calls does")
    return function


def written_out(name: str, result: Tensor, out: Tensor | None, *operands: Tensor | None, exact: bool = True) -> Tensor:
    """Return `result`, or `out` with the result in it where it is given: of the same dtype if `exact`."""
    if out is None:
        return result
    return write_out(name, out, result._tl_data, *operands, rule="exact" if exact else "cast")


def formatted(result: Array | None, *operands: Array) -> Array:
    """Return `result` in the memory format of images that an operand has, `channels_last`, and else contiguous.

    For operations declared with `own_layout`.
    """
    return laid_out(result, shared_format(*operands))


def shared_format(*operands: Array) -> str | None:
    """Return the name of the first format of images that an operand has; None where they are in other orders."""
    return next((name for operand in operands if (name := format_of(operand)) is not None), None)


def warn(message: str) -> None:
    """Warn at the line that called the library."""
    warnings.warn(message, UserWarning, stacklevel=outside_stacklevel())


def overwritten(input: Tensor, function: Callable[[Any], Any]) -> Tensor:
    """Write `function(input)` into `input`, for functions made of several operations."""
    # Values saved for backward must not be overwritten.
    original = input.clone() if input._tl_tracked and grad_enabled() else input
    return input.copy_(function(original))  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------------------------------------- dtypes


def need_float(name: str, array: Array) -> None:
    """Raise unless `array` has a real floating-point dtype."""
    if array.dtype.kind not in "fV":
        raise NotImplementedError(
            f"\"{name}\" not implemented for '{dtype_name(array.dtype)}': convert the input first, "
            f"e.g. with .to({LIBRARY}.float32)"
        )


def check_parameters(function: str, array: Array, *parameters: Tensor | None) -> None:
    """Raise unless the parameters of a normalization have the dtype of its input, or float32 beside half precision."""
    dtype = array.dtype
    for parameter in parameters:
        if parameter is None or (found := parameter._tl_data.dtype) is dtype or found == dtype:
            continue
        if dtype.itemsize == 2 and all(p is None or p._tl_data.dtype == np.float32 for p in parameters):
            return
        expected = "Float" if dtype.itemsize == 2 else dtype_name(dtype)
        raise RuntimeError(
            f"{function}(): mixed dtype: expected parameters of scalar type {expected} but found {dtype_name(found)}; "
            "convert them with .to(dtype)"
        )


def in_dtype_of(function: str, result: Tensor, like: Tensor) -> Tensor:
    """Cast a tensor to the dtype of another, as PyTorch's in-place operations do; raise where they do."""
    have, wanted = result._tl_data.dtype, like._tl_data.dtype
    if have == wanted:
        return result
    if not can_cast(have, wanted):
        raise RuntimeError(
            f"{function}(): result type {dtype_name(have)} can't be cast to the desired output type "
            f"{dtype_name(wanted)}"
        )
    return result.to(like.dtype)


def widened(array: Any) -> Array:
    """Return `array`, in single precision if it is of half: half precision is for storing, not for computing."""
    return array.astype(np.float32) if array.dtype.itemsize == 2 and array.dtype.kind in "fV" else array  # type: ignore[no-any-return]


def narrowed(array: Any, like: Array) -> Array:
    """Return `array` in the dtype of `like`."""
    return array if array.dtype == like.dtype else array.astype(like.dtype)  # type: ignore[no-any-return]


# Note [Choosing without branches] `where` and masked copies take ten times as long on a CPU when the condition is as
# random as the sign of a weight: the processor guesses wrong. Large arrays are therefore masked by bit operations. A
# product with the condition would be wrong for infinities and nans.

_BRANCHLESS_FROM = 2048


def _by_bits(xp: Namespace, *arrays: Any) -> bool:
    first = arrays[0]
    return (
        xp is np
        and first.size >= _BRANCHLESS_FROM
        and all(a.shape == first.shape for a in arrays)
        and all(a.dtype.kind == "f" and a.dtype == arrays[1].dtype for a in arrays[1:])
    )


def masked(xp: Namespace, array: Array, dropped: Array) -> Array:
    """Return `array` with zeros where `dropped`: see Note [Choosing without branches]."""
    if not _by_bits(xp, dropped, array):
        return xp.where(dropped, xp.zeros((), array.dtype), array)
    kept = np.subtract(dropped.view(np.int8), np.int8(1))
    return np.bitwise_and(array.view(f"i{array.dtype.itemsize}"), kept).view(array.dtype)  # type: ignore[no-any-return]


#: Elements of a block, used where whole masks would double the memory: 256 KB of float32 stay in a cache.
_BLOCK = 1 << 16


def masked_at_most(xp: Namespace, array: Array, values: Array, limit: int) -> Array:
    """Return `array` with zeros where `values <= limit`, block by block if the arrays are large."""
    whole = array.size <= _BLOCK or not _by_bits(xp, values, array, values)
    if whole or not (array.flags.c_contiguous and values.flags.c_contiguous):
        return masked(xp, array, values <= limit)
    result = np.empty_like(array)
    integers = f"i{array.dtype.itemsize}"
    source, target = array.reshape(-1).view(integers), result.reshape(-1).view(integers)
    compared = values.reshape(-1)
    dropped = np.empty(_BLOCK, bool)
    kept = np.empty(_BLOCK, np.int8)
    for start in range(0, array.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        count = len(compared[part])
        np.less_equal(compared[part], limit, out=dropped[:count])
        np.subtract(dropped[:count].view(np.int8), np.int8(1), out=kept[:count])
        np.bitwise_and(source[part], kept[:count], out=target[part])
    return result


def chosen(xp: Namespace, condition: Array, array: Array, other: Array) -> Array:
    """Return `array` where `condition`, `other` elsewhere: see Note [Choosing without branches]."""
    if not _by_bits(xp, condition, array, other):
        return xp.where(condition, array, other)
    integers = f"i{array.dtype.itemsize}"
    one, two = array.view(integers), other.view(integers)
    result = np.bitwise_xor(one, two)
    result &= np.negative(condition.view(np.int8))
    result ^= two
    return result.view(array.dtype)  # type: ignore[no-any-return]


def written(xp: Namespace, out: Array, array: Array, kept: Array) -> None:
    """Write `array` into `out`, of the same shape, zeros where not `kept`."""
    if not _by_bits(xp, kept, array) or out.dtype != array.dtype:
        out[...] = xp.where(kept, array, xp.zeros((), array.dtype))
        return
    integers = f"i{array.dtype.itemsize}"
    np.bitwise_and(array.view(integers), np.negative(kept.view(np.int8)), out=out.view(integers))


# ------------------------------------------------------------------------------------------------------------- losses


def reduction_of(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """Return the reduction of a loss; `size_average` and `reduce` are the older spellings of `reduction`."""
    if size_average is None and reduce is None:
        if reduction not in ("none", "mean", "sum"):
            raise ValueError(f"{reduction} is not a valid value for reduction: use 'none', 'mean' or 'sum'")
        return reduction
    averaged = True if size_average is None else size_average
    reduced_at_all = True if reduce is None else reduce
    found = "none" if not reduced_at_all else "mean" if averaged else "sum"
    warn(f"size_average and reduce args will be deprecated, please use reduction='{found}' instead.")
    return found


def reduced(loss: Tensor, reduction: str) -> Tensor:
    """Return a loss of single elements, reduced: written with public operations."""
    if reduction == "none":
        return loss
    return loss.mean() if reduction == "mean" else loss.sum()


def counted(shape: Sequence[int]) -> int:
    """Return the number of elements of a shape."""
    count = 1
    for n in shape:
        count *= n
    return count


def broadcast_shape(name: str, *shapes: Sequence[int]) -> tuple[int, ...]:
    """Return the shape that `shapes` broadcast to."""
    try:
        return np.broadcast_shapes(*[tuple(s) for s in shapes])
    except ValueError as error:
        raise broadcast_error(name, error, [SimpleNamespace(shape=s) for s in shapes]) from None


def array_of(function: str, argument: str, position: int, value: Tensor) -> Array:
    """Return the array of an operand; raise TypeError unless it is a tensor."""
    if not isinstance(value, TensorBase):
        wrong_type(function, argument, position, value)
    return value._tl_data  # type: ignore[no-any-return]
