"""The size of a tensor, and what PyTorch keeps for older code and its compiler: `resize`, `slice_inverse`, `index`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorlike.tensor.declarations.declare import composite, factory, tensor_method
from tensorlike.tensor.dims import one_dim
from tensorlike.tensor.size import Size
from tensorlike.tensor.types import Indices, Tensor

from ..shared import require_tensor


@composite(guard=False, method=True, differentiable=False)
def numel(input: Tensor) -> int:
    """Return the number of elements.

    >>> tl.numel(tl.ones(2, 3))
    6
    """
    return int(require_tensor("numel", input)._tl_data.size)


@tensor_method(guard=False, differentiable=False)
def nelement(self: Tensor) -> int:
    """Return the number of elements, as `numel` does.

    >>> tl.ones(2, 3).nelement()
    6
    """
    return int(self._tl_data.size)


@composite(guard=False, method=True, differentiable=False)
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Return whether two tensors have the same shape.

    >>> tl.is_same_size(tl.ones(2), tl.ones(3))
    False
    """
    shape = require_tensor("is_same_size", input)._tl_data.shape
    return bool(shape == require_tensor("is_same_size", other, "other", 2)._tl_data.shape)


@factory(reason="works on shapes; a mode can intercept it, and a type that stands for a size")
def broadcast_shapes(*shapes: int | Sequence[int]) -> Size:
    """Return the shape that tensors of the given shapes broadcast to; an integer is a shape of one dimension.

    Raises RuntimeError for shapes that do not broadcast and ValueError for negative sizes.

    >>> tl.broadcast_shapes((2, 1), (3,))
    tensorlike.Size([2, 3])
    """
    wanted = []
    for shape in shapes:
        sizes = tuple(shape) if isinstance(shape, (list, tuple)) else (shape,)
        if any(not hasattr(n, "__index__") for n in sizes):
            error = RuntimeError if isinstance(shape, float) else TypeError
            raise error(
                "broadcast_shapes(): Input shapes should be of type ints, a tuple of ints, or a list of ints, got "
                f"{shape!r}"
            )
        if any(n < 0 for n in sizes):
            raise ValueError(f"broadcast_shapes(): Attempting to broadcast a dimension with negative length! {sizes}")
        wanted.append(sizes)
    try:
        return Size(np.broadcast_shapes(*wanted))
    except ValueError:
        raise RuntimeError(
            f"broadcast_shapes(): Shape mismatch: objects cannot be broadcast to a single shape: {wanted}"
        ) from None


def _resized(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    plain = all(hasattr(n, "__index__") for n in shape)
    count = math.prod(shape) if plain else None
    if not plain or any(n < 0 for n in shape) or count != tensor.numel():
        raise RuntimeError(
            f"requested resize to {'x'.join(map(str, shape))} ({count} elements in total), but the given tensor has a "
            f"size of {'x'.join(map(str, tensor.shape))} ({tensor.numel()} elements). It can only change the shape of "
            "a tensor, while preserving the number of elements, and takes the sizes one by one"
        )
    return tensor.contiguous().view(shape)


@tensor_method
def resize(self: Tensor, *sizes: int) -> Tensor:
    """Return this tensor in another shape with as many elements; raises RuntimeError for another number of them.

    >>> tl.arange(6).resize(2, 3)
    tensor([[0, 1, 2],
            [3, 4, 5]])

    Same as PyTorch's method of that name, without its warning to use `reshape` instead.
    """
    return _resized(self, sizes)


@tensor_method
def resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """Return this tensor in the shape of another with as many elements; raises RuntimeError for another number of them.

    >>> tl.arange(2).resize_as(tl.ones(2, 1))
    tensor([[0],
            [1]])

    Same as PyTorch's method of that name, without its warning to use `reshape_as` instead.
    """
    return _resized(self, tuple(tensor.shape))


@composite(method=True)
def slice_inverse(
    input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """Return the view of the memory of `input` with the geometry of `src`: the tensor that a slice was taken from.

    `dim`, `start`, `end` and `step` describe the slice, and are not used. Raises RuntimeError when the memory of
    `input` is too small.

    >>> x = tl.arange(4)
    >>> x[1:3].slice_inverse(x, 0, 1, 3)
    tensor([0, 1, 2, 3])
    """
    for position, (argument, value) in enumerate((("input", input), ("src", src))):
        require_tensor("slice_inverse", value, argument, position + 1)
    return input.as_strided(src.size(), src.stride(), src.storage_offset())


@tensor_method
def index(self: Tensor, positions: int | Sequence[int], dims: Indices) -> Tensor:
    """Return `self[...]` with the indices `dims` at the dimensions `positions`, and full slices at the others.

    Each is one value or a sequence: raises TypeError when they differ in length, IndexError when a position is out of
    range.

    >>> tl.arange(6).reshape(2, 3).index(1, 2)
    tensor([2, 5])

    Same as PyTorch's method of that name for what stands between brackets; it has no first-class dimensions.
    """
    places = list(positions) if isinstance(positions, (list, tuple)) else [positions]
    given: Any = list(dims) if isinstance(dims, (list, tuple)) else [dims]
    if len(places) != len(given):
        raise TypeError(f"dims ({len(places)}) and indices ({len(given)}) must have the same length")
    ndim = self.dim()
    found: list[Any] = [slice(None)] * ndim
    for place, one in zip(places, given, strict=True):
        found[one_dim(place, ndim)] = one
    return self[tuple(found)]
