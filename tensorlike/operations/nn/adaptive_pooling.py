"""Adaptive pooling: a given number of windows that divide the input as evenly as possible."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from tensorlike.autograd.tensor_base import wrap
from tensorlike.operations.reductions.sums import mean
from tensorlike.tensor.backends import namespace_of
from tensorlike.tensor.declarations.declare import derivatives, internal, undispatched
from tensorlike.tensor.declarations.runtime import guarded
from tensorlike.tensor.layouts import format_of
from tensorlike.tensor.types import Array, Namespace, Tensor

from .average_pooling import average_pool
from .declaring import array_of, functional, need_float
from .pooling import elements_at, pool_windows
from .separable import apply_along_dims, in_formats
from .sliding_windows import Sizes


@internal(own_layout=True)
def empty_pool(xp: Namespace, input: Array, wanted: Sizes, function: str) -> Array:
    """Return the result of adaptive pooling to no windows, which has no derivative."""
    return xp.zeros((*input.shape[: input.ndim - len(wanted)], *wanted), input.dtype)


def _refuse_empty(grad: Any, wanted: Sizes, function: str) -> NoReturn:
    raise RuntimeError(
        f"{function}_backward(): Expected grad_output to have non-zero size for non-batch dimensions, but grad_output "
        f"has sizes {list(grad.shape)}: there is no window to take a derivative of"
    )


derivatives(empty_pool, input=_refuse_empty)

_empty_pool: Callable[..., Tensor] = undispatched(empty_pool)
_average_pool, _mean = undispatched(average_pool), undispatched(mean)


def _wanted(function: str, count: int, output_size: Any, shape: Any, average: bool) -> Sizes:
    """Return the output size; None stands for the input's own."""
    items = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * count
    if len(items) != count:
        raise RuntimeError(f"{function}: output_size must be {count} numbers, got {output_size!r}")
    try:
        found = tuple(n if item is None else operator.index(item) for item, n in zip(items, shape[-count:]))
    except TypeError:
        raise TypeError(f"{function}(): argument 'output_size' must be tuple of ints, got {output_size!r}") from None
    if any(n < 0 for n in found):
        raise RuntimeError(
            f"{function}: elements of output_size must be greater than or equal to 0 but received {list(found)}"
        )
    if len(shape) not in (count + 1, count + 2):
        raise RuntimeError(f"{function}(): Expected {count + 1}D or {count + 2}D tensor, but got {list(shape)}")
    # As in PyTorch: averages alone may have no channels but in volumes, and one item of a batch, too.
    checked = count if len(shape) == count + 1 or (average and count < 3) else count + 1
    if 0 in shape[-checked:]:
        raise RuntimeError(
            f"{function}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
            f"{list(shape)}"
        )
    if math.prod(found) * max(math.prod(shape[:-count]), 1) >= 2**63:
        raise RuntimeError(
            f"{function}(): the result would have sizes {[*shape[:-count], *found]}, more elements than a tensor can "
            "have; ask for a smaller output_size"
        )
    return found


def _bounds(size: int, out: int) -> tuple[Any, Any]:
    """Return where the windows along a dimension start and end."""
    index = np.arange(out)
    return index * size // max(out, 1), -(-(index + 1) * size // max(out, 1))


def _averaging(size: int, out: int) -> Any:
    if size == out:
        return None
    start, end = _bounds(size, out)
    place = np.arange(size)
    inside = (place >= start[:, None]) & (place < end[:, None])
    return inside / (end - start)[:, None] if out else inside.astype(float)


