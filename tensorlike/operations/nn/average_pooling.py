"""Average pooling, and power-average (Lp) pooling."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorlike.tensor.declarations.declare import derivatives, internal, undispatched
from tensorlike.tensor.layouts import laid_out
from tensorlike.tensor.types import Array, Namespace, Tensor

from .declaring import array_of, functional, narrowed, need_float, widened, written_out
from .pooling import Windows, check_pool_input, pool_windows
from .sliding_windows import Sizes, crop, padded, places, positions, sizes


def _divisors(
    xp: Namespace, dtype: np.dtype[Any], windows: Windows, count_include_pad: bool, override: int | None
) -> Any:
    """Return the divisor of the sum over each window: a number, or an array over the windows."""
    if override is not None:
        return override
    counts = []
    for n, k, s, p, out in zip(windows.spatial, windows.kernel, windows.stride, windows.padding, windows.out):
        start = np.arange(out) * s - p
        if count_include_pad:
            counts.append(np.minimum(start + k, n + p) - start)
        else:
            counts.append(np.minimum(start + k, n) - np.maximum(start, 0))
    if all((c == c[0]).all() for c in counts):
        return math.prod(int(c[0]) for c in counts)
    result = counts[0]
    for c in counts[1:]:
        result = result[..., None] * c
    return xp.asarray(result.astype(dtype))


@internal(own_layout=True)
def average_pool(xp: Namespace, input: Array, windows: Windows, count_include_pad: bool, override: int | None) -> Array:
    """Return the average of every window."""
    x = padded(xp, widened(input), windows.pads)
    result = None
    for position in positions(windows.kernel):
        part = x[places(position, windows.stride, windows.dilation, windows.out)]
        result = part.copy() if result is None else xp.add(result, part, out=result)
    assert result is not None
    divisor = _divisors(xp, result.dtype, windows, count_include_pad, override)
    result = result / divisor
    return laid_out(narrowed(xp.trunc(result) if input.dtype.kind in "iu" else result, input), windows.format)


@internal(own_layout=True)
def average_pool_backward(
    xp: Namespace, upstream: Array, windows: Windows, count_include_pad: bool, override: int | None
) -> Array:
    """Distribute `upstream` evenly over the windows."""
    g = widened(upstream)
    g = g / _divisors(xp, g.dtype, windows, count_include_pad, override)
    count = len(windows.kernel)
    shape = [n + b + a for n, (b, a) in zip(windows.spatial, windows.pads)]
    result = xp.zeros((*g.shape[: g.ndim - count], *shape), g.dtype)
    for position in positions(windows.kernel):
        result[places(position, windows.stride, windows.dilation, windows.out)] += g
    result = crop(result, windows.pads, windows.spatial)
    return laid_out(narrowed(result, upstream), windows.format)


derivatives(
    average_pool,
    input=lambda grad, windows, count_include_pad, override: average_pool_backward(
        grad, windows, count_include_pad, override
    ),
)
derivatives(
    average_pool_backward,
    upstream=lambda grad, windows, count_include_pad, override: average_pool(
        grad, windows, count_include_pad, override
    ),
)
_average_pool: Callable[..., Tensor] = undispatched(average_pool)


def _pool(
    function: str, count: int, input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None,
    padding: int | Sequence[int], ceil_mode: bool, count_include_pad: bool, divisor_override: int | None,
) -> Tensor:  # fmt: skip
    array = array_of(function, "input", 1, input)
    check_pool_input(function, count, array.shape)
    if array.dtype != np.int64:
        need_float(function, array)
    if divisor_override == 0:
        raise RuntimeError(f"{function}(): divisor must be not zero")
    windows = pool_windows(function, count, array, kernel_size, stride, padding, 1, ceil_mode)
    if count == 3:  # As in PyTorch.
        windows = windows._replace(format=None)
    return _average_pool(input, windows, count_include_pad, divisor_override)


@functional(dims=3)
def avg_pool1d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:  # fmt: skip
    """Return the average of every window along the last dimension.

    `input` has the shape (N, C, L) or (C, L). Zeros of the padding count as elements unless `count_include_pad` is
    False. Raises RuntimeError for other shapes and for sizes without a window.

    >>> tl.nn.functional.avg_pool1d(tl.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    tensor([[2., 1.]])
    """
    return _pool("avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


@functional(dims=4)
def avg_pool2d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None, *, out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the average of every window over the last two dimensions.

    `input` has the shape (N, C, H, W) or (C, H, W). Zeros of the padding count as elements unless `count_include_pad`
    is False; `divisor_override` stands for the number of elements. Raises RuntimeError for other shapes and for sizes
    without a window.

    >>> tl.nn.functional.avg_pool2d(tl.arange(16.0).reshape(1, 4, 4), 2)
    tensor([[[ 2.5000,  4.5000],
             [10.5000, 12.5000]]])
    """
    found = _pool("avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return written_out("avg_pool2d", found, out, input)


@functional(dims=5)
def avg_pool3d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None, *, out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the average of every window over the last three dimensions.

    `input` has the shape (N, C, D, H, W) or (C, D, H, W); the rest is as in `avg_pool2d`.

    >>> tl.nn.functional.avg_pool3d(tl.arange(8.0).reshape(1, 2, 2, 2), 2)
    tensor([[[[3.5000]]]])
    """
    found = _pool("avg_pool3d", 3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return written_out("avg_pool3d", found, out, input)


def _power_pool(
    name: str, count: int, input: Tensor, norm_type: float, kernel_size: int | Sequence[int], stride: int | None,
    ceil_mode: bool,
) -> Tensor:  # fmt: skip
    kernel: Sizes = sizes(kernel_size, count, "kernel_size", name)
    pools = {1: avg_pool1d, 2: avg_pool2d, 3: avg_pool3d}
    mean = pools[count](input.pow(norm_type), kernel, stride, 0, ceil_mode)
    # The sign is taken out, so that odd powers of negative sums have a root.
    root = mean.sign() * mean.abs()
    return (root.relu() * math.prod(kernel)).pow(1.0 / norm_type)


@functional(guard=True, dims=3)
def lp_pool1d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """Return the root of the sum of powers `norm_type` of every window along the last dimension.

    `input` has the shape (N, C, L) or (C, L). Written with `avg_pool1d`.

    >>> tl.nn.functional.lp_pool1d(tl.tensor([[3.0, 4.0]]), 2, 2)
    tensor([[5.]])
    """
    return _power_pool("lp_pool1d", 1, input, norm_type, kernel_size, stride, ceil_mode)


@functional(guard=True, dims=4)
def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """Return the root of the sum of powers `norm_type` of every window over the last two dimensions.

    `input` has the shape (N, C, H, W) or (C, H, W). Written with `avg_pool2d`.

    >>> tl.nn.functional.lp_pool2d(tl.ones(1, 2, 2), 2, 2)
    tensor([[[2.]]])
    """
    return _power_pool("lp_pool2d", 2, input, norm_type, kernel_size, stride, ceil_mode)


@functional(guard=True, dims=5)
def lp_pool3d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """Return the root of the sum of powers `norm_type` of every window over the last three dimensions.

    `input` has the shape (N, C, D, H, W) or (C, D, H, W). Written with `avg_pool3d`.

    >>> tl.nn.functional.lp_pool3d(tl.ones(1, 2, 2, 2), 3, 2)
    tensor([[[[2.]]]])
    """
    return _power_pool("lp_pool3d", 3, input, norm_type, kernel_size, stride, ceil_mode)
