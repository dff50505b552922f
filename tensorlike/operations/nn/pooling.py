"""Max pooling, and max unpooling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tensorlike.autograd.grad_mode import grad_enabled
from tensorlike.operations.indexing.gather import gather
from tensorlike.operations.shape.reshaping import reshape
from tensorlike.tensor.backends import namespace_of
from tensorlike.tensor.declarations.declare import derivatives, internal, undispatched
from tensorlike.tensor.declarations.runtime import device_guard, dtype_name, guarded
from tensorlike.tensor.layouts import format_of, laid_out
from tensorlike.tensor.types import Array, Namespace, Tensor

from .declaring import array_of, functional, masked, need_float, written
from .separable import in_formats
from .sliding_windows import Pads, Sizes, crop, output_size, padded, places, positions, sizes


class Windows(NamedTuple):
    """The geometry of a pooling's windows: `pads` extends to the end of the last window.

    `format` is the memory format of the input, and so of the results and the gradient.
    """

    kernel: Sizes
    stride: Sizes
    padding: Sizes
    dilation: Sizes
    pads: Pads
    out: Sizes
    spatial: Sizes
    format: str | None


def _least(dtype: np.dtype[Any]) -> Any:
    return np.iinfo(dtype).min if dtype.kind in "iu" else -math.inf


@internal(own_layout=True)
def max_pool(xp: Namespace, input: Array, windows: Windows) -> Array:
    """Return the largest element of every window."""
    x = padded(xp, input, windows.pads, _least(input.dtype))
    result = None
    for position in positions(windows.kernel):
        part = x[places(position, windows.stride, windows.dilation, windows.out)]
        result = part.copy() if result is None else xp.maximum(result, part, out=result)
    return laid_out(result, windows.format)


@internal(differentiable=False)
def max_pool_positions(xp: Namespace, input: Array, windows: Windows) -> Array:
    """Return the position of each maximum in its window, by number: the first of several, but the last NaN."""
    x = padded(xp, input, windows.pads, _least(input.dtype))
    found = positions(windows.kernel)
    dtype = np.uint8 if len(found) <= 256 else np.int32
    parts = [x[places(position, windows.stride, windows.dilation, windows.out)] for position in found]
    largest = parts[0].copy()
    where = xp.zeros(largest.shape, dtype)
    tidy = xp.empty_like(largest)
    for number, part in enumerate(parts[1:], 1):
        # The elements of a part have gaps between them: a copy without gaps is read twice in less time.
        xp.copyto(tidy, part)
        # The number of each position where it exceeds all before, else 0: the greatest of these is that of the first
        # maximum.
        xp.maximum(where, (tidy > largest).view(np.uint8) * dtype(number), out=where)
        xp.maximum(largest, tidy, out=largest)
    if any(before or after for before, after in windows.pads):
        # What pads is never a maximum: of a window that holds nothing greater, it is the first element of the input.
        lowest = largest == _least(input.dtype)
        if bool(lowest.any()):
            given = padded(xp, xp.ones(windows.spatial, bool), windows.pads, False)
            inside = xp.stack([given[places(p, windows.stride, windows.dilation, windows.out)] for p in found])
            where = xp.where(lowest, inside.argmax(axis=0).astype(dtype), where)
    undefined = xp.isnan(largest) if largest.dtype.kind in "fV" else None
    if undefined is not None and bool(undefined.any()):
        for number, part in enumerate(parts):
            xp.copyto(where, dtype(number), where=undefined & xp.isnan(part))
    return where


@internal(own_layout=True)
def max_pool_scatter(xp: Namespace, upstream: Array, where: Array, windows: Windows) -> Array:
    """Return zeros of the input's size with `upstream` added at the positions `where`."""
    count = len(windows.kernel)
    shape = [n + b + a for n, (b, a) in zip(windows.spatial, windows.pads)]
    result = xp.zeros((*upstream.shape[: upstream.ndim - count], *shape), upstream.dtype)
    has_gaps = all(s > d * (k - 1) for s, d, k in zip(windows.stride, windows.dilation, windows.kernel))
    for number, position in enumerate(positions(windows.kernel)):
        part = result[places(position, windows.stride, windows.dilation, windows.out)]
        if has_gaps:
            written(xp, part, upstream, where == number)
        else:
            part += masked(xp, upstream, where != number)
    return laid_out(crop(result, windows.pads, windows.spatial), windows.format)


