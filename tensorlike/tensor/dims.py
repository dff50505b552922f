"""Checking dimensions and shapes given as arguments, with PyTorch's errors."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

from tensorlike.dispatch.tracebacks import explained

#: The largest size of a dimension.
_LARGEST = 2**63 - 1


def one_dim(dim: Any, ndim: int) -> int:
    """Return `dim` as a number from 0 on; a zero-dimensional tensor counts as having one dimension.

    Raises IndexError when it is out of range and TypeError when it is no integer.
    """
    try:
        if isinstance(dim, bool):
            raise TypeError
        index = operator.index(dim)
    except TypeError:
        raise TypeError(f"argument 'dim' must be int, not {type(dim).__name__}: got {dim!r}") from None
    reach = max(ndim, 1)
    if not -reach <= index < reach:
        raise explained(
            IndexError, "dim-out-of-range",
            f"Dimension out of range (expected to be in range of [{-reach}, {reach - 1}], but got {index})",
        )  # fmt: skip
    return index % reach


def dim_tuple(dim: int | Sequence[int] | None, ndim: int) -> tuple[int, ...] | None:
    """Return one dimension or several as a tuple of numbers from 0 on; None and () mean all, as None.

    Raises RuntimeError when a dimension appears twice.
    """
    if dim is None:
        return None
    if isinstance(dim, (tuple, list)):
        if not dim:
            return None
        dims = tuple(one_dim(d, ndim) for d in dim)
        for index, d in enumerate(dims):
            if d in dims[:index]:
                raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
        return () if ndim == 0 else dims
    found = one_dim(dim, ndim)
    return () if ndim == 0 else (found,)


def first_that_is_no_integer(values: Sequence[Any]) -> int:
    """Return the position of the first value that `operator.index` refuses, as it does a tensor of several elements."""
    for position, value in enumerate(values):
        try:
            operator.index(value)
        except TypeError:
            return position
    raise ValueError("all of them are integers")


def size_argument(size: Any, function: str) -> tuple[int, ...]:
    """Return a shape given as one integer, a sequence, or the arguments of a variadic function.

    Raises TypeError for values other than integers.
    """
    if isinstance(size, (tuple, list)) and len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = size[0]
    if not isinstance(size, (tuple, list)):
        size = (size,)
    try:
        return tuple(operator.index(n) for n in size)
    except TypeError:
        bad = size[first_that_is_no_integer(size)]
        raise TypeError(
            f"{function}(): argument 'size' must be tuple of ints, but found element of type {type(bad).__name__} "
            f"({bad!r})"
        ) from None


def checked_size(size: Any, function: str) -> tuple[int, ...]:
    """Return a shape whose sizes are not negative. Raises RuntimeError otherwise, TypeError for one beyond 64 bits."""
    shape = size_argument(size, function)
    for n in shape:
        if not 0 <= n <= _LARGEST:
            if n > 0:
                raise TypeError(f"{function}(): argument 'size' must be of integers of 64 bits, got {n}")
            raise RuntimeError(
                f"{function}(): Trying to create tensor with negative dimension {n}: {list(shape)}"
            )
    return shape


def shape_of(size: Iterable[int]) -> list[int]:
    """Return a shape as error messages print it."""
    return list(size)


def inferred(shape: Sequence[int], numel: int) -> tuple[int, ...]:
    """Return `shape` with its -1 replaced so that it holds `numel` elements.

    Raises RuntimeError if there is no such size.
    """
    unknown = [i for i, n in enumerate(shape) if n == -1]
    known = 1
    for n in shape:
        if n < -1:
            raise RuntimeError(f"invalid shape dimension {n} in shape {list(shape)}")
        if n != -1:
            known *= n
    if len(unknown) > 1:
        raise RuntimeError("only one dimension can be inferred")
    if not unknown:
        if known != numel:
            raise explained(RuntimeError, "reshape-size", f"shape '{list(shape)}' is invalid for input of size {numel}")
        return tuple(shape)
    if known == 0:
        if numel == 0:
            raise RuntimeError(
                f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size "
                "-1 can be any value and is ambiguous"
            )
        raise explained(RuntimeError, "reshape-size", f"shape '{list(shape)}' is invalid for input of size {numel}")
    if numel % known:
        raise explained(RuntimeError, "reshape-size", f"shape '{list(shape)}' is invalid for input of size {numel}")
    result = list(shape)
    result[unknown[0]] = numel // known
    return tuple(result)