def adaptive_average(function: str, count: int, input: Tensor, output_size: int | Sequence[int | None]) -> Tensor:
    array = array_of(function, "input", 1, input)
    need_float(function, array)
    wanted = _wanted(function, count, output_size, array.shape, True)
    spatial = array.shape[-count:]
    if 0 in wanted:
        return _empty_pool(input, wanted, function)
    if count > 1 and set(wanted) == {1}:  # The mean itself, to the last digit.
        result, kept = _mean(input, tuple(range(-count, 0)), True), format_of(array)
        return result if kept is None else in_formats(result, (kept, None))
    # As in PyTorch, not of volumes.
    found = format_of(array) if count == 2 else None
    if all(n and s % n == 0 for s, n in zip(spatial, wanted)):
        kernel = tuple(s // n for s, n in zip(spatial, wanted))
        windows = pool_windows(function, count, array, kernel, None, 0, 1, False)
        return _average_pool(input, windows._replace(format=found), True, None)
    return apply_along_dims(input, tuple(_averaging(s, n) for s, n in zip(spatial, wanted)), (found, found))


@functional(dims=3)
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Average over `output_size` windows along the last dimension.

    `input` has the shape (N, C, L) or (C, L). Raises RuntimeError for another.

    >>> tl.nn.functional.adaptive_avg_pool1d(tl.tensor([[1.0, 3.0, 5.0]]), 2)
    tensor([[2., 4.]])
    """
    return adaptive_average("adaptive_avg_pool1d", 1, input, output_size)


@functional(dims=4)
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Average over `output_size` windows of the last two dimensions.

    `input` has the shape (N, C, H, W) or (C, H, W); None in `output_size` stands for the input's own size.

    >>> tl.nn.functional.adaptive_avg_pool2d(tl.arange(4.0).reshape(1, 2, 2), (1, None))
    tensor([[[1., 2.]]])
    """
    return adaptive_average("adaptive_avg_pool2d", 2, input, output_size)


@functional(dims=5)
def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Average over `output_size` windows of the last three dimensions.

    `input` has the shape (N, C, D, H, W) or (C, D, H, W); None in `output_size` stands for the input's own size.

    >>> tl.nn.functional.adaptive_avg_pool3d(tl.arange(8.0).reshape(1, 2, 2, 2), 1)
    tensor([[[[3.5000]]]])
    """
    return adaptive_average("adaptive_avg_pool3d", 3, input, output_size)


def _window_indices(size: int, out: int) -> Any:
    """Return the indices of each window along a dimension, padded with its last to the longest length."""
    start, end = _bounds(size, out)
    longest = int((end - start).max()) if out else 1
    return np.minimum(start[:, None] + np.arange(longest), end[:, None] - 1)


@guarded
def _maximum(
    function: str, count: int, input: Tensor, output_size: int | Sequence[int | None], return_indices: bool
) -> Any:
    array = array_of(function, "input", 1, input)
    need_float(function, array)
    wanted = _wanted(function, count, output_size, array.shape, False)
    spatial = array.shape[-count:]
    lead = array.shape[:-count]
    xp = namespace_of(array)
    # The index of every element of every window in the flattened spatial dimensions: (*out, *longest).
    flat: Any = np.zeros((1,) * 2 * count, np.int64)
    for axis, (s, n) in enumerate(zip(spatial, wanted)):
        indices = _window_indices(s, n)
        shape = [1] * 2 * count
        shape[axis], shape[count + axis] = indices.shape
        flat = flat * s + indices.reshape(shape)
    flat = xp.asarray(flat.reshape((math.prod(wanted), math.prod(flat.shape[count:]))))
    candidates = array.reshape((*lead, math.prod(spatial)))[..., flat]
    best = candidates.argmax(axis=-1)
    undefined = xp.isnan(candidates)
    if bool(undefined.any()):
        # Of several NaN the index is that of the last.
        last = undefined.shape[-1] - 1 - undefined[..., ::-1].argmax(axis=-1)
        best = xp.where(undefined.any(axis=-1), last, best)
    found = wrap(flat[xp.arange(flat.shape[0]), best])
    kept = format_of(array) if count == 2 else None
    found = found.reshape((*lead, *wanted))
    values = elements_at(input, found, count, kept)
    if 0 in wanted:
        values = _empty_pool(input, wanted, function)
    if kept is not None:
        found = in_formats(found, (kept, None))
    return (values, found) if return_indices else values


@functional(guard=True, dims=3)
def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Return the maxima of `output_size` windows along the last dimension.

    `input` has the shape (N, C, L) or (C, L). With `return_indices` also returns their indices.

    >>> tl.nn.functional.adaptive_max_pool1d(tl.tensor([[1.0, 5.0, 3.0]]), 2)
    tensor([[5., 5.]])
    """
    return _maximum("adaptive_max_pool1d", 1, input, output_size, return_indices)


@functional(guard=True, dims=4)
def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Return the maxima of `output_size` windows of the last two dimensions.

    `input` has the shape (N, C, H, W) or (C, H, W). With `return_indices` also returns their indices.

    >>> tl.nn.functional.adaptive_max_pool2d(tl.arange(4.0).reshape(1, 2, 2), 1)
    tensor([[[3.]]])
    """
    return _maximum("adaptive_max_pool2d", 2, input, output_size, return_indices)


@functional(guard=True, dims=5)
def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Return the maxima of `output_size` windows of the last three dimensions.

    `input` has the shape (N, C, D, H, W) or (C, D, H, W). With `return_indices` also returns their indices.

    >>> tl.nn.functional.adaptive_max_pool3d(tl.arange(8.0).reshape(1, 2, 2, 2), 1)
    tensor([[[[7.]]]])
    """
    return _maximum("adaptive_max_pool3d", 3, input, output_size, return_indices)


def _with_indices(count: int) -> None:
    name = f"adaptive_max_pool{count}d"

    def pool_with_indices(input: Tensor, output_size: Any, return_indices: bool = False) -> tuple[Tensor, Tensor]:
        return _maximum(name, count, input, output_size, True)  # type: ignore[no-any-return]

    pool_with_indices.__doc__ = f"""Return the maxima and their indices: `{name}` with `return_indices=True`.

        >>> x = tl.arange(4.0).reshape(1, {", ".join(["1"] * (count - 1) + ["4"])})
        >>> values, indices = tl.nn.functional.{name}_with_indices(x, 1)
        >>> indices.flatten()
        tensor([3])
        """
    functional(pool_with_indices, guard=True, name=f"{name}_with_indices")


for _count in (1, 2, 3):
    _with_indices(_count)