@internal(own_layout=True)
def max_pool_gather(xp: Namespace, input: Array, where: Array, windows: Windows) -> Array:
    """Return the elements at the positions `where`, one for each window."""
    x = padded(xp, input, windows.pads)
    result = xp.zeros(where.shape, input.dtype)
    for number, position in enumerate(positions(windows.kernel)):
        part = x[places(position, windows.stride, windows.dilation, windows.out)]
        xp.copyto(result, part, where=where == number)
    return laid_out(result, windows.format)


derivatives(
    max_pool,
    # The result is not saved: the user may write into it, as `ReLU(inplace=True)` does.
    input=lambda grad, input, windows: max_pool_scatter(grad, max_pool_positions(input, windows), windows),
)
derivatives(max_pool_scatter, upstream=lambda grad, where, windows: max_pool_gather(grad, where, windows))
derivatives(max_pool_gather, input=lambda grad, where, windows: max_pool_scatter(grad, where, windows))

_max_pool = undispatched(max_pool)


@internal(differentiable=False, own_layout=True)
def max_pool_indices(xp: Namespace, where: Array, windows: Windows) -> Array:
    """Convert positions in windows to indices into the flattened spatial dimensions of the input."""
    index = xp.zeros(where.shape, np.int64)
    rest = where.astype(np.int64)
    factor, below = 1, math.prod(windows.kernel)
    count = len(windows.kernel)
    inside = []
    for size in windows.kernel:
        below //= size
        inside.append(rest // below)
        rest = rest % below
    for axis in range(count - 1, -1, -1):
        start = xp.arange(windows.out[axis]) * windows.stride[axis] - windows.padding[axis]
        start = start.reshape((-1, *(1 for _ in range(count - axis - 1))))
        index += (start + inside[axis] * windows.dilation[axis]) * factor
        factor *= windows.spatial[axis]
    return laid_out(index, windows.format)


_gather, _reshape = undispatched(gather), undispatched(reshape)
_positions = undispatched(max_pool_positions)
_indices = undispatched(max_pool_indices)

# ----------------------------------------------------------------------------------------------------------- arguments


def pool_windows(
    function: str, count: int, array: Array, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None,
    padding: int | Sequence[int], dilation: int | Sequence[int], ceil_mode: bool,
) -> Windows:  # fmt: skip
    """Check the arguments of a pooling function and return its windows."""
    spatial = array.shape[-count:]
    kernel = sizes(kernel_size, count, "kernel_size", function)
    if stride is None or (isinstance(stride, (tuple, list)) and not stride):
        stride = kernel
    stride = sizes(stride, count, "stride", function)
    padding = sizes(padding, count, "padding", function)
    dilation = sizes(dilation, count, "dilation", function)
    if any(k <= 0 for k in kernel):
        raise RuntimeError(f"{function}() kernel_size must be greater than zero, but got {kernel_size}")
    if any(s <= 0 for s in stride):
        raise RuntimeError(f"{function}(): stride should not be zero, got {list(stride)}")
    if any(d <= 0 for d in dilation):
        raise RuntimeError(f"{function}(): dilation should be greater than zero, but got {list(dilation)}")
    for p, k, d in zip(padding, kernel, dilation):
        if p < 0:
            raise RuntimeError(f"{function}(): pad must be non-negative, but got pad: {p}")
        if p > (d * (k - 1) + 1) // 2:
            raise RuntimeError(
                f"{function}(): pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} "
                f"and dilation={d}"
            )
    out = tuple(
        output_size(n, k, s, p, p, d, ceil_mode) for n, k, s, p, d in zip(spatial, kernel, stride, padding, dilation)
    )
    if any(n < 1 for n in out):
        channels = array.shape[-count - 1]
        given = "x".join(str(n) for n in (channels, *spatial))
        found = "x".join(str(n) for n in (channels, *(max(n, 0) for n in out)))
        raise RuntimeError(
            f"{function}(): Given input size: ({given}). Calculated output size: ({found}). Output size is too small"
        )
    pads = tuple(
        (p, max((n - 1) * s + d * (k - 1) + 1 - size - p, 0))
        for p, n, s, d, k, size in zip(padding, out, stride, dilation, kernel, spatial)
    )
    kept = format_of(array) if array.ndim == count + 2 else None
    return Windows(kernel, stride, padding, dilation, pads, out, spatial, kept)


def check_pool_input(function: str, count: int, shape: tuple[int, ...]) -> None:
    """Raise unless `shape` is that of a batch, or of one item of it; only the batch may be empty."""
    if len(shape) not in (count + 1, count + 2) or 0 in shape[-count - 1 :]:
        raise RuntimeError(
            f"{function}: Expected {count + 1}D or {count + 2}D (batch mode) tensor with optional 0 dim batch size for "
            f"input, but got:{list(shape)}"
        )


def pooled(
    function: str, count: int, input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None,
    padding: int, dilation: int | Sequence[int], ceil_mode: bool, return_indices: bool,
) -> Any:  # fmt: skip
    """Return the maximum of every window, and its index if asked for."""
    array = array_of(function, "input", 1, input)
    check_pool_input(function, count, array.shape)
    if array.dtype.kind in "bc" or (count == 1 and not return_indices and array.dtype.kind in "iu"):
        raise NotImplementedError(f"\"{function}\" not implemented for '{dtype_name(array.dtype)}': use a real dtype")
    windows = pool_windows(function, count, array, kernel_size, stride, padding, dilation, ceil_mode)
    if not return_indices:
        return _max_pool(input, windows)
    found = _indices(_positions(input, windows), windows)
    if not (input._tl_tracked and grad_enabled()):
        return _max_pool(input, windows), found
    # The derivative needs the indices that the caller gets: who writes into them is told so by backward.
    return elements_at(input, found, count, windows.format), found


@guarded
def elements_at(input: Tensor, found: Tensor, count: int, kept: str | None) -> Tensor:
    """Return the elements of which `found` has the indices into the flattened last `count` dimensions."""
    if kept is not None:
        input = in_formats(input, (None, kept))
    # Without dispatch: the type of the input has received the pooling itself.
    shape, found_shape = input._tl_data.shape, found._tl_data.shape
    lead = shape[:-count]
    flat = _reshape(found, (*lead, math.prod(found_shape[-count:])))
    values = _reshape(_gather(_reshape(input, (*lead, math.prod(shape[-count:]))), -1, flat), found_shape)
    return values if kept is None else in_formats(values, (kept, None))


@functional(dims=3)
def max_pool1d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """Return the largest element of every window along the last dimension.

    `input` has the shape (N, C, L) or (C, L). Windows are `stride` apart, their own size when it is not given. With
    `return_indices` also returns their indices. Raises RuntimeError for other shapes and for sizes without a window.

    >>> tl.nn.functional.max_pool1d(tl.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    tensor([[3., 2.]])
    """
    return pooled("max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@functional(dims=4)
def max_pool2d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """Return the largest element of every window over the last two dimensions.

    `input` has the shape (N, C, H, W) or (C, H, W). Windows are `stride` apart, their own size when it is not given.
    With `return_indices` also returns their indices in the flattened image. Raises RuntimeError for other shapes and
    for sizes without a window.

    >>> tl.nn.functional.max_pool2d(tl.arange(16.0).reshape(1, 4, 4), 2)
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """
    return pooled("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@functional(dims=5)
def max_pool3d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """Return the largest element of every window over the last three dimensions.

    `input` has the shape (N, C, D, H, W) or (C, D, H, W). With `return_indices` also returns their indices in the
    flattened volume. Raises RuntimeError for other shapes and for sizes without a window.

    >>> tl.nn.functional.max_pool3d(tl.arange(8.0).reshape(1, 2, 2, 2), 2)
    tensor([[[[7.]]]])
    """
    return pooled("max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def _with_indices(count: int) -> Any:
    name = f"max_pool{count}d"

    def pool_with_indices(
        input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
        ceil_mode: bool = False, return_indices: bool = False,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        return pooled(name, count, input, kernel_size, stride, padding, dilation, ceil_mode, True)  # type: ignore[no-any-return]

    pool_with_indices.__doc__ = f"""Return the maxima and their indices: `{name}` with `return_indices=True`.

        >>> x = tl.arange(4.0).reshape(1, {", ".join(["1"] * (count - 1) + ["4"])})
        >>> values, indices = tl.nn.functional.{name}_with_indices(x, {(1,) * (count - 1) + (2,)})
        >>> indices.flatten()
        tensor([1, 3])
        """
    return functional(pool_with_indices, name=f"{name}_with_indices", dims=count + 2)


max_pool1d_with_indices, max_pool2d_with_indices, max_pool3d_with_indices = map(_with_indices, (1, 2, 3))

# ----------------------------------------------------------------------------------------------------------- unpooling


def _unpool(
    function: str, count: int, input: Tensor, indices: Tensor, kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None, padding: int | Sequence[int], wanted: tuple[int, ...] | None,
) -> Tensor:  # fmt: skip
    need_float(function, array_of(function, "input", 1, input))
    kernel = sizes(kernel_size, count, "kernel_size", function)
    step = kernel if stride is None else sizes(stride, count, "stride", function)
    pad = sizes(padding, count, "padding", function)
    shape = tuple(input.shape)
    if len(shape) not in (count + 1, count + 2):
        raise RuntimeError(f"{function}: Expected {count + 1}D or {count + 2}D input, but got: {list(shape)}")
    if 0 in shape[-count - 1 :]:
        raise RuntimeError(
            f"{function}: Expected input to have non-zero size for non-batch dimensions, but got {list(shape)}; only "
            "the batch can be empty"
        )
    if tuple(indices.shape) != shape:
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(shape)}) but got indices tensor "
            f"with shape: {list(indices.shape)}"
        )
    if indices._tl_data.dtype != np.int64:
        raise RuntimeError(f"elements in indices should be type int64 but got: {dtype_name(indices._tl_data.dtype)}")
    usual = tuple((n - 1) * s + k - 2 * p for n, s, k, p in zip(shape[-count:], step, kernel, pad))
    spatial = usual
    if wanted is not None:
        spatial = tuple(wanted)[-count:] if len(wanted) == count + 2 else tuple(wanted)
        if len(spatial) != count:
            raise ValueError(
                f"output_size should be a sequence containing {count} or {count + 2} elements, but it has a length of "
                f"'{len(wanted)}'"
            )
        for d, (n, u, s) in enumerate(zip(spatial, usual, step)):
            if not u - s < n < u + s:
                raise ValueError(f"invalid output_size {tuple(spatial)} (dim {d} must be between {u - s} and {u + s})")
    lead = shape[:-count]
    total = math.prod(spatial)
    array = indices._tl_data
    with device_guard(array):
        if array.size and bool(((array < 0) | (array >= total)).any()):
            xp = namespace_of(array)
            bad = int(xp.max(array) if int(xp.max(array)) >= total else xp.min(array))
            volume = "x".join(map(str, spatial))
            raise RuntimeError(f"Found an invalid max index: {bad} (output volumes are of size {volume})")
    given = (*lead, math.prod(shape[-count:]))
    flat = input.new_zeros((*lead, total)).scatter(-1, indices.reshape(given), input.reshape(given))
    result = flat.reshape((*lead, *spatial))
    kept = format_of(input._tl_data) if count == 2 else None
    return result if kept is None else in_formats(result, (kept, None))


@functional(guard=True)
def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Return zeros with the elements of `input` at the indices `indices`, which `max_pool1d` returned.

    Raises RuntimeError or ValueError for shapes that do not match.

    >>> tl.nn.functional.max_unpool1d(tl.tensor([[3.0, 2.0]]), tl.tensor([[1, 2]]), 2)
    tensor([[0., 3., 2., 0.]])
    """
    return _unpool("max_unpool1d", 1, input, indices, kernel_size, stride, padding, output_size)


@functional(guard=True)
def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Return zeros with the elements of `input` at the indices `indices`, which `max_pool2d` returned.

    Raises RuntimeError or ValueError for shapes that do not match.

    >>> tl.nn.functional.max_unpool2d(tl.tensor([[[5.0]]]), tl.tensor([[[3]]]), 2)
    tensor([[[0., 0.],
             [0., 5.]]])
    """
    return _unpool("max_unpool2d", 2, input, indices, kernel_size, stride, padding, output_size)


@functional(guard=True)
def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Return zeros with the elements of `input` at the indices `indices`, which `max_pool3d` returned.

    Raises RuntimeError or ValueError for shapes that do not match.

    >>> tl.nn.functional.max_unpool3d(tl.tensor([[[[5.0]]]]), tl.tensor([[[[7]]]]), 2).sum()
    tensor(5.)
    """
    return _unpool("max_unpool3d", 3, input, indices, kernel_size, stride, padding, output_size)
