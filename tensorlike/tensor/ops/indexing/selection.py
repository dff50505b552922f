"""Elements picked along a dimension by index: shared by the derivatives of max, sort and median. Not public."""

from __future__ import annotations

from typing import Any

from tensorlike.tensor.backends import scatter_add
from tensorlike.tensor.declare import derivatives, internal
from tensorlike.tensor.types import Tensor

from ..reductions.axes import restored


@internal()
def pick_along(xp: Any, input: Tensor, index: Tensor, dim: int, repeats: bool = False) -> Tensor:
    """Return the elements of `input` at `index` along `dim`; `repeats` says that an index may come twice."""
    return xp.take_along_axis(input, index, dim) if input.ndim else input.copy()


@internal()
def place_along(xp: Any, input: Tensor, index: Tensor, dim: int, size: int, repeats: bool = False) -> Tensor:
    """Return zeros, `size` of them along `dim`, with `input` at `index`; with `repeats`, summed over equal indices."""
    if not input.ndim:
        return input.copy()
    shape = list(input.shape)
    shape[dim] = size
    result = xp.zeros(shape, input.dtype)
    if repeats:
        # One flat index for each element.
        places = xp.arange(result.size).reshape(shape)
        scatter_add(result.reshape(-1), xp.take_along_axis(places, index, dim), input)
    else:
        xp.put_along_axis(result, index, input, dim)
    return result


derivatives(
    pick_along,
    input=lambda grad, input_shape, index, dim, repeats: place_along(
        grad, index, dim, input_shape[dim] if input_shape else 1, repeats
    ),
)
derivatives(
    place_along,
    input=lambda grad, index, dim, repeats: pick_along(grad, index, dim, repeats),
)


def place_picked(grad: Any, indices: Any, shape: tuple[int, ...], dim: int, keepdim: bool) -> Any:
    """Return the gradient of a reduction that picked one element for each result."""
    if not shape:
        return grad
    return place_along(
        restored(grad, shape, dim, keepdim), restored(indices, shape, dim, keepdim), dim % len(shape), shape[dim]
    )
