"""Elements and slices picked by index tensors: gathering along a dimension, selecting, taking."""

from __future__ import annotations

import numpy as np

from tensorlike.tensor.backends import scatter_add
from tensorlike.tensor.declarations.declare import composite, derivatives, internal, primitive, undispatched
from tensorlike.tensor.declarations.runtime import broadcast_error, dtype_name
from tensorlike.tensor.dims import one_dim
from tensorlike.tensor.types import Array, Namespace, Tensor

from ..reductions.axes import restored
from ..shape.expanding import expand
from ..shape.reshaping import reshape
from ..shared import require_tensor
from .index_checks import check_bounds, check_dims, check_elements, check_range, index_vector, is_index


@primitive(out=True, disjoint=("input", "index"), dims="along")
def index_select(xp: Namespace, input: Array, dim: int, index: Array) -> Array:
    """Return the slices of `input` along `dim` selected by a vector of indices, in its order.

    Raises IndexError for an index out of range, and RuntimeError unless `index` is int32 or int64.

    >>> tl.index_select(tl.tensor([[1, 2], [3, 4]]), 1, tl.tensor([1, 1]))
    tensor([[2, 2],
            [4, 4]])
    """
    where = one_dim(dim, input.ndim)
    if not is_index(index):
        raise RuntimeError(f"index_select(): Expected dtype int32 or int64 for index, got {dtype_name(index.dtype)}")
    vector = index_vector("index_select", index)
    if not input.ndim:
        if vector.shape[0] != 1:
            raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {vector.shape[0]} value(s)")
        check_range(xp, vector, 1, IndexError, "index_select(): index {index} out of range in self, of size {size}")
        return input.copy()
    check_range(
        xp, vector, input.shape[where], IndexError, "index_select(): index {index} out of range in self, of size {size}"
    )
    return xp.take(input, vector, axis=where)  # type: ignore[no-any-return]


derivatives(
    index_select,
    input=lambda grad, input_shape, dim, index: grad._tl_zeros(input_shape, grad._tl_data.dtype).index_add(
        dim, index, grad
    ),
)


@primitive(out=True, disjoint=("input", "index"))
def take(xp: Namespace, input: Array, index: Array) -> Array:
    """Return the elements of the flattened `input` selected by `index`; negative indices count from the end.

    Raises IndexError for an index out of range, and RuntimeError unless `index` is int64.

    >>> tl.take(tl.tensor([[1, 2], [3, 4]]), tl.tensor([0, 3]))
    tensor([1, 4])
    """
    if index.dtype != np.int64:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {dtype_name(index.dtype)}")
    if not input.size and index.size:
        raise IndexError("take(): tried to take from an empty tensor")
    check_elements(xp, "take", index, input.size)
    return xp.take(input.reshape(-1), index)  # type: ignore[no-any-return]


derivatives(
    take,
    input=lambda grad, input_shape, index: grad._tl_zeros(input_shape, grad._tl_data.dtype).put(index, grad, True),
)


@primitive(out=True, disjoint=("input",))
def gather(xp: Namespace, input: Array, dim: int, index: Array, *, sparse_grad: bool = False) -> Array:
    """Gather the elements of `input` selected by `index` along `dim`, each at the position of its index.

    `index` has as many dimensions as `input` and is no larger apart from `dim`. Raises RuntimeError when it is, or for
    an index out of range.

    >>> tl.gather(tl.tensor([[1, 2], [3, 4]]), 1, tl.tensor([[0], [1]]))
    tensor([[1],
            [4]])
    """
    where = one_dim(dim, input.ndim)
    check_dims("gather", input, index, "input")
    if not index.size:
        return xp.empty(index.shape, input.dtype)
    for d in range(input.ndim):
        if d != where and index.ndim and index.shape[d] > input.shape[d]:
            raise RuntimeError(
                f"gather(): Size does not match at dimension {d} expected index {list(index.shape)} to be no larger "
                f"than self {list(input.shape)} apart from dimension {where}"
            )
    source = input if input.ndim else input.reshape(1)
    places = index if index.ndim else index.reshape(1)
    check_bounds(xp, places, source.shape, where, RuntimeError)
    corner = tuple(slice(None) if d == where else slice(n) for d, n in enumerate(places.shape))
    return xp.take_along_axis(source[corner], places, axis=where).reshape(index.shape)


derivatives(
    gather,
    input=lambda grad, input_shape, dim, index: grad._tl_zeros(input_shape, grad._tl_data.dtype).scatter_add(
        dim, index, grad
    ),
)


@composite(guard=False, method=True)
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the elements of `input` selected by `indices` along `dim`; the other dimensions broadcast.

    Without `dim` the input is flattened. Raises RuntimeError when the numbers of dimensions differ.

    >>> x = tl.tensor([[3, 1], [2, 4]])
    >>> tl.take_along_dim(x, tl.tensor([[0]]), 1)
    tensor([[3],
            [2]])
    """

    tensor = require_tensor("take_along_dim", input)
    places = require_tensor("take_along_dim", indices, "indices", 2)
    if places._tl_data.dtype != np.int64:
        raise RuntimeError(
            f"take_along_dim(): dtype of indices should be Long but got {dtype_name(places._tl_data.dtype)}"
        )
    if dim is None:
        shape = (tensor._tl_data.size,)
        return undispatched(gather)(
            undispatched(reshape)(tensor, shape), 0, undispatched(reshape)(places, (places._tl_data.size,)), out=out
        )
    mine, others = tensor._tl_data.shape, places._tl_data.shape
    if len(mine) != len(others):
        raise RuntimeError(
            "take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{len(mine)} dimensions for input, and {len(others)} dimensions for indices"
        )
    where = one_dim(dim, len(mine))
    rest = []
    for d, (n, m) in enumerate(zip(mine, others, strict=True)):
        if d != where and n != m and 1 not in (n, m):
            raise broadcast_error("take_along_dim", ValueError(), (tensor._tl_data, places._tl_data))
        rest.append(m if n == 1 else n)
    if mine:
        tensor = undispatched(expand)(tensor, tuple(mine[d] if d == where else n for d, n in enumerate(rest)))
        places = undispatched(expand)(places, tuple(others[d] if d == where else n for d, n in enumerate(rest)))
    return undispatched(gather)(tensor, where, places, out=out)


# Shared by the derivatives of max, sort and median; not public.


@internal()
def pick_along(xp: Namespace, input: Array, index: Array, dim: int, repeats: bool = False) -> Array:
    """Return the elements of `input` at `index` along `dim`; `repeats` says that an index may come twice."""
    return xp.take_along_axis(input, index, dim) if input.ndim else input.copy()


@internal()
def place_along(xp: Namespace, input: Array, index: Array, dim: int, size: int, repeats: bool = False) -> Array:
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


def place_picked(grad: Tensor, indices: Tensor, shape: tuple[int, ...], dim: int, keepdim: bool) -> Tensor:
    """Return the gradient of a reduction that picked one element for each result."""
    if not shape:
        return grad
    return place_along(
        restored(grad, shape, dim, keepdim), restored(indices, shape, dim, keepdim), dim % len(shape), shape[dim]
    )
